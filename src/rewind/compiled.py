"""Loops over arrays: compiled by Numba where it is installed, run by Python where it is not.

Both give the same results to the bit, because such a function contains no random numbers and no reductions
whose order a compiler may choose. `REWIND_NUMBA=0` switches the compiler off.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

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
    """Compile a loop over arrays; it releases the GIL, so that many memories plan on all cores."""
    if not HAVE_NUMBA:
        return function
    import numba

    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)  # type: ignore[no-any-return]
