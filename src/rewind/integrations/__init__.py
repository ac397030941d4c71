"""The memory in other libraries' training loops. Import the module you need; each needs its library."""
