"""Whether the arrays of `Trajectories` fit together."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rewind.arrays import Array, each_part, named_parts, shown
from rewind.data.flags import flag_array, frozen
from rewind.errors import DataError


def by_key(name: str, value: Any) -> Any:
    """A mapping as a dict in alphabetical order of its keys, so that no order of a file matters; an array as it is."""
    if not isinstance(value, Mapping):
        return value
    if not value or not all(isinstance(key, str) and key for key in value):
        raise DataError(f"{name} has the keys {list(value)}; expected at least one, and names")
    for key, part in value.items():
        if isinstance(part, Mapping):
            raise DataError(f"{name} '{key}' is a dict of its own; expected an array: put its parts beside the others")
    return {key: value[key] for key in sorted(value)}


def check_rows(arrays: Mapping[str, Any], rows: int, trajectories: int) -> None:
    """Check that arrays have one entry per row or per trajectory, and that final observations match observations."""
    for unit, count, names in (
        ("rows", rows, ("observations", "actions", "rewards", "extras")),
        ("trajectories", trajectories, ("terminated", "final_observations", "final_known")),
    ):
        for name in names:
            for part, array in named_parts(name, arrays[name]).items():
                if array.shape[:1] != (count,):
                    raise DataError(f"{part} has shape {array.shape}; expected {count:,} {unit}")
    for name in ("rewards", "terminated", "final_known"):
        if arrays[name].ndim != 1:
            raise DataError(f"{name} has shape {arrays[name].shape}; expected one number per entry")
    observations, finals = shown(arrays["observations"]), shown(arrays["final_observations"])
    if finals != observations:
        raise DataError(f"final_observations are {finals}; expected {observations} like the observations")


def check_inner(value: object, lengths: Array) -> Array | None:
    """Terminals before the last rows as booleans, None if there are none."""
    if value is None:
        return None
    inner = flag_array("inner_terminals", value)
    last = np.cumsum(lengths) - 1
    if inner.shape != (last[-1] + 1,):
        raise DataError(f"inner_terminals has shape {inner.shape}; expected ({last[-1] + 1},), one flag per row")
    if inner[last].any():
        index = int(np.argmax(inner[last]))
        raise DataError(f"inner_terminals marks the last row of trajectory {index}; use 'terminated' for last rows")
    return frozen(inner) if inner.any() else None


def same_values(one: Any, other: Any) -> bool:
    """Whether two arrays, or dicts of them, are equal."""
    if isinstance(one, dict) or isinstance(other, dict):
        same_keys = isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other)
        return same_keys and all(each_part(np.array_equal, one, other).values())
    return np.array_equal(one, other)
