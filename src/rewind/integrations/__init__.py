"""Adapters for other libraries' training loops. Import the module you need; each one needs its library."""
