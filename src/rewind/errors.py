"""Errors that say what was wrong, where, what was expected and what to do."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType


class RewindError(Exception):
    """Anything Rewind refuses to do."""

    exit_status = 2  # of a command that ends so


class DataError(RewindError, ValueError):
    """The data, or a value handed in with it, is not what it must be."""


class UsageError(RewindError, ValueError):
    """A method was called with an argument, or at a moment, that makes no sense."""


class MissingExtra(RewindError, ImportError):
    """An optional part of the installation is needed and not there."""


class DownloadError(RewindError, OSError):
    """A published file could not be had, or not be kept."""


class CacheError(RewindError, OSError):
    """What was made cannot be kept."""


class Abandoned(Exception):
    """Raised in work whose result nobody waits for any more."""


def require(module: str, extra: str) -> ModuleType:
    """Import `module`, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise MissingExtra(
            f"this needs the package '{package}', which is not installed: pip install 'rewind-rl[{extra}]'"
        ) from error


def unknown_name(what: str, name: object, known: Iterable[str], where: str | None = None) -> UsageError:
    """The error for a name that is not in a table, with the nearest ones that are.

    where: what lists the known ones, where they are too many to be printed
    """
    known = sorted(known)
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(repr(n) for n in near)}? " if near else ""
    return UsageError(f"unknown {what} {name!r}: {hint}{where or 'known: ' + ', '.join(known)}")
