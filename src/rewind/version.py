"""The version of Rewind: a module of its own, so that no room imports the package above it."""

__version__ = "0.1.0"
