"""Checks of the arrays that become `Trajectories`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError

CHUNK_ROWS = 16_384  # data is checked in chunks, which needs no second copy of it


def storage_array(name: str, value: object, always_float: bool = False) -> Array:
    """`value` as it is stored: floats as float32 (no copy if they are already), integers and booleans unchanged."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise DataError(f"{name} is not an array: {error}") from error
    if array.ndim == 0:
        raise DataError(f"{name} is a single value; expected one entry per step")
    if array.dtype.kind not in "fiub":
        raise DataError(f"{name} has dtype {array.dtype}; expected floats, integers or booleans")
    if array.dtype.kind == "f" or always_float:
        with np.errstate(over="ignore"):  # check_finite reports what becomes infinite
            return np.ascontiguousarray(array, dtype=np.float32)
    return np.ascontiguousarray(array)


def missing_columns(missing: list[str], present: Iterable[object]) -> DataError:
    """The error for flat data without some columns."""
    hint = ""
    if missing == ["terminals"]:
        hint = ": terminals are True where an episode really ended (all False if none did), timeouts where it was cut"
    columns = ", ".join(sorted(map(str, present))) or "nothing"
    return DataError(f"missing {', '.join(missing)}; the data has: {columns}{hint}")


def check_lengths(value: object, rows: int) -> Array:
    """Lengths as int64. They must be positive integers whose sum is the number of rows."""
    lengths = np.asarray(value)
    if lengths.size == 0 or rows == 0:
        raise DataError("the data is empty: expected at least one trajectory with at least one step")
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu":
        raise DataError(
            f"lengths has dtype {lengths.dtype} and shape {lengths.shape}; expected one integer per trajectory"
        )
    if lengths.min() < 1:
        index = int(np.argmax(lengths < 1))
        raise DataError(f"trajectory {index} has length {lengths[index]}; expected at least 1 step")
    lengths = lengths.astype(np.int64)
    if lengths.sum() != rows:
        raise DataError(f"lengths add up to {lengths.sum():,} rows, but there are {rows:,}")
    return lengths


def check_rows(arrays: Mapping[str, Array], rows: int, trajectories: int) -> None:
    """Check that arrays have one entry per row or per trajectory, and that final observations match observations."""
    for unit, count, names in (
        ("rows", rows, ("observations", "actions", "rewards")),
        ("trajectories", trajectories, ("terminated", "final_observations", "final_known")),
    ):
        for name in names:
            if len(arrays[name]) != count:
                entries = f"{len(arrays[name]):,} entries"
                raise DataError(f"{name} has {entries}; expected {count:,}, one for each of the {unit}")
    for name in ("rewards", "terminated", "final_known"):
        if arrays[name].ndim != 1:
            raise DataError(f"{name} has shape {arrays[name].shape}; expected one number per entry")
    observations, finals = arrays["observations"], arrays["final_observations"]
    if finals.shape[1:] != observations.shape[1:] or finals.dtype != observations.dtype:
        raise DataError(
            f"final_observations are {finals.dtype}{finals.shape[1:]}; "
            f"expected {observations.dtype}{observations.shape[1:]} like the observations"
        )


def check_inner(value: object, lengths: Array) -> Array | None:
    """Terminals before the last rows as booleans, None if there are none."""
    if value is None:
        return None
    inner = np.asarray(value, dtype=bool)
    last = np.cumsum(lengths) - 1
    if inner.shape != (last[-1] + 1,):
        raise DataError(f"inner_terminals has shape {inner.shape}; expected ({last[-1] + 1},), one flag per row")
    if inner[last].any():
        index = int(np.argmax(inner[last]))
        raise DataError(f"inner_terminals marks the last row of trajectory {index}; use 'terminated' for last rows")
    return inner if inner.any() else None


def check_finite(name: str, array: Array, lengths: Array | None) -> None:
    """Raise an error that names the first row and trajectory with a NaN or an infinity."""
    if array.dtype.kind != "f":
        return
    for begin in range(0, len(array), CHUNK_ROWS):
        chunk = array[begin : begin + CHUNK_ROWS]
        finite = np.isfinite(chunk)
        if finite.all():
            continue
        row = begin + int(np.argmin(finite.reshape(len(chunk), -1).all(axis=1)))
        if lengths is None:
            where = f"trajectory {row}"
        else:
            trajectory = int(np.searchsorted(np.cumsum(lengths), row, side="right"))
            where = f"row {row} (trajectory {trajectory})"
        raise DataError(
            f"{name} has a value that is NaN, infinite or too large for float32 at {where}; "
            "expected finite numbers: repair or remove that trajectory"
        )
