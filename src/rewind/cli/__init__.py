"""The command `rewind`, one file per command: parse, call the floors below, print."""

from rewind.cli.main import main

__all__ = ["main"]
