"""Numbers grouped by trajectory, and the summaries that priorities are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewind.compiled import HAVE_NUMBA, compiled

Array = NDArray[Any]


@dataclass(frozen=True)
class Ragged:
    """Groups of numbers in one flat array: group i is values[starts[i] : starts[i] + lengths[i]], never empty.

    Summaries are accumulated in float64 and rounded to float32: groups that hold the same numbers in another order
    are then equal, so that ties are ties.
    """

    values: Array
    starts: Array
    lengths: Array

    def sum(self) -> Array:
        return _round(_extreme_means(self.values, self.starts, self.lengths, 1.0, True) * self.lengths)

    def mean(self) -> Array:
        return self.upper_mean(1.0)

    def upper_mean(self, fraction: float) -> Array:
        """Mean of the largest `fraction` of each group; of at least one number."""
        return _round(_extreme_means(self.values, self.starts, self.lengths, fraction, True))

    def lower_mean(self, fraction: float) -> Array:
        """Mean of the smallest `fraction` of each group; of at least one number."""
        return _round(_extreme_means(self.values, self.starts, self.lengths, fraction, False))

    def max(self) -> Array:
        return self.upper_mean(0.0)

    def min(self) -> Array:
        return self.lower_mean(0.0)


def _round(values: Array) -> Array:
    return values.astype(np.float32).astype(np.float64)


@compiled
def _quickselect(values: Array, kth: int) -> Array:
    """A copy of `values` with the kth smallest in its place, smaller ones before it and larger ones behind."""
    values = values.copy()
    low, high = 0, values.size - 1
    while low < high:
        first, middle, last = values[low], values[(low + high) // 2], values[high]
        pivot = max(min(first, middle), min(max(first, middle), last))
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if kth <= right:
            high = right
        elif kth >= left:
            low = left
        else:
            break
    return values


# NumPy's own is the fastest without Numba, and the slower one (1.6 times) when Numba compiles it.
_partition = _quickselect if HAVE_NUMBA else np.partition


@compiled
def _extreme_means(values: Array, starts: Array, lengths: Array, fraction: float, upper: bool) -> Array:
    """(groups,) mean of the k = max(1, ceil(fraction * length)) largest (or smallest) numbers of each group."""
    means = np.empty(lengths.size, np.float64)
    for group in range(lengths.size):
        length = lengths[group]
        chosen = values[starts[group] : starts[group] + length]
        count = max(1, int(np.ceil(fraction * length)))
        if count < length:
            if upper:
                chosen = _partition(chosen, length - count)[length - count :]
            else:
                chosen = _partition(chosen, count - 1)[:count]
        total = 0.0
        for value in chosen:  # in order, and not np.sum: Numba and NumPy add in different orders
            total += float(value)
        means[group] = total / count
    return means
