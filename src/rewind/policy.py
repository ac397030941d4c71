"""Trained policies: stored in a folder, called with NumPy only.

A policy is a folder:

    policy.npz     weight_0 (observation, hidden), bias_0 (hidden,), weight_1 ...; mean, scale (observation,);
                   what the training data covers (`rewind.guard`): data_limit ...
    policy.json    the format, sizes, action_low and action_high (action,), how it was trained, a digest of all that

    x = (observation - mean) / scale
    x = relu(x @ weight_i + bias_i)                        for all layers but the last
    action = (action_low + action_high) / 2 + (action_high - action_low) / 2 * tanh(x @ weight_n + bias_n)

A policy of discrete actions (kind "argmax mlp") returns argmax(x @ weight_n + bias_n).
A clipped policy takes no action beyond those of the training data. A guarded policy takes its own action where the
observation is inside the training data, and a fallback elsewhere.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError, UsageError, naming, one_line
from rewind.files import json_ready, read_json, read_npz, short_digest, whole_file, write_json
from rewind.guard import RULE, UNKNOWN, DataSupport, Fallback, GuardedPolicy

FORMAT = "rewind policy 1"
KIND, DISCRETE = "tanh mlp", "argmax mlp"


@dataclass(frozen=True, eq=False)
class Policy:
    """A deterministic policy: call it with observations.

    weights: each (in, out)
    biases: each (out,)
    mean, scale: (observation,) subtracted from observations, and divided by
    action_low, action_high: (action,) bounds of the actions, or one number for all
    provenance: how it was trained
    discrete: its actions are whole numbers from 0 to action_size - 1
    support: what its training data covers, None where that is not known
    clip: its actions stay within the smallest and the largest ones of the training data; or, if they are discrete, are
        some that the data has
    """

    weights: Sequence[Array]
    biases: Sequence[Array]
    mean: Array
    scale: Array
    action_low: Any = -1.0
    action_high: Any = 1.0
    provenance: Mapping[str, Any] = field(default_factory=dict)
    discrete: bool = False
    support: DataSupport | None = None
    clip: bool = False

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
        for name in ("action_low", "action_high"):
            bound = np.asarray(getattr(self, name), np.float32)
            if bound.shape not in ((), (1,), (self.action_size,)) or not np.isfinite(bound).all():
                raise DataError(f"{name} is {getattr(self, name)}; expected {self.action_size} finite numbers")
            object.__setattr__(self, name, np.broadcast_to(bound, self.action_size))
        if not (self.action_low <= self.action_high).all():
            raise DataError(f"action_low {self.action_low} is above action_high {self.action_high}")
        support = self.support
        if support and (support.middle.size, support.action_low.size) != (self.observation_size, self.action_size):
            raise DataError(f"the training data of this policy has {support.middle.size} observations: it does not fit")
        if self.clip and support is None:
            raise UsageError(f"{UNKNOWN}: clip needs it; train again")

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
    def half_range(self) -> Array:
        """(action,)"""
        return np.asarray((self.action_high - self.action_low) / 2)

    @property
    def middle(self) -> Array:
        """(action,)"""
        return np.asarray((self.action_high + self.action_low) / 2)

    @property
    def environment(self) -> str | None:
        """The environment it was evaluated in during training."""
        name: str | None = self.provenance.get("environment")
        return name

    def __call__(self, observations: Any) -> Array:
        """(..., observation) -> (..., action), float32 between action_low and action_high; or (...), whole numbers."""
        observations = np.asarray(observations)
        if observations.ndim < 1 or observations.shape[-1] != self.observation_size:
            raise UsageError(
                f"observations have shape {observations.shape}; this policy takes (..., {self.observation_size})"
            )
        x = ((observations - self.mean) / self.scale).astype(np.float32)
        if self.discrete:
            return np.asarray((mlp(x, self.weights, self.biases) + self.penalty).argmax(-1))
        actions = tanh_mlp(x, self.weights, self.biases, self.half_range, self.middle)
        return np.clip(actions, *self.limits) if self.clip else actions

    @property
    def penalty(self) -> Array:
        """(action,) 0, or minus infinity for a discrete action that is clipped away."""
        allowed = not (self.clip and self.support) or self.support.action_high > 0
        return np.where(allowed, np.zeros(self.action_size, np.float32), np.float32(-np.inf))

    @property
    def limits(self) -> tuple[Array, Array]:
        """(action,) twice: between which actions are, clipped or not."""
        if not (self.clip and self.support):
            return self.action_low, self.action_high
        return self.support.action_low, self.support.action_high

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the two files, and return the folder."""
        folder = Path(folder)
        arrays: dict[str, Any] = {"mean": self.mean, "scale": self.scale}  # Any: NumPy's types do not accept Arrays
        arrays |= named_layers(self.weights, self.biases)
        arrays |= self.support.named() if self.support else {}
        with whole_file(folder / "policy.npz") as temporary:
            np.savez(temporary, **arrays)
        about: dict[str, Any] = {
            "format": FORMAT,
            "kind": DISCRETE if self.discrete else KIND,
            "observation_size": self.observation_size,
            "action_size": self.action_size,
            "action_low": self.action_low.tolist(),
            "action_high": self.action_high.tolist(),
            "hidden": [len(bias) for bias in self.biases[:-1]],
            **({"support": RULE, "clip": self.clip} if self.support else {}),
            "provenance": json_ready(dict(self.provenance)),  # the digest is of what the file will hold
        }
        write_json(folder / "policy.json", {**about, "digest": _digest(about, arrays)})
        return folder


def mlp(x: Array, weights: Sequence[Array], biases: Sequence[Array]) -> Array:
    """The output of one network, or of several if all arrays have a first axis for them."""
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        x = np.maximum(x @ weight + bias, 0.0)
    return np.asarray(x @ weights[-1] + biases[-1])


def tanh_mlp(x: Array, weights: Sequence[Array], biases: Sequence[Array], half_range: Any, middle: Any) -> Array:
    """The action of one network, or of several if all arrays have a first axis for them."""
    return np.asarray(half_range * np.tanh(mlp(x, weights, biases)) + middle)


def named_layers(weights: Sequence[Array], biases: Sequence[Array]) -> dict[str, Array]:
    """Weights and biases by their names in an archive."""
    named = {f"weight_{index}": weight for index, weight in enumerate(weights)}
    return named | {f"bias_{index}": bias for index, bias in enumerate(biases)}


def layers_in(arrays: Mapping[str, Array], count: int) -> tuple[list[Array], list[Array]]:
    """Weights and biases of an archive with `count` layers."""
    return [arrays[f"weight_{index}"] for index in range(count)], [arrays[f"bias_{index}"] for index in range(count)]


@overload
def load_policy(folder: str | os.PathLike[str], *, clip: bool = False) -> Policy: ...
@overload
def load_policy(
    folder: str | os.PathLike[str], *, fallback: Fallback, limit: float | None = 1.0, clip: bool = False
) -> GuardedPolicy: ...
def load_policy(
    folder: str | os.PathLike[str], *, fallback: Fallback | None = None, limit: float | None = 1.0, clip: bool = False
) -> Policy | GuardedPolicy:
    """Load the policy from a folder that a training has written.

    policy = rewind.load_policy("runs/hopper/policies/000")
    action = policy(observation)

    fallback, limit: what acts outside the training data, and from where on (`GuardedPolicy`)
    clip: actions stay within those of the training data
    """
    if fallback is None and limit != 1.0:
        raise UsageError(f"limit is {limit} without a fallback, so nothing is guarded: pass fallback=..., or no limit")
    policy = _read_policy(Path(folder))
    if clip:
        policy = replace(policy, clip=True)
    return policy if fallback is None else GuardedPolicy(policy, fallback, limit)


def _read_policy(folder: Path) -> Policy:
    about = _read_about(folder)
    try:
        arrays = read_npz(folder / "policy.npz")
        if "digest" in about and about.pop("digest") != _digest(about, arrays):
            raise DataError("it is not what was saved: its digest is another one")
        most = float(about.get("max_action", 1.0))  # of the first edition
        return Policy(
            *layers_in(arrays, len(about["hidden"]) + 1),
            mean=arrays["mean"],
            scale=arrays["scale"],
            action_low=about.get("action_low", -most),
            action_high=about.get("action_high", most),
            provenance=dict(about["provenance"]),
            discrete=about["kind"] == DISCRETE,
            support=DataSupport.find(arrays),
            clip=bool(about.get("clip", False)),
        )
    except (ValueError, KeyError, TypeError, OverflowError, MemoryError) as error:
        raise DataError(f"the policy in {folder} is incomplete or damaged: {one_line(error)}") from error


def _digest(about: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    return short_digest(arrays, json.dumps(about, sort_keys=True).encode())


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
    except NotADirectoryError:
        raise DataError(f"{folder} is a file; expected a folder with policy.json and policy.npz") from None
    except (OSError, ValueError) as error:
        raise naming(path, error) from error
    if not isinstance(about, dict) or about.get("format") != FORMAT or about.get("kind") not in (KIND, DISCRETE):
        raise DataError(f"{path} is not a policy of a known format: expected {FORMAT!r}, {KIND!r}")
    return about
