"""Arrays of other libraries as NumPy's, and states without arrays. Only NumPy is imported."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # a NumPy array

LISTED = 100_000  # arrays with at most so many numbers are lists in a state: it can then be written as JSON


def to_numpy(array: Any) -> Array:
    """A NumPy array from an array of any library, on any device."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        array = array.float() if str(array.dtype) == "torch.bfloat16" else array  # which NumPy does not have
    numbers: Array = np.asarray(array)
    # JAX's bfloat16 is an array of NumPy's, of a type that NumPy does not compute with.
    return numbers.astype(np.float32) if numbers.dtype.kind == "V" and "float" in numbers.dtype.name else numbers


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
