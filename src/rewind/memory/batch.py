"""What a memory returns: a batch, or a plan of many batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.parts import each_part
from rewind.errors import UsageError, require

LEARNED_FROM = ("observations", "actions", "rewards", "next_observations", "terminals", "tails", "fresh")


@dataclass(slots=True, eq=False)
class Batch:
    """The transitions of one training step; row i of every array belongs to slot i.

    The first seven arrays and the extras may be NumPy, torch or JAX arrays; the others are always NumPy arrays on the
    host.
    """

    observations: Any  # (batch, ...); a dict of such arrays if those of the data are one
    actions: Any  # (batch, ...)
    rewards: Any  # (batch,) float32
    next_observations: Any  # like observations: the true successor; meaningless where `terminals`
    terminals: Any  # (batch,) bool: no future after this row
    tails: Any  # (batch,) bool: the last transition of its trajectory, by terminal or by time-out
    fresh: Any  # (batch,) bool: this slot starts a sweep here; discard what is carried for it
    indices: Array  # (batch,) row numbers in the loaded arrays; with a capacity, places that later rows take again
    trajectories: Array  # (batch,) trajectory of each row, numbered from 0 in the order they came, never again
    timesteps: Array  # (batch,) step within the trajectory
    host: Batch | None = None  # the NumPy batch this one was made from
    valid: Any = None  # of chunks, whose arrays are (batch, length, ...): (batch, length) bool, which rows they have
    extras: dict[str, Any] = field(default_factory=dict)  # (batch, ...) each: further columns, such as costs

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        """Shapes alone: the arrays of a batch of 256 rows fill many screens."""
        parts = {name: getattr(self, name) for name in (*LEARNED_FROM, "indices", "trajectories", "timesteps", "valid")}
        shapes = [f"{name} {each_part(_shape, part)}" for name, part in parts.items() if part is not None]
        extras = [f"extras {each_part(_shape, self.extras)}"] if self.extras else []
        return f"<Batch of {len(self):,}: {', '.join(shapes + extras)}>"

    def in_chunks(self, valid: Array) -> Batch:
        """The rows of a batch as chunks.

        valid: (batch, length)
        """

        def chunked(part: Array) -> Array:
            return part.reshape(*valid.shape, *part.shape[1:])

        names = (*LEARNED_FROM, "indices", "trajectories", "timesteps", "extras")
        return Batch(**{name: each_part(chunked, getattr(self, name)) for name in names}, valid=valid)

    def as_torch(self, device: Any = "cpu") -> Batch:
        """The same batch as torch tensors on a device. On the CPU they share memory with this batch."""
        torch = require("torch", "torch")
        return self._converted(lambda array: torch.from_numpy(array).to(device))

    def as_jax(self) -> Batch:
        """The same batch as JAX arrays on JAX's default device."""
        jnp = require("jax.numpy", "jax")
        return self._converted(jnp.asarray)

    def _converted(self, convert: Callable[[Array], Any]) -> Batch:
        names = (*LEARNED_FROM, "extras") if self.valid is None else (*LEARNED_FROM, "extras", "valid")
        return replace(self, **{name: each_part(convert, getattr(self, name)) for name in names}, host=self)


def _shape(part: Any) -> tuple[int, ...]:
    return tuple(part.shape)


@dataclass(slots=True, eq=False)
class Plan:
    """The rows of the next batches, in order."""

    indices: Array  # (steps, batch) int64 row numbers in the loaded arrays
    fresh: Array  # (steps, batch) bool: a slot starts a sweep here
    trajectories: Array  # (steps, batch) trajectory of each row
    first_step: int  # number of batches planned before
    data: str = ""  # digest of the data that it has rows of; empty: not known

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        return f"<Plan of {len(self):,} batches of {self.batch_size:,}, after {self.first_step:,}>"

    @property
    def batch_size(self) -> int:
        return int(self.indices.shape[1])

    def __getitem__(self, step: int) -> Plan:
        """One step as a separate plan."""
        step = range(len(self))[step]
        rows = slice(step, step + 1)
        return Plan(self.indices[rows], self.fresh[rows], self.trajectories[rows], self.first_step + step, self.data)


def is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_positive(**numbers: Any) -> None:
    for name, value in numbers.items():
        if not (is_integer(value) and value > 0):
            raise UsageError(f"{name} is {value!r}; expected a positive integer")


def check_plan(plan: object, data: str = "") -> None:
    """data: digest of the data that it should have rows of"""
    if not isinstance(plan, Plan):
        raise UsageError(f"the plan is a {type(plan).__name__}; expected what plan(...) returned")
    if data and plan.data not in ("", data):
        raise UsageError("the plan was made for other data than the memory holds now: plan again after loading data")


def check_step(plan: Plan, step: Any) -> None:
    """A step may be counted from the end, as in any sequence."""
    if not (is_integer(step) and -len(plan) <= step < len(plan)):
        raise UsageError(f"step is {step!r}; expected a whole number below {len(plan)}, the steps of the plan")


def check_held(trajectories: Array, first: int) -> None:
    """Raise an error if some of these trajectories were dropped, whose rows others have taken."""
    if first and trajectories.min() < first:
        raise UsageError(
            f"the plan has trajectory {trajectories.min()}, which add has dropped since (the oldest one held is "
            f"{first}): plan again after add, or give the memory more capacity"
        )
