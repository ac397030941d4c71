"""Ranks of trajectories, and the weights they are drawn with: p = 1 / rank, weight = p^alpha (eq. 5)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rewind.arrays import Array
from rewind.compiled import HAVE_NUMBA, compiled
from rewind.errors import UsageError, unknown_name

SMALLEST_WEIGHT = 1e-300
WEIGHTINGS = ("rank", "softmax", "proportional")


class Ranked(NamedTuple):
    """Values, their ascending order, and their ranks: 1 for the highest; equal values share the mean rank."""

    values: Array
    order: Array
    ranks: Array


def rank(values: Array, before: Ranked | None = None) -> Ranked:
    """Rank the values.

    before: an earlier result. Only values that have changed since are sorted, which halves the time (5,000
    trajectories, 150 of them changed)
    """
    values = values.copy()  # the caller may change its array before it passes this result as `before`
    if before is None or len(before.values) != len(values):
        order = np.argsort(values, kind="stable")
        return Ranked(values, order, _share_ranks(values, order))
    return Ranked(values, *_rank_moved(values, before.order, before.values))


def average_ranks(values: Array) -> Array:
    return rank(values).ranks


# One compiled call: between several calls, other memories that plan in parallel would wait for the interpreter.
@compiled
def _merge_and_rank(values: Array, order: Array, before: Array) -> tuple[Array, Array]:
    moved = np.flatnonzero(values != before)
    moved = moved[np.argsort(values[moved])]
    merged = np.empty_like(order)
    filled, taken = 0, 0
    for item in order:
        value = values[item]
        if value != before[item]:
            continue
        while taken < moved.size and values[moved[taken]] < value:
            merged[filled] = moved[taken]
            filled += 1
            taken += 1
        merged[filled] = item
        filled += 1
    merged[filled:] = moved[taken:]
    return merged, _share_ranks(values, merged)


def _sort_and_rank(values: Array, order: Array, before: Array) -> tuple[Array, Array]:
    order = order[np.argsort(values[order], kind="stable")]
    return order, _share_ranks(values, order)


@compiled
def _share_ranks(values: Array, ascending: Array) -> Array:
    n = values.size
    ranks = np.empty(n, np.float64)
    begin = 0
    while begin < n:
        value = values[ascending[begin]]
        end = begin + 1
        while end < n and values[ascending[end]] == value:
            end += 1
        shared = n - (begin + end - 1) / 2  # positions begin..end-1 from the bottom
        for place in range(begin, end):
            ranks[ascending[place]] = shared
        begin = end
    return ranks


_rank_moved = _merge_and_rank if HAVE_NUMBA else _sort_and_rank  # the loop is very slow when not compiled


@dataclass(frozen=True)
class Weighting:
    """How values become weights; u is a value's place between the smallest (0) and the largest (1) of n.

    rank           rank^-alpha (eq. 5)
    softmax        exp(u / temperature)
    proportional   (u + 1 / n)^(1 / temperature)
    """

    kind: str = "rank"
    alpha: float = 1.0
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in WEIGHTINGS:
            raise unknown_name("weighting", self.kind, WEIGHTINGS)
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise UsageError(f"alpha is {self.alpha}; expected a number of at least 0")
        if not (np.isfinite(self.temperature) and self.temperature > 0):
            raise UsageError(f"temperature is {self.temperature}; expected a number greater than 0")
        unused = "temperature" if self.kind == "rank" else "alpha"
        if getattr(self, unused) != 1.0:
            raise UsageError(f"weighting '{self.kind}' has no {unused}: leave it out, or choose another weighting")

    def check(self, values: Array, more: Array | tuple[()] = ()) -> None:
        """Raise an error if the weight of some of these values leaves floating point."""
        count = len(values) + len(more)
        exponent = {"rank": self.alpha * np.log(count), "softmax": 1.0, "proportional": np.log(count)}[self.kind]
        if exponent / self.temperature > -np.log(SMALLEST_WEIGHT) and count > 1:  # maybe: ranks may be less
            self.weights(np.append(more, values))

    def weights(self, values: Array, before: Ranked | None = None) -> tuple[Array, Ranked | None]:
        """(trajectories,) the weights, and the ranking, where there is one.

        values: infinity for what has none yet, which counts as the largest
        before: the ranking of earlier values
        """
        if self.kind == "rank":
            ranked = rank(values, before)
            weights: Array = ranked.ranks**-self.alpha
            if weights.min() < SMALLEST_WEIGHT:
                raise UsageError(
                    f"alpha {self.alpha} is too large for {len(values):,} trajectories: the probability of the lowest "
                    f"ranks underflows; use at most {300 / max(np.log10(len(values)), 1e-9):.0f}"
                )
            return weights, ranked
        finite = np.isfinite(values)
        low, high = (values[finite].min(), values[finite].max()) if finite.any() else (0.0, 0.0)
        places = np.where(finite, values - low, high - low) / (high - low) if high > low else np.ones(len(values))
        if self.kind == "softmax":
            weights = np.exp((places - 1) / self.temperature)
        else:
            weights = (places + 1 / len(values)) ** (1 / self.temperature)
        if weights.min() < SMALLEST_WEIGHT:
            raise UsageError(f"temperature {self.temperature} is too small: the smallest probability underflows")
        return weights, None
