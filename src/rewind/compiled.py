"""Loops over arrays: compiled by Numba if it is installed, otherwise run by Python.

Both give bit-identical results, because such a function contains no random numbers and no reductions whose order a
compiler may choose. `REWIND_NUMBA=0` disables Numba.
"""

import importlib
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Literal, TypeVar, cast

from rewind.errors import warn

Function = TypeVar("Function", bound=Callable[..., Any])


HAVE_NUMBA = os.environ.get("REWIND_NUMBA", "1") != "0"
if HAVE_NUMBA:
    try:
        import numba
    except ImportError:
        HAVE_NUMBA = False


def _announce_first_compile() -> None:
    event: Any = importlib.import_module("numba.core.event")

    class FirstCompile(event.Listener):  # type: ignore[misc]
        def on_start(self, started: Any) -> None:
            dispatcher = started.data["dispatcher"]
            if dispatcher.py_func.__module__.startswith("rewind."):
                event.unregister("numba:compile", self)
                with suppress(UserWarning):  # where warnings are errors, compiling still works
                    warn(
                        "Numba compiles Rewind's loops, each where it is first used, which takes some seconds: "
                        f"the result is kept in {dispatcher.stats.cache_path}"
                    )

        def on_end(self, ended: Any) -> None:
            pass

    event.register("numba:compile", FirstCompile())


if HAVE_NUMBA:
    _announce_first_compile()


def compiled(function: Function) -> Function:
    """Compile a loop over arrays. It releases the GIL, so that many memories plan on all cores."""
    return _compile(function, inline="never")


def inlined(function: Function) -> Function:
    """Compile a small function into its callers: a Numba call costs about 10 ns per array argument."""
    return _compile(function, inline="always")


def _compile(function: Function, inline: Literal["never", "always"]) -> Function:
    if not HAVE_NUMBA:
        return function
    wrapped: Any = numba.njit(cache=True, nogil=True, error_model="numpy", inline=inline)(function)
    with suppress(AttributeError, OSError):  # by itself, Numba's cache is out of date only when this file has changed
        wrapped._cache._cache_file._source_stamp = (numba.__version__, "\0".join(_sources(function)))
    return cast(Function, wrapped)


def _sources(function: Callable[..., Any]) -> Iterator[str]:
    """All that is compiled into a function: its source, those of the functions it calls, the constants it reads."""
    yield inspect.getsource(function)
    for name in function.__code__.co_names:
        value: Any = function.__globals__.get(name)
        if hasattr(value, "py_func"):
            yield from _sources(value.py_func)
        elif isinstance(value, (int, float, str, tuple)):
            yield f"{name} = {value!r}"
