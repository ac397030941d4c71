"""Arrays of any library: NumPy, torch, JAX. Only NumPy is imported unless you pass an array of another library."""

import importlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # a NumPy array

LISTED = 100_000  # arrays with at most so many numbers are lists in a state: it can then be written as JSON


def namespace(array: Any) -> Any:
    """The array library of an array: NumPy, jax.numpy or torch."""
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    library = type(array).__module__.split(".")[0]
    if library in ("builtins", "numpy"):
        return np
    return importlib.import_module("jax.numpy" if library in ("jax", "jaxlib") else library)


def to_numpy(array: Any) -> Array:
    """A NumPy array from an array of any library, on any device."""
    return np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)


def frozen(array: Array) -> Array:
    """A read-only copy; the array itself if it is one already."""
    if array.flags.writeable or not array.flags.owndata:
        array = np.array(array)
        array.flags.writeable = False
    return array


def detached_copy(array: Any) -> Any:
    """A copy through which no gradient flows. Immutable arrays (JAX) are not copied."""
    if hasattr(array, "detach"):
        return array.detach().clone()
    if isinstance(array, np.ndarray):
        return array.copy()
    return importlib.import_module("jax").lax.stop_gradient(array)


def from_numpy(array: Any, like: Any) -> Any:
    """A NumPy array in the library and on the device of `like`; other arrays are returned as they are."""
    if not isinstance(array, np.ndarray) or isinstance(like, np.ndarray):
        return array
    if hasattr(like, "detach"):
        return namespace(like).as_tensor(array).to(like.device)
    return namespace(like).asarray(array)


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
