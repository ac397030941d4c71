"""Arrays of other libraries as NumPy's, dicts of arrays, and states without arrays. Only NumPy is imported."""

import json
import mmap
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # a NumPy array

FEW_PAGES = 4
LISTED = 100_000  # arrays with at most so many numbers are lists in a state: it can then be written as JSON


def to_numpy(array: Any) -> Array:
    """A NumPy array from an array of any library, on any device."""
    return np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)


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


def side_by_side(value: Any) -> Array:
    """The parts of a dict as one row of numbers per entry, in the order of its keys; an array keeps its first axis."""
    if not isinstance(value, dict):
        return np.asarray(value.reshape(len(value), -1))
    return np.concatenate([part.reshape(len(part), -1) for part in value.values()], axis=1)


def mapped(value: Any) -> Any:
    """An HDF5 dataset that its file holds in one piece as an array that stays there; anything else unchanged."""
    if getattr(value, "chunks", False) is not None or not hasattr(value, "id") or value.external or not value.size:
        return value
    offset = value.id.get_offset()
    return value if offset is None else np.memmap(value.file.filename, value.dtype, "r", offset, value.shape)


def on_disk(value: Any) -> bool:
    """Whether an array, or one of a dict of them, is mapped from a file."""
    return any(map(on_disk, value.values())) if isinstance(value, dict) else _mapping(value) is not None


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


def plain_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """A state without NumPy arrays: `torch.load` (weights only), `np.savez` and, where it is small, JSON take it.

    Arrays become lists, large ones their bytes; "arrays" has their types and shapes.
    """
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    plain = {
        # Signed, because a list of large and small unsigned integers would become floats in `np.savez`.
        name: (array.view(np.int64) if array.dtype == np.uint64 else array).tolist()
        if array.size <= LISTED
        else bytearray(np.ascontiguousarray(array))
        for name, array in arrays.items()
    }
    kinds = {name: [array.dtype.str, array.shape, array.size > LISTED] for name, array in arrays.items()}
    return {**state, **plain, "arrays": json.dumps(kinds)}


def array_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """What `plain_state` was given, also after `np.load`. A state that has NumPy arrays keeps them."""
    scalars = {name: value.item() for name, value in state.items() if isinstance(value, np.ndarray) and not value.ndim}
    state = {**state, **scalars}
    if "arrays" not in state and any(isinstance(value, (list, bytearray)) for value in state.values()):
        raise KeyError("arrays")
    for name, (kind, shape, is_bytes) in json.loads(state.pop("arrays", "{}")).items():
        value, dtype = state[name], np.dtype(kind)
        if is_bytes:
            array = np.frombuffer(value, dtype)
        else:
            array = np.array(value, np.int64).view(dtype) if dtype == np.uint64 else np.array(value, dtype)
        state[name] = array.reshape(shape)
    return state
