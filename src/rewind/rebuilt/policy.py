"""Behaviour policies, which draw their actions: stored in one `.npz` file, called with NumPy only.

The entries of the file:

    w0, b0, w1, b1, ...    layers, x @ w + b; w (in, out) throughout, or (out, in) throughout
    activation             "tanh" (default) or "relu", between layers
    in_shift, in_scale     optional: x = (observation - in_shift) / (in_scale + 1e-8)
    out_shift, out_scale   optional: output * out_scale + out_shift
    log_std                a vector: action = output + exp(log_std) * noise, clipped to [-1, 1]
    squashed               1: the last layer gives mean and log_std, the latter clipped to [-5, 2];
                           action = tanh(mean + exp(log_std) * noise)
    meta                   optional: how it was trained, a JSON object

One of `log_std` and `squashed` is required. Numbers may be stored as float16; they are used as float32. Other
entries are ignored, and nothing is unpickled.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError, UsageError
from rewind.files import read_npz, whole_file

ACTIVATIONS = ("tanh", "relu")
LOG_STD = (-5.0, 2.0)
VECTORS = ("in_shift", "in_scale", "out_shift", "out_scale", "log_std")


@dataclass(frozen=True, eq=False)
class BehaviourPolicy:
    """A policy that draws its actions.

    weights: each (in, out)
    biases: each (out,)
    in_shift, in_scale: (observation,), None for no change
    out_shift, out_scale: (output,), None for no change
    log_std: (action,) None if the network outputs it (squashed)
    meta: how the policy was trained
    digest: SHA-256 of its file, "" without a file
    """

    weights: Sequence[Array]
    biases: Sequence[Array]
    activation: str = "tanh"
    in_shift: Array | None = None
    in_scale: Array | None = None
    out_shift: Array | None = None
    out_scale: Array | None = None
    log_std: Array | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise DataError(f"activation is {self.activation!r}; expected one of {', '.join(ACTIVATIONS)}")
        biases = [_numbers(f"b{index}", bias) for index, bias in enumerate(self.biases)]
        weights = [_numbers(f"w{index}", weight) for index, weight in enumerate(self.weights)]
        object.__setattr__(self, "weights", _oriented(weights, biases))
        object.__setattr__(self, "biases", tuple(biases))
        sizes = {"in": self.observation_size, "out": len(biases[-1]), "log": len(biases[-1])}
        for name in VECTORS:
            if (value := getattr(self, name)) is None:
                continue
            vector = _numbers(name, value)
            if vector.shape != (expected := (sizes[name.split("_")[0]],)):
                raise DataError(f"{name} has shape {vector.shape}; expected {expected} to match the layers")
            object.__setattr__(self, name, vector)
        if self.squashed and len(biases[-1]) % 2:
            raise DataError(
                f"the last layer has {len(biases[-1])} outputs; a squashed policy has a mean and a log_std for each "
                "action, an even number (a policy with a fixed standard deviation has log_std)"
            )

    @property
    def squashed(self) -> bool:
        """Whether the network outputs the standard deviation of actions, and tanh bounds them."""
        return self.log_std is None

    @property
    def observation_size(self) -> int:
        return len(self.weights[0])

    @property
    def action_size(self) -> int:
        return len(self.biases[-1]) // 2 if self.squashed else len(self.biases[-1])

    def sample(self, observations: Array, noise: Array) -> Array:
        """(rows, observation), (rows, action) standard normal numbers -> (rows, action) float32 in [-1, 1]."""
        mean, log_std = self._distribution(observations)
        actions = mean + np.exp(log_std) * noise.astype(np.float32, copy=False)
        return self._bounded(actions)

    def mode(self, observations: Array) -> Array:
        """(rows, observation) -> (rows, action): the actions without noise."""
        return self._bounded(self._distribution(observations)[0])

    def _bounded(self, actions: Array) -> Array:
        return np.tanh(actions) if self.squashed else np.clip(actions, -1.0, 1.0)

    def _distribution(self, observations: Array) -> tuple[Array, Array]:
        observations = np.asarray(observations)
        if observations.ndim != 2 or observations.shape[1] != self.observation_size:
            raise UsageError(
                f"observations have shape {observations.shape}; this policy takes (rows, {self.observation_size})"
            )
        x = self._network(observations)
        if self.log_std is not None:
            return x, self.log_std
        mean, log_std = np.split(x, 2, axis=1)
        return mean, np.clip(log_std, *LOG_STD)

    def _network(self, observations: Array) -> Array:
        shift = 0.0 if self.in_shift is None else self.in_shift
        scale = 1.0 if self.in_scale is None else self.in_scale + np.float32(1e-8)
        x: Array = ((observations - shift) / scale).astype(np.float32)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = x @ weight + bias
            x = np.tanh(x) if self.activation == "tanh" else np.maximum(x, 0.0)
        x = x @ self.weights[-1] + self.biases[-1]
        if self.out_scale is not None:
            x = x * self.out_scale
        return x if self.out_shift is None else x + self.out_shift

    def save(self, path: str | os.PathLike[str], dtype: Any = np.float16) -> None:
        """Write the file. float16 halves its size and changes actions by about a thousandth."""
        arrays: dict[str, Any] = {f"w{index}": weight.astype(dtype) for index, weight in enumerate(self.weights)}
        arrays |= {f"b{index}": bias.astype(dtype) for index, bias in enumerate(self.biases)}
        vectors = {name: getattr(self, name) for name in VECTORS}
        arrays |= {name: value for name, value in vectors.items() if value is not None}
        arrays |= {"squashed": np.array(1)} if self.squashed else {}
        arrays |= {"activation": np.array(self.activation), "meta": np.array(json.dumps(dict(self.meta)))}
        with whole_file(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)


def load_behaviour(path: str | os.PathLike[str]) -> BehaviourPolicy:
    path = Path(path)
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DataError(f"the policy {path} cannot be read: {error.strerror}") from error
    arrays = read_npz(path)
    try:
        return _policy(arrays, digest)
    except DataError as error:
        raise DataError(f"the policy {path} cannot be used: {error}") from error


def _policy(arrays: Mapping[str, Array], digest: str) -> BehaviourPolicy:
    depth = next(index for index in count() if f"w{index}" not in arrays)
    missing = [name for name in ("w0", *(f"b{index}" for index in range(depth))) if name not in arrays]
    if "log_std" not in arrays and not np.any(arrays.get("squashed", 0)):
        missing.append("log_std (or squashed = 1)")
    if missing:
        raise DataError(f"missing {', '.join(missing)}; the file has: {', '.join(sorted(arrays)) or 'nothing'}")
    if "log_std" in arrays and np.any(arrays.get("squashed", 0)):
        raise DataError("it has both log_std and squashed = 1; expected one way to draw actions")
    try:
        meta = json.loads(str(arrays.get("meta", "{}")))
    except json.JSONDecodeError as error:
        raise DataError(f"meta is invalid JSON: {error}") from error
    return BehaviourPolicy(
        [arrays[f"w{index}"] for index in range(depth)],
        [arrays[f"b{index}"] for index in range(depth)],
        str(arrays.get("activation", "tanh")),
        **{name: arrays[name] for name in VECTORS if name in arrays},
        meta=meta,
        digest=digest,
    )


def _numbers(name: str, value: Any) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise DataError(f"{name} has dtype {array.dtype}; expected numbers")
    array = np.ascontiguousarray(array, np.float32)
    if not np.isfinite(array).all():
        raise DataError(f"{name} contains NaN or infinity")
    return array


def _oriented(weights: Sequence[Array], biases: Sequence[Array]) -> tuple[Array, ...]:
    """The weights as (in, out); all weights of a file may be (out, in)."""
    for layers in (weights, [weight.T for weight in weights]):
        if not layers or any(weight.ndim != 2 for weight in layers):
            break
        sizes = [layers[0].shape[0], *(len(bias) for bias in biases if bias.ndim == 1)]
        if [weight.shape for weight in layers] == list(pairwise(sizes)):
            return tuple(np.ascontiguousarray(weight) for weight in layers)
    shapes = {f"w{i}": weight.shape for i, weight in enumerate(weights)}
    shapes |= {f"b{i}": bias.shape for i, bias in enumerate(biases)}
    raise DataError(f"the layers do not fit each other: {', '.join(f'{k} {s}' for k, s in shapes.items())}")
