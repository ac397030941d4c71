"""Errors and warnings. A message says what is wrong, where, what was expected and what to do."""

import difflib
import importlib
import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

LIBRARY = "rewind-rl"  # as pip calls it


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
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("rewind", "numba", "contextlib"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def one_line(error: BaseException) -> str:
    """The message of another library's error, its kind where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def printable(text: str) -> str:
    """Text for a terminal: a control character in a name that a file brought is shown, not obeyed."""
    return "".join(char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in text)


def naming(path: object, error: Exception) -> DataError:
    """The error of a file, with its name in front where the message does not have it."""
    message = one_line(error)
    return DataError(message if str(path) in message else f"{path}: {message}")


@contextmanager
def reading(path: object, failure: str) -> Iterator[None]:
    """Errors name the file. Readers raise many kinds of errors for damaged bytes: they become "PATH {failure}: ..."."""
    try:
        yield
    except DataError as error:
        raise naming(path, error) from error
    except (RewindError, Warning):  # where warnings are errors
        raise
    except Exception as error:
        raise DataError(f"{path} {failure}: {one_line(error)}") from error


def require(module: str, extra: str, distribution: str = LIBRARY) -> ModuleType:
    """Import `module`, or raise an error that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing_extra(module, extra, distribution) from error


def require_training() -> None:
    """The packages that agents are trained with."""
    for package in ("jax", "equinox", "optax"):
        require(package, "train")


def missing_extra(module: str, extra: str, distribution: str = LIBRARY) -> MissingExtra:
    """The error for a package that is not installed, with the command that installs it."""
    package, command = module.split(".")[0], install_command(distribution, extra)
    return MissingExtra(f"this needs the package '{package}', which is not installed: {command}")


def install_command(distribution: str, extra: str = "") -> str:
    """How to install a distribution of ours with an extra, from where it, or the library beside it, came from."""
    import shlex  # these two are needed for an error alone
    from urllib.parse import unquote, urlsplit

    extras = f"[{extra}]" if extra else ""
    url, editable = _origin(distribution)
    if not url and (beside := _origin(LIBRARY))[0]:  # the lab, from the same checkout or folder of wheels
        url, editable = beside[0].replace("rewind_rl-", "rewind_lab-"), beside[1]
        url += "" if url.endswith(".whl") else "/lab"
        url = url if Path(unquote(urlsplit(url).path)).exists() else ""
    if editable and url:
        return f"pip install -e {shlex.quote(unquote(urlsplit(url).path) + extras)}"
    name = f"{distribution}{extras}"
    return f"pip install {shlex.quote(f'{name} @ {url}' if url else name)}"


def _origin(distribution: str) -> tuple[str, bool]:
    """The address that pip installed it from, empty where that was a package index; and whether it is editable."""
    from importlib import metadata  # slow to import

    try:
        about = json.loads(metadata.distribution(distribution).read_text("direct_url.json") or "{}")
    except metadata.PackageNotFoundError:
        about = {}
    return about.get("url", ""), about.get("dir_info", {}).get("editable", False)


def unknown_name(what: str, name: object, known: Iterable[str], where: str | None = None) -> UsageError:
    """The error for an unknown name, with that name in a family ("rewind/..."), or else the most similar known names.

    where: how to list the known names, if there are too many to print
    """
    known = sorted(known)
    same = [one for one in known if one.endswith(f"/{name}")]
    near = same or difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(repr(n) for n in near)}? " if near else ""
    return UsageError(f"unknown {what} {name!r}: {hint}{where or 'known: ' + ', '.join(known)}")
