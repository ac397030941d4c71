"""Somebody else's package: an agent, a priority, a reader and an environment, each in one file."""
