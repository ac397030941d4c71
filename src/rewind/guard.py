"""Guards: what the training data covers, in a few numbers stored with a policy, and a fallback for elsewhere.

An observation x is outside the data if its novelty exceeds 1:

    column     |x - middle| / reach          largest of all columns; the range of a column, and 5% of it on either side
    distance   |(x - mean) / scale @ whiten| / limit          Mahalanobis; limit: 1.1 times what 99.9% of the rows keep
    novelty    the larger of the two; infinite if a number of x is not finite

The columns find a sensor that leaves its range; the distance finds sensors that contradict each other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError, UsageError, one_line, warn

RULE = "outside: a column 5% of its range beyond the data, or 1.1 times the Mahalanobis distance of 99.9% of the rows"
UNKNOWN = "this policy was saved without the range of its training data, by an earlier version"
SLACK, KEPT = 1.1, 0.999
LEAST_VARIANCE = 1e-3  # of a direction in which columns agree, relative to a column's own
MOST_ROWS = 100_000  # whose distances are computed

Fallback = Sequence[float] | Array | float | Callable[[Array], Any]


@dataclass(frozen=True, eq=False)
class DataSupport:
    """The observations and actions of the training data.

    middle, reach: (observation,) of each column's range, and 5% of the range more on either side
    mean, scale: (observation,) of each column
    whiten: (observation, observation) makes the scaled columns uncorrelated
    limit: the distance that counts as 1
    action_low, action_high: (action,) the smallest and the largest action; of an action that was never taken, one-hot,
        the largest is 0
    """

    middle: Array
    reach: Array
    mean: Array
    scale: Array
    whiten: Array
    limit: Array
    action_low: Array
    action_high: Array

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, np.asarray(getattr(self, field.name), np.float32))
        size, actions = self.middle.size, self.action_low.size
        shapes = [(size,)] * 4 + [(size, size), (), (actions,), (actions,)]
        parts = self.named()
        if [array.shape for array in parts.values()] != shapes or not all(np.isfinite(a).all() for a in parts.values()):
            raise DataError(f"what is known of the training data is damaged: {[a.shape for a in parts.values()]}")

    def named(self) -> dict[str, Array]:
        """All arrays by their names in an archive."""
        return {f"data_{field.name}": getattr(self, field.name) for field in fields(self)}

    @staticmethod
    def find(arrays: Mapping[str, Array]) -> "DataSupport | None":
        """Of the arrays of an archive; None in those of earlier versions."""
        if "data_limit" not in arrays:
            return None
        return DataSupport(**{field.name: arrays[f"data_{field.name}"] for field in fields(DataSupport)})

    def novelty(self, observations: Any) -> Array:
        """(..., observation) -> (...): above 1 is outside the data."""
        observations = np.asarray(observations, np.float64)
        finite = np.isfinite(observations).all(-1)
        finite_observations = np.where(finite[..., None], observations, self.middle)
        column = (np.abs(finite_observations - self.middle) / self.reach).max(-1)
        distance = np.linalg.norm((finite_observations - self.mean) / self.scale @ self.whiten, axis=-1) / self.limit
        return np.asarray(np.where(finite, np.maximum(column, distance), np.inf))

    def explain(self, observation: Any) -> str:
        """Why one observation is outside, in a line; empty if it is not."""
        observation = np.asarray(observation, np.float64)
        wrong = np.flatnonzero(~np.isfinite(observation))
        if wrong.size:
            return f"column {wrong[0]} is {observation[wrong[0]]}, not a finite number"
        column = np.abs(observation - self.middle) / self.reach
        worst = int(column.argmax())
        if column[worst] > 1:
            low, high = self.middle[worst] - self.reach[worst], self.middle[worst] + self.reach[worst]
            return f"column {worst} is {observation[worst]:g}; the training data goes from {low:g} to {high:g}"
        novelty = float(self.novelty(observation))
        return "" if novelty <= 1 else f"its columns do not fit each other: {novelty:.2g} times as far as the data goes"


def support_of(observations: Array, actions: Array) -> DataSupport:
    """What data covers.

    observations: (rows, observation)
    actions: (rows, action), one-hot where they are discrete
    """
    low, high = (np.asarray(bound, np.float64) for bound in (observations.min(0), observations.max(0)))
    middle = (low + high) / 2
    # A constant column has no range: the millionths keep its own value inside, rounded to float32.
    reach = SLACK * (high - low) / 2 + 1e-6 * (1 + np.abs(middle))
    mean, scale = observations.mean(0, dtype=np.float64), observations.std(0, dtype=np.float64)
    scale = np.where(scale > 1e-6 * (1 + np.abs(mean)), scale, 1.0)
    mean, scale = mean.astype(np.float32), scale.astype(np.float32)  # as stored: the same distances later
    rows = observations[:: -(-len(observations) // MOST_ROWS)]
    scaled = (rows.astype(np.float64) - mean) / scale
    variances, directions = np.linalg.eigh(scaled.T @ scaled / len(scaled))
    whiten = (directions / np.sqrt(np.maximum(variances, LEAST_VARIANCE))).astype(np.float32)
    limit = np.maximum(SLACK * np.quantile(np.linalg.norm(scaled @ whiten, axis=1), KEPT), 1e-6)
    return DataSupport(middle, reach, mean, scale, whiten, limit, actions.min(0), actions.max(0))


class Acting(Protocol):
    """What a guard asks of a policy."""

    @property
    def discrete(self) -> bool: ...
    @property
    def action_size(self) -> int: ...
    @property
    def support(self) -> DataSupport | None: ...
    def __call__(self, observations: Any) -> Array: ...


@dataclass(frozen=True, eq=False)
class GuardedPolicy:
    """A policy that is asked only about observations like those it was trained on. Call it like a `Policy`.

    fallback: taken elsewhere: an action, in the units of the data, or another policy, (rows, observation) -> actions
    limit: the novelty (see above) from which on it is taken; None: only where a number is not finite
    """

    policy: Acting
    fallback: Fallback
    limit: float | None = 1.0

    def __post_init__(self) -> None:
        if self.limit is not None and not self.limit > 0:
            raise UsageError(f"limit is {self.limit}; expected a number above 0 (1: the edge of the data), or None")
        if self.limit is not None and self.policy.support is None:
            raise UsageError(f"{UNKNOWN}: train again, or pass limit=None to check for NaN alone")
        if not callable(self.fallback):
            given, support = self._checked(self.fallback, ()), self.policy.support
            if support is not None and not self.policy.discrete:
                low, high = support.action_low, support.action_high
                if ((given < low) | (given > high)).any():
                    units = ", ".join(f"{a:g} to {b:g}" for a, b in zip(low, high, strict=True))
                    warn(f"the fallback, {given.tolist()}, is outside the actions of the data: {units}")

    def __call__(self, observations: Any) -> Array:
        return self.act(observations)[0]

    def act(self, observations: Any) -> tuple[Array, Array]:
        """(..., observation) -> the actions, and (...) where they are the fallback's."""
        observations = np.asarray(observations)
        with np.errstate(invalid="ignore", over="ignore"):
            actions = self.policy(observations)
        outside = self.outside(observations)
        if not outside.any():
            return actions, outside
        given = self.fallback(observations[outside]) if callable(self.fallback) else self.fallback
        actions = np.array(actions)
        actions[outside] = self._checked(given, (int(outside.sum()),) if callable(self.fallback) else ())
        return actions, outside

    def outside(self, observations: Any) -> Array:
        """(..., observation) -> (...)"""
        if self.limit is None or self.policy.support is None:
            return np.asarray(~np.isfinite(observations).all(-1))
        return np.asarray(self.policy.support.novelty(observations) > self.limit)

    def _checked(self, given: Any, rows: tuple[int, ...]) -> Array:
        """Actions of the fallback. One number can stand for all columns."""
        policy, actions = self.policy, np.asarray(given, np.float32)
        shape = rows if policy.discrete else (*rows, policy.action_size)
        fits = actions.shape == shape or (not rows and actions.size == 1)
        if policy.discrete:
            fits = fits and bool(np.isin(actions, np.arange(policy.action_size)).all())
        if not fits or not np.isfinite(actions).all():
            kind = f"whole numbers from 0 to {policy.action_size - 1}" if policy.discrete else "finite numbers"
            raise UsageError(f"the fallback gives {one_line(ValueError(given))}; expected {kind} of shape {shape}")
        return actions
