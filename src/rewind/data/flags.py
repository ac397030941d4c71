"""Flags that say how trajectories end: checked, under one set of names in every reader."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError

# A flag per step under any of these names: D4RL's first, then Gymnasium's
TERMINALS = ("terminals", "terminations", "terminated")
TIMEOUTS = ("timeouts", "truncations", "truncated")
FLAGS = (*TERMINALS, *TIMEOUTS, "dones")


def flag_array(name: str, value: object) -> Array:
    """`value` as booleans; anything but True, False, 1 and 0 is an error: "False" and NaN would count as True."""
    flags = np.asarray(value)
    if flags.dtype == bool:
        return flags
    if flags.dtype.kind not in "iuf":
        raise DataError(f"{name} has dtype {flags.dtype}; expected booleans, or 0 and 1")
    wrong = (flags != 0) & (flags != 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"{name} is {flags.flat[row]} at row {row}; expected 0 or 1")
    return flags.astype(bool)


def single_flag(name: str, value: object) -> bool:
    """One flag, checked in the same way."""
    flags = np.asarray(value)
    if flags.size != 1:
        raise DataError(f"{name} has shape {flags.shape}; expected a single flag")
    return bool(flag_array(name, flags).item())


def read_flags(data: Mapping[str, Any], rows: int, last: Array | None = None) -> tuple[Array | None, Array | None]:
    """Terminals and time-outs, each (rows,), under any of their names; None where the data has none.

    last: the last row of each trajectory, where flags may be one per trajectory
    """
    terminals, timeouts, dones = (row_flags(data, names, rows, last) for names in (TERMINALS, TIMEOUTS, ("dones",)))
    if dones is None:
        return terminals, timeouts
    if terminals is not None:
        timeouts = dones & ~terminals if timeouts is None else timeouts
    elif timeouts is not None:
        terminals = dones & ~timeouts
    else:
        raise DataError(
            "'dones' does not tell terminals from time-outs: add 'timeouts', True where an episode was only cut "
            "(all False if every done is a terminal)"
        )
    if (unexplained := dones & ~(terminals | timeouts)).any():
        raise DataError(f"'dones' is True at row {np.argmax(unexplained)}, which is neither a terminal nor a time-out")
    return terminals, timeouts


def split_terminals(terminals: Array, last: Array | slice) -> dict[str, Any]:
    """Terminals per row as fields of `Trajectories`: those of the last rows, and those before them."""
    inner = terminals.copy()
    inner[last] = False
    return {"terminated": terminals[last], "inner_terminals": inner}


def row_flags(data: Mapping[str, Any], names: Sequence[str], rows: int, last: Array | None = None) -> Array | None:
    """(rows,) the flags under one of these names; under two of them only if they are equal."""
    columns = {name: flag_array(name, value) for name in names if (value := data.get(name)) is not None}
    for name, column in columns.items():
        if last is not None and (column.shape or (1,)) == last.shape:
            columns[name] = np.zeros(rows, bool)
            columns[name][last] = column
        elif column.shape in ((rows,), (rows, 1)):
            columns[name] = column.reshape(rows)
        else:
            raise DataError(f"{name} has shape {column.shape}; expected ({rows},), one flag per row")
    for one, other in pairwise(columns):
        if not np.array_equal(columns[one], columns[other]):
            raise DataError(f"'{one}' and '{other}' mean the same, but differ: leave one out")
    return next(iter(columns.values()), None)
