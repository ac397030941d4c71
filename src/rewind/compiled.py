"""Loops over arrays: compiled by Numba if it is installed, otherwise run by Python.

Both give bit-identical results, because such a function contains no random numbers and no reductions whose order a
compiler may choose. `REWIND_NUMBA=0` disables Numba.
"""

import os
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def _numba_wanted() -> bool:
    if os.environ.get("REWIND_NUMBA", "1") == "0":
        return False
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


HAVE_NUMBA = _numba_wanted()


def compiled(function: Function) -> Function:
    """Compile a loop over arrays. It releases the GIL, so that many memories plan on all cores."""
    return _compile(function, inline="never")


def inlined(function: Function) -> Function:
    """Compile a small function into its callers: a Numba call costs about 10 ns per array argument."""
    return _compile(function, inline="always")


def _compile(function: Function, inline: Literal["never", "always"]) -> Function:
    if not HAVE_NUMBA:
        return function
    import numba

    wrapped: Any = numba.njit(cache=True, nogil=True, error_model="numpy", inline=inline)(function)
    return cast(Function, wrapped)
