"""Trained policies: stored in a folder, called with NumPy only.

A policy is a folder:

    policy.npz     weight_0 (observation, hidden), bias_0 (hidden,), weight_1 ...; mean, scale (observation,)
    policy.json    the format, sizes, max_action, and how it was trained

    x = (observation - mean) / scale
    x = relu(x @ weight_i + bias_i)                        for all layers but the last
    action = max_action * tanh(x @ weight_n + bias_n)
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError, UsageError, naming, one_line
from rewind.files import Npz, read_json, whole_file, write_json

FORMAT = "rewind policy 1"
KIND = "tanh mlp"


@dataclass(frozen=True, eq=False)
class Policy:
    """A deterministic policy: call it with observations.

    weights: each (in, out)
    biases: each (out,)
    mean, scale: (observation,) subtracted from observations, and divided by
    provenance: how it was trained
    """

    weights: Sequence[Array]
    biases: Sequence[Array]
    mean: Array
    scale: Array
    max_action: float = 1.0
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("mean", "scale"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float32))
        for name in ("weights", "biases"):
            layers = tuple(np.asarray(array, np.float32) for array in getattr(self, name))
            object.__setattr__(self, name, layers)
        sizes = [self.mean.size, *(bias.size for bias in self.biases)]
        fits = [weight.shape for weight in self.weights] == list(pairwise(sizes))
        fits &= all(array.ndim == 1 for array in (self.mean, *self.biases))
        if not self.weights or not fits or self.scale.shape != self.mean.shape:
            shapes = [array.shape for array in (self.mean, self.scale, *self.weights, *self.biases)]
            raise DataError(f"the layers of this policy do not fit each other: {shapes}")

    def __repr__(self) -> str:
        sizes = ", ".join(str(len(bias)) for bias in self.biases[:-1])
        name = self.provenance.get("name", "no name")
        return f"Policy({name}: {self.observation_size} observations, hidden ({sizes}), {self.action_size} actions)"

    @property
    def observation_size(self) -> int:
        return len(self.mean)

    @property
    def action_size(self) -> int:
        return len(self.biases[-1])

    @property
    def environment(self) -> str | None:
        """The environment it was evaluated in during training."""
        name: str | None = self.provenance.get("environment")
        return name

    def __call__(self, observations: Any) -> Array:
        """(..., observation) -> (..., action), float32 between -max_action and max_action."""
        observations = np.asarray(observations)
        if observations.ndim < 1 or observations.shape[-1] != self.observation_size:
            raise UsageError(
                f"observations have shape {observations.shape}; this policy takes (..., {self.observation_size})"
            )
        x = ((observations - self.mean) / self.scale).astype(np.float32)
        return tanh_mlp(x, self.weights, self.biases, np.float32(self.max_action))

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the two files, and return the folder."""
        folder = Path(folder)
        arrays: dict[str, Any] = {"mean": self.mean, "scale": self.scale}  # Any: NumPy's types do not accept Arrays
        arrays |= named_layers(self.weights, self.biases)
        with whole_file(folder / "policy.npz") as temporary:
            np.savez(temporary, **arrays)
        about = {
            "format": FORMAT,
            "kind": KIND,
            "observation_size": self.observation_size,
            "action_size": self.action_size,
            "max_action": float(self.max_action),
            "hidden": [len(bias) for bias in self.biases[:-1]],
            "provenance": dict(self.provenance),
        }
        write_json(folder / "policy.json", about)
        return folder


def tanh_mlp(x: Array, weights: Sequence[Array], biases: Sequence[Array], max_action: Any) -> Array:
    """The action of one network, or of several if all arrays have a first axis for them."""
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        x = np.maximum(x @ weight + bias, 0.0)
    return np.asarray(max_action * np.tanh(x @ weights[-1] + biases[-1]))


def named_layers(weights: Sequence[Array], biases: Sequence[Array]) -> dict[str, Array]:
    """Weights and biases by their names in an archive."""
    named = {f"weight_{index}": weight for index, weight in enumerate(weights)}
    return named | {f"bias_{index}": bias for index, bias in enumerate(biases)}


def layers_in(arrays: Mapping[str, Array], count: int) -> tuple[list[Array], list[Array]]:
    """Weights and biases of an archive with `count` layers."""
    return [arrays[f"weight_{index}"] for index in range(count)], [arrays[f"bias_{index}"] for index in range(count)]


def load_policy(folder: str | os.PathLike[str]) -> Policy:
    """Load the policy from a folder that a training has written.

    policy = rewind.load_policy("runs/hopper/policies/000")
    action = policy(observation)
    """
    folder = Path(folder)
    about = _read_about(folder)
    try:
        arrays = Npz(folder / "policy.npz")
        layers = layers_in(arrays, len(about["hidden"]) + 1)
        provenance = dict(about["provenance"])
        return Policy(*layers, arrays["mean"], arrays["scale"], float(about["max_action"]), provenance)
    except (ValueError, KeyError, TypeError, OverflowError, MemoryError) as error:
        raise DataError(f"the policy in {folder} is incomplete or damaged: {one_line(error)}") from error


def _read_about(folder: Path) -> dict[str, Any]:
    path = folder / "policy.json"
    try:
        about: dict[str, Any] = read_json(path)
    except FileNotFoundError:
        inside = sorted(str(path.parent) for path in folder.glob("policies/*/policy.json"))
        hint = ": expected a folder with policy.json and policy.npz, such as runs/hopper/policies/000"
        if inside:
            hint = f"; there are {len(inside)} inside it, the first is {inside[0]}"
        raise DataError(f"no policy in {folder}{hint}") from None
    except (OSError, ValueError) as error:
        raise naming(path, error) from error
    if not isinstance(about, dict) or about.get("format") != FORMAT or about.get("kind") != KIND:
        raise DataError(f"{path} is not a policy of a known format: expected {FORMAT!r}, {KIND!r}")
    return about
