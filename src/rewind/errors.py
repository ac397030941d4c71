"""Errors and warnings. A message says what is wrong, where, what was expected and what to do."""

import difflib
import importlib
import sys
import warnings
from collections.abc import Iterable
from types import ModuleType


class RewindError(Exception):
    """The base class of all errors that Rewind raises on purpose."""

    exit_status = 2  # of the command that raised it


class DataError(RewindError, ValueError):
    """The data, or a value passed with it, is invalid."""


class UsageError(RewindError, ValueError):
    """A function was called with an invalid argument, or at the wrong time."""


class MissingExtra(RewindError, ImportError):
    """An optional dependency is missing."""


class DownloadError(RewindError, OSError):
    """A file could not be downloaded or stored."""


class CacheError(RewindError, OSError):
    """The cache folder cannot be written."""


class Abandoned(Exception):
    """Raised in work whose result nobody waits for any more."""


def warn(message: str) -> None:
    """Warn with the line that called Rewind. Numba may stand between: it compiles a function when it is called."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] in ("rewind", "numba", "contextlib"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def one_line(error: BaseException) -> str:
    """The message of another library's error, its kind where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def naming(path: object, error: Exception) -> DataError:
    """The error of a file, with its name in front where the message does not have it."""
    message = one_line(error)
    return DataError(message if str(path) in message else f"{path}: {message}")


def require(module: str, extra: str) -> ModuleType:
    """Import `module`, or raise an error that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing_extra(module, extra) from error


def missing_extra(module: str, extra: str) -> MissingExtra:
    """The error for a package that is not installed, with the extra that brings it."""
    package = module.split(".")[0]
    return MissingExtra(f"this needs the package '{package}', which is not installed: pip install 'rewind-rl[{extra}]'")


def unknown_name(what: str, name: object, known: Iterable[str], where: str | None = None) -> UsageError:
    """The error for an unknown name, with the most similar known names.

    where: how to list the known names, if there are too many to print
    """
    known = sorted(known)
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(repr(n) for n in near)}? " if near else ""
    return UsageError(f"unknown {what} {name!r}: {hint}{where or 'known: ' + ', '.join(known)}")
