"""The available trajectories, and drawing one of them with the probabilities of eq. 5.

There are two ways to draw, chosen by measurement (docs/memory.md). The first draws from all trajectories with a guide
table, in constant time, and rejects what is not available. It is exact, and fast while most of the probability is
available. After `TRIES` rejections, the second draws from a tree of sums over the available trajectories. It is exact
too, in logarithmic time. Only then is the tree updated, from the list of trajectories that changed.
"""

from typing import NamedTuple

import numpy as np

from rewind.arrays import Array
from rewind.compiled import HAVE_NUMBA, compiled, inlined
from rewind.memory.sumtree import empty_tree, fill_tree, find_leaf, set_leaf

TRIES = 24
ON_FINISH, EPOCH, REPLACEMENT = 0, 1, 2
REUSE = {"on_finish": ON_FINISH, "epoch": EPOCH, "replacement": REPLACEMENT}

# Columns of Pool.records.
START, COUNT, HELD, LAST_EPOCH = 0, 1, 2, 3
# Positions in Pool.counters.
AVAILABLE, CHANGED, EPOCH_NOW = 0, 1, 2


class Pool(NamedTuple):
    """The arrays used to draw; n is the number of trajectories."""

    records: Array  # (n, 4) first row, rows to play, number of slots that hold it, epoch of its last draw
    weights: Array  # (n,) numerators of eq. 5; 0 for a trajectory without transitions
    cumulative: Array  # (n,) their running sum, as a share of the total
    guide: Array  # (n,) guide[j]: the first trajectory whose running sum exceeds j / n; empty if all weights are equal
    tree: Array  # sums over the available trajectories, updated when needed
    changed: Array  # (n,) trajectories whose availability the tree does not contain yet
    counters: Array  # (3,) available, changed (more than n: all), epoch


def make_records(starts: Array, counts: Array) -> Array:
    """(trajectories, 4) records with nothing held and nothing drawn."""
    records = np.zeros((len(starts), 4), np.int64)
    records[:, START], records[:, COUNT] = starts, counts
    return records


def make_pool(records: Array, weights: Array, epoch: int, reuse: int) -> Pool:
    """A pool of trajectories with these weights; slots may hold some of them."""
    n = len(weights)
    counters = np.array([0, n + 1, epoch])
    cumulative, guide, counters[AVAILABLE] = _make_draws(records, weights, counters, reuse)
    return Pool(records, weights, cumulative, guide, empty_tree(n), np.empty(n, np.int64), counters)


@compiled
def _draws_one_by_one(records: Array, weights: Array, counters: Array, reuse: int) -> tuple[Array, Array, int]:
    """`cumulative`, `guide`, and the number of available trajectories."""
    sums = np.empty(weights.size)
    total, available, equal = 0.0, 0, True
    for index in range(weights.size):
        total += weights[index]
        sums[index] = total
        equal &= weights[index] == weights[0]
        available += weights[index] > 0.0 and is_available(records, counters, index, reuse)
    cumulative = sums / total  # the last one is exactly 1, greater than every uniform number
    return cumulative, make_guide(cumulative, equal), available


def _draws_at_once(records: Array, weights: Array, counters: Array, reuse: int) -> tuple[Array, Array, int]:
    cumulative = np.cumsum(weights)
    cumulative /= cumulative[-1]
    available = (weights > 0) & (records[:, HELD] == 0)
    if reuse == EPOCH:
        available &= records[:, LAST_EPOCH] < counters[EPOCH_NOW]
    guide = make_guide(cumulative, bool(weights.min() == weights.max()))
    return cumulative, guide, int(np.count_nonzero(available))


# The loop is faster when compiled, and very slow when not.
_make_draws = _draws_one_by_one if HAVE_NUMBA else _draws_at_once


@compiled
def make_guide(cumulative: Array, equal: bool) -> Array:
    n = cumulative.size
    guide = np.empty(0 if equal else n, np.int32)
    trajectory = 0
    for share in range(guide.size):
        while cumulative[trajectory] <= share / n:
            trajectory += 1
        guide[share] = trajectory
    return guide


# The functions below take the arrays one by one, and the small ones are compiled into their callers: passing the
# whole tuple, or a call for every draw, took several times as long as the draw itself.


@inlined
def locate(cumulative: Array, guide: Array, uniform: float) -> int:
    """The trajectory that a uniform number in [0, 1) selects among all trajectories."""
    if guide.size == 0:
        return int(uniform * cumulative.size)
    trajectory: int = guide[int(uniform * guide.size)]
    while cumulative[trajectory] <= uniform:
        trajectory += 1
    return trajectory


@inlined
def is_available(records: Array, counters: Array, trajectory: int, reuse: int) -> bool:
    """Whether no slot holds it and, if trajectories are used once per epoch, it was not used in this epoch."""
    if records[trajectory, HELD] > 0:
        return False
    return reuse != EPOCH or records[trajectory, LAST_EPOCH] < counters[EPOCH_NOW]


@inlined
def note_change(changed: Array, counters: Array, trajectory: int, change: int) -> None:
    """Note that a trajectory became available (1) or unavailable (-1)."""
    counters[AVAILABLE] += change
    count = counters[CHANGED]
    if count < changed.size:
        changed[count] = trajectory
    counters[CHANGED] = count + 1


@compiled
def draw_exactly(
    records: Array, weights: Array, tree: Array, changed: Array, counters: Array, uniform: float, reuse: int
) -> int:
    """The trajectory that a uniform number in [0, 1) selects among the available ones."""
    count = counters[CHANGED]
    if count > changed.size:
        leaves = np.zeros(weights.size)
        for trajectory in range(weights.size):
            if is_available(records, counters, trajectory, reuse):
                leaves[trajectory] = weights[trajectory]
        fill_tree(tree, leaves)
    else:
        for trajectory in changed[:count]:
            available = is_available(records, counters, trajectory, reuse)
            set_leaf(tree, trajectory, weights[trajectory] if available else 0.0)
    counters[CHANGED] = 0
    return find_leaf(tree, uniform)


@compiled
def start_epoch(records: Array, weights: Array, changed: Array, counters: Array) -> None:
    """Make all trajectories that no slot holds available again; the others follow when their sweeps end."""
    counters[EPOCH_NOW] += 1
    for trajectory in range(weights.size):
        if records[trajectory, HELD] == 0 and weights[trajectory] > 0.0:
            note_change(changed, counters, trajectory, 1)


@inlined
def hold(records: Array, changed: Array, counters: Array, trajectory: int, reuse: int) -> None:
    """Note that a slot starts a sweep."""
    if is_available(records, counters, trajectory, reuse):
        note_change(changed, counters, trajectory, -1)
    records[trajectory, HELD] += 1
    records[trajectory, LAST_EPOCH] = counters[EPOCH_NOW]


@inlined
def release(records: Array, changed: Array, counters: Array, trajectory: int, reuse: int) -> None:
    """Note that a slot's sweep has ended."""
    records[trajectory, HELD] -= 1
    if is_available(records, counters, trajectory, reuse):
        note_change(changed, counters, trajectory, 1)
