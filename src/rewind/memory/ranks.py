"""Ranks of trajectories, and the weights they are drawn with: p = 1 / rank, weight = p^alpha (eq. 5)."""

from typing import NamedTuple

import numpy as np

from rewind.arrays import Array
from rewind.compiled import HAVE_NUMBA, compiled
from rewind.errors import UsageError

SMALLEST_WEIGHT = 1e-300


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


def rank_weights(ranks: Array, alpha: float) -> Array:
    """(trajectories,) numerators of eq. 5."""
    weights = ranks**-alpha
    if weights.min() < SMALLEST_WEIGHT:
        raise UsageError(
            f"alpha {alpha} is too large for {len(ranks):,} trajectories: the probability of the lowest ranks "
            f"underflows; use at most {300 / max(np.log10(len(ranks)), 1e-9):.0f}"
        )
    return np.asarray(weights)
