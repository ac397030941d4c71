"""Numbers grouped by trajectory, and the summaries that priorities are computed from."""

from dataclasses import dataclass

import numpy as np

from rewind.arrays import Array
from rewind.compiled import HAVE_NUMBA, compiled

FEW = 8  # this many numbers are sorted rather than counted


@dataclass(frozen=True)
class Ragged:
    """Groups of numbers in one flat array: group i is values[starts[i] : starts[i] + lengths[i]], never empty.

    Summaries are accumulated in float64 and rounded to float32, so that groups of the same numbers in another order
    are equal and share their rank.
    """

    values: Array  # float32
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
def _extreme_means(values: Array, starts: Array, lengths: Array, fraction: float, upper: bool) -> Array:
    """(groups,) mean of the k = max(1, ceil(fraction * length)) largest (or smallest) numbers of each group."""
    means = np.empty(lengths.size, np.float64)
    for group in range(lengths.size):
        length = lengths[group]
        numbers = values[starts[group] : starts[group] + length]
        count = max(1, int(np.ceil(fraction * length)))
        if count == length:
            means[group] = _sum(numbers) / count
            continue
        # All numbers beyond the last one to include, and as many copies of that one as are still missing.
        last = _kth_smallest(numbers, length - count if upper else count - 1)
        beyond = numbers > last if upper else numbers < last
        copies = count - np.count_nonzero(beyond)
        means[group] = (_sum(np.where(beyond, numbers, np.float32(0))) + copies * float(last)) / count
    return means


@compiled
def _sum(numbers: Array) -> float:
    """Sum in order: the sums of Numba and NumPy add in different orders."""
    total = 0.0
    for number in numbers:
        total += float(number)
    return total


@compiled
def _narrow_down(numbers: Array, kth: int) -> float:
    """The kth smallest number: an interval around it is narrowed down by counting, until few numbers are left.

    Floats are compared as 32-bit integers of the same order. Counting needs no branch; in a quickselect the processor
    mispredicts every other one.
    """
    bits = numbers.view(np.int32)
    keys = bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))
    low, high = np.int64(keys.min()), np.int64(keys.max())
    below, upto = 0, keys.size  # numbers below low, and up to high
    halve = False
    while low < high and upto - below > FEW:
        # Where it would be if the numbers were spread evenly; every other time the middle, in case they are not.
        share = 0.5 if halve else (kth - below + 0.5) / (upto - below)
        halve = not halve
        middle = low + int((high - low) * share)
        threshold = np.int32(middle)
        count = np.int32(0)
        for key in keys:
            count += np.int32(key <= threshold)
        if count > kth:
            high, upto = middle, int(count)
        else:
            low, below = middle + 1, int(count)
    left = numbers[(keys >= np.int32(low)) & (keys <= np.int32(high))]
    return float(np.sort(left)[kth - below])


def _select(numbers: Array, kth: int) -> float:
    return float(np.partition(numbers, kth)[kth])


_kth_smallest = _narrow_down if HAVE_NUMBA else _select  # without a compiler, NumPy's is the fastest
