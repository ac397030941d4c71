"""Arrays of any library: NumPy, torch, JAX. Only NumPy is imported unless you pass an array of another library."""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # a NumPy array


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
