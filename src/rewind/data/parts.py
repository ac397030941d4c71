"""Arrays, dicts of arrays and arrays on the disk: their parts, and whether they fit together."""

import math
import mmap
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.flags import flag_array
from rewind.data.lazy_rows import LazyRows
from rewind.errors import DataError
from rewind.table import listed

FEW_PAGES = 4
CODES = 8  # of actions, that are listed


def each_part(function: Callable[..., Any], value: Any, *others: Any) -> Any:
    """The function of an array, or of each array of a dict; `others` have the same keys."""
    if isinstance(value, dict):
        return {key: function(part, *(other[key] for other in others)) for key, part in value.items()}
    return function(value, *others)


def named_parts(name: str, value: Any) -> dict[str, Any]:
    """{name: array}, or for a dict of arrays {"name/key": array}: how files and states hold them."""
    return {f"{name}/{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}


def find_parts(arrays: Mapping[str, Any], name: str) -> Any:
    """What `named_parts` was given, None if `arrays` does not have it."""
    if name in arrays:
        return arrays[name]
    prefix = f"{name}/"
    return {key.removeprefix(prefix): arrays[key] for key in arrays if str(key).startswith(prefix)} or None


def shown(value: Any) -> str:
    """Types and shapes without the first dimension: "float32 (3,)", or "image uint8 (8, 8), state float32 (3,)"."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {shown(part)}" for key, part in value.items())
    return f"{value.dtype} {value.shape[1:]}"


def missing_codes(actions: Any) -> str:
    """What to know of discrete actions, (rows,), of which not all from 0 to the largest occur; empty where all do."""
    codes = np.unique(np.asarray(actions))
    count, largest = len(codes), int(codes[-1])
    if codes[0] < 0 or count > largest:
        return ""
    better = listed(range(count), CODES) if count <= CODES else f"0 to {count - 1:,}"
    occur = "occurs" if count == 1 else "occur"
    return (
        f"{count:,} of the codes 0 to {largest:,} {occur}; code them {better}, or a policy may choose one of the others"
        "; leave them as they are if those are actions too"
    )


def lazy(array: Any) -> Any:
    """An array on the disk as rows that are read when they are asked for; one in memory as it is."""
    return LazyRows([array]) if on_disk(array) else array


def chosen_rows(array: Any, rows: Array) -> Any:
    """These rows of an array: a copy, but those of an array on the disk stay there."""
    return LazyRows([array], rows) if on_disk(array) else array[rows]


def side_by_side(value: Any) -> Any:
    """The parts of a dict as one row of numbers per entry, in the order of its keys; an array keeps its first axis.

    Arrays on the disk stay there: `LazyRows` of them are returned.
    """
    if not isinstance(value, dict):
        return np.asarray(value.reshape(len(value), -1))
    if on_disk(value):
        return LazyRows([*value.values()], shape=(sum(math.prod(part.shape[1:]) for part in value.values()),))
    return np.concatenate([part.reshape(len(part), -1) for part in value.values()], axis=1)


def mapped(value: Any) -> Any:
    """An HDF5 dataset that its file holds in one piece as an array that stays there; anything else unchanged."""
    if getattr(value, "chunks", False) is not None or not hasattr(value, "id") or value.external or not value.size:
        return value
    offset = value.id.get_offset()
    return value if offset is None else np.memmap(value.file.filename, value.dtype, "r", offset, value.shape)


def on_disk(value: Any) -> bool:
    """Whether an array, or one of a dict of them, is mapped from a file."""
    if isinstance(value, (dict, LazyRows)):
        return any(map(on_disk, value.values() if isinstance(value, dict) else value.parts))
    return _mapping(value) is not None


def _mapping(value: Any) -> Any:
    """What an array is mapped by, None if it is in memory."""
    while value is not None:
        if isinstance(value, mmap.mmap):
            return value
        value = getattr(value, "base", None)
    return None


def read_soon(array: Any, rows: Array) -> None:
    """Tell the system which rows of a mapped array are read next, in ascending order: it then reads those pages alone.

    Otherwise it reads around each of them, up to megabytes, most of which nobody asked for.
    """
    if isinstance(array, LazyRows):
        for part in array.parts:
            read_soon(part, rows if array.chosen is None else np.sort(array.chosen[rows]))
        return
    source = _mapping(array)
    if source is None or not hasattr(mmap, "MADV_RANDOM") or not array.size or not rows.size:
        return
    source.madvise(mmap.MADV_RANDOM)
    begin = array.ctypes.data - np.frombuffer(source, np.uint8).ctypes.data
    first = (begin + rows * array.strides[0]) // mmap.PAGESIZE
    last = (begin + (rows + 1) * array.strides[0] - 1) // mmap.PAGESIZE
    (starts,) = np.concatenate([[True], first[1:] > last[:-1] + 1]).nonzero()
    ends = np.append(starts[1:], len(rows)) - 1
    for page, count in zip(first[starts].tolist(), (last[ends] - first[starts] + 1).tolist(), strict=True):
        if count >= FEW_PAGES:  # fewer are read as fast when they are needed
            source.madvise(mmap.MADV_WILLNEED, page * mmap.PAGESIZE, count * mmap.PAGESIZE)


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


def storage_array(name: str, value: object, always_float: bool = False) -> Any:
    """`value` as it is stored: floats as float32 (no copy if they are already), integers and booleans in their size.

    Rows of an array on the disk that need a conversion are converted when they are read.
    """
    if isinstance(value, LazyRows):
        return value  # of arrays as they are stored
    try:
        array = np.asarray(mapped(value))
    except (ValueError, TypeError) as error:
        raise DataError(f"{name} is not an array: {error}") from error
    if array.ndim == 0:
        raise DataError(f"{name} is a single value; expected one entry per step")
    if array.dtype.kind not in "fiub":
        raise DataError(f"{name} has dtype {array.dtype}; expected floats, integers or booleans")
    is_float = array.dtype.kind == "f" or always_float
    dtype = np.dtype(np.float32) if is_float else array.dtype.newbyteorder("=")  # torch takes no other byte order
    if on_disk(array) and not always_float and (array.dtype != dtype or not array.flags.c_contiguous):
        return LazyRows([array])
    with np.errstate(over="ignore"):  # check_finite reports what becomes infinite
        return np.ascontiguousarray(array, dtype=dtype)


def storage_parts(name: str, value: object) -> Any:
    """The same for an array, or for each array of a mapping."""
    value = by_key(name, value)
    if not isinstance(value, dict):
        return storage_array(name, value)
    return {key: storage_array(f"{name} '{key}'", part) for key, part in value.items()}


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


def frozen(array: Array) -> Array:
    """A read-only copy; the array itself if it is one already."""
    if array.flags.writeable or not array.flags.owndata:
        array = np.array(array)
        array.flags.writeable = False
    return array
