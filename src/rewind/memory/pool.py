"""The available trajectories, and drawing one of them with the probabilities of eq. 5.

Two ways to draw, chosen by measurement (docs/memory.md). First, draw from all trajectories with a guide table, which
takes constant time, and throw back what is not available: exact, and fast while most of the probability is available.
After `TRIES` failures, draw from a tree of sums over the available ones alone: exact too, and logarithmic whatever is
held. The tree is brought up to date only then, from the list of trajectories that changed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewind.compiled import compiled, inlined
from rewind.memory.sumtree import empty_tree, fill_tree, find_leaf, set_leaf

Array = NDArray[Any]

TRIES = 24
ON_FINISH, EPOCH, REPLACEMENT = 0, 1, 2
REUSE = {"on_finish": ON_FINISH, "epoch": EPOCH, "replacement": REPLACEMENT}

# Positions in Pool.counters.
AVAILABLE, CHANGED, CURRENT_EPOCH = 0, 1, 2


class Pool(NamedTuple):
    """Arrays a draw works on; n is the number of trajectories."""

    weights: Array  # (n,) numerators of eq. 5; 0 for a trajectory without transitions
    cumulative: Array  # (n,) their running sum, as a share of the total
    guide: Array  # (n,) guide[j]: the first trajectory whose running sum exceeds the share j / n
    tree: Array  # sums over the available trajectories, as of the last time it was needed
    held: Array  # (n,) by how many slots
    epoch: Array  # (n,) in which a trajectory was drawn last
    changed: Array  # (n,) trajectories whose availability the tree does not know yet
    counters: Array  # (3,) available, changed (more than n: all), current epoch


def make_pool(weights: Array, held: Array, epoch: Array, current_epoch: int, reuse: int) -> Pool:
    """A pool over trajectories with these weights, of which slots hold some."""
    n = len(weights)
    cumulative = np.cumsum(weights)
    cumulative /= cumulative[-1]  # ends with exactly 1, which no uniform number reaches
    available = (weights > 0) & (held == 0) & ((epoch < current_epoch) | (reuse != EPOCH))
    return Pool(
        weights=weights,
        cumulative=cumulative,
        guide=make_guide(cumulative),
        tree=empty_tree(n),
        held=held,
        epoch=epoch,
        changed=np.empty(n, np.int64),
        counters=np.array([np.count_nonzero(available), n + 1, current_epoch]),
    )


@compiled
def make_guide(cumulative: Array) -> Array:
    n = cumulative.size
    guide = np.empty(n, np.int32)
    trajectory = 0
    for share in range(n):
        while cumulative[trajectory] <= share / n:
            trajectory += 1
        guide[share] = trajectory
    return guide


# The functions below take the arrays one by one, and the small ones are compiled into their caller: handing over the
# whole tuple, or a call for every draw, took several times as long as the draw itself.


@inlined
def locate(cumulative: Array, guide: Array, uniform: float) -> int:
    """The trajectory that a uniform number in [0, 1) falls on, among all."""
    n = guide.size
    trajectory: int = guide[min(int(uniform * n), n - 1)]
    while cumulative[trajectory] <= uniform:
        trajectory += 1
    return trajectory


@inlined
def is_available(held: Array, epoch: Array, counters: Array, trajectory: int, reuse: int) -> bool:
    """Held by no slot and, where trajectories are used once per epoch, not used in this one."""
    if held[trajectory] > 0:
        return False
    return reuse != EPOCH or epoch[trajectory] < counters[CURRENT_EPOCH]


@inlined
def note_change(changed: Array, counters: Array, trajectory: int, change: int) -> None:
    """A trajectory became available (1) or unavailable (-1)."""
    counters[AVAILABLE] += change
    count = counters[CHANGED]
    if count < changed.size:
        changed[count] = trajectory
    counters[CHANGED] = count + 1


@compiled
def draw_exactly(
    weights: Array, tree: Array, held: Array, epoch: Array, changed: Array, counters: Array, uniform: float, reuse: int
) -> int:
    """The trajectory that a uniform number in [0, 1) falls on, among the available ones."""
    count = counters[CHANGED]
    if count > changed.size:
        leaves = np.zeros(weights.size)
        for trajectory in range(weights.size):
            if is_available(held, epoch, counters, trajectory, reuse):
                leaves[trajectory] = weights[trajectory]
        fill_tree(tree, leaves)
    else:
        for trajectory in changed[:count]:
            available = is_available(held, epoch, counters, trajectory, reuse)
            set_leaf(tree, trajectory, weights[trajectory] if available else 0.0)
    counters[CHANGED] = 0
    return find_leaf(tree, uniform)


@compiled
def start_epoch(weights: Array, held: Array, changed: Array, counters: Array) -> None:
    """All trajectories that no slot holds become available again; the held ones will when their sweeps end."""
    counters[CURRENT_EPOCH] += 1
    for trajectory in range(weights.size):
        if held[trajectory] == 0 and weights[trajectory] > 0.0:
            note_change(changed, counters, trajectory, 1)


@inlined
def hold(held: Array, epoch: Array, changed: Array, counters: Array, trajectory: int, reuse: int) -> None:
    """A slot starts a sweep."""
    if is_available(held, epoch, counters, trajectory, reuse):
        note_change(changed, counters, trajectory, -1)
    held[trajectory] += 1
    if reuse == EPOCH:
        epoch[trajectory] = counters[CURRENT_EPOCH]


@inlined
def release(held: Array, epoch: Array, changed: Array, counters: Array, trajectory: int, reuse: int) -> None:
    """A slot's sweep has ended."""
    held[trajectory] -= 1
    if is_available(held, epoch, counters, trajectory, reuse):
        note_change(changed, counters, trajectory, 1)
