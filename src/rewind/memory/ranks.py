"""From priorities to drawing weights: p = 1 / rank, weight = p^alpha (eq. 5 of the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewind.compiled import HAVE_NUMBA, compiled
from rewind.errors import UsageError

Array = NDArray[Any]


def sort_again(values: Array, order: Array | None = None, before: Array | None = None) -> Array:
    """An order of the values, lowest first.

    order, before: that of a moment ago and the values it is of. Few have moved since, and only they are sorted: half of
    the time of sorting all (5,000 trajectories, 150 of them moved)
    """
    if order is None or before is None or len(order) != len(values):
        return np.argsort(values, kind="stable")
    return _sort_moved(values, order, before)


@compiled
def _merge_moved(values: Array, order: Array, before: Array) -> Array:
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
    return merged


def _sort_nearly_sorted(values: Array, order: Array, before: Array) -> Array:
    return np.asarray(order[np.argsort(values[order], kind="stable")])


_sort_moved = _merge_moved if HAVE_NUMBA else _sort_nearly_sorted  # a loop is hopeless where it is not compiled


def average_ranks(values: Array, order: Array | None = None) -> Array:
    """Rank 1 for the highest value; equal values share the mean of their ranks. `order`: theirs, where it is known."""
    return _share_ranks(values, sort_again(values) if order is None else order)


@compiled
def _share_ranks(values: Array, ascending: Array) -> Array:
    n = values.size
    ranks = np.empty(n, np.float64)
    begin = 0
    while begin < n:
        end = begin + 1
        while end < n and values[ascending[end]] == values[ascending[begin]]:
            end += 1
        ranks[ascending[begin:end]] = n - (begin + end - 1) / 2  # positions begin..end-1 from the bottom
        begin = end
    return ranks


def rank_weights(values: Array, alpha: float, order: Array | None = None) -> Array:
    """(trajectories,) numerators of eq. 5."""
    weights = average_ranks(values, order) ** -alpha
    if weights.min() < 1e-300:
        raise UsageError(
            f"alpha {alpha} is too large for {len(values):,} trajectories: the probability of the lowest ranks is no "
            f"longer a number; use at most {300 / max(np.log10(len(values)), 1e-9):.0f}"
        )
    return np.asarray(weights)
