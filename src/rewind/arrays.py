"""Arrays of any library: NumPy, torch, JAX. Only NumPy is imported unless you pass an array of another library."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # a NumPy array


def namespace(array: Any) -> Any:
    """The library an array belongs to: NumPy and JAX arrays say so themselves, torch's do not."""
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    library = type(array).__module__.split(".")[0]
    if library in ("builtins", "numpy"):
        return np
    return importlib.import_module("jax.numpy" if library in ("jax", "jaxlib") else library)


def to_numpy(array: Any) -> Array:
    """An array of any library, on any device, on the host."""
    return np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)


def copy_of(array: Any) -> Any:
    """The same numbers in memory of their own, where the library's arrays can be changed at all."""
    if hasattr(array, "clone"):
        return array.clone()
    return array.copy() if isinstance(array, np.ndarray) else array


def from_numpy(array: Any, like: Any) -> Any:
    """`array` in the library, and on the device, of `like`; as it is where it does not come from NumPy."""
    if not isinstance(array, np.ndarray) or isinstance(like, np.ndarray):
        return array
    if hasattr(like, "detach"):
        return namespace(like).as_tensor(array).to(like.device)
    return namespace(like).asarray(array)
