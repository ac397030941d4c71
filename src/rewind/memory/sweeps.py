"""The loop of trajectory replay: slots play trajectories backward.

step      slot 0   slot 1   slot 2
  0       A4*      B2*      C3*         A4: step 4 of trajectory A;  *: fresh, a sweep starts here
  1       A3       B1       C2
  2       A2       B0       C1
  3       A1       D5*      C0
  4       A0       D4       B2*
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from rewind.arrays import Array
from rewind.compiled import compiled
from rewind.memory.pool import (
    AVAILABLE,
    COUNT,
    EPOCH,
    REPLACEMENT,
    START,
    TRIES,
    Pool,
    draw_exactly,
    hold,
    is_available,
    locate,
    release,
    start_epoch,
)
from rewind.table import counted

ALIKE = 0.9  # from this share of trajectories with one length on, most of a batch is a single time step

LONG = 100  # trajectories of one length with at least so many transitions keep a critic at one time step for long

# Maximum of uniform numbers that one slot uses in one step: for the draw, and for the start if staggered.
NUMBERS_PER_SLOT = TRIES + 2


class Slots(NamedTuple):
    """The position of each slot; all (batch,)."""

    row: Array  # the row it plays next
    left: Array  # remaining rows of its sweep; 0: it needs a new trajectory
    trajectory: Array  # the trajectory it plays; -1: none
    stagger: Array  # bool: its next sweep starts at a random step
    rows: Array  # number of rows of its sweep; this and the next are for other orders than backward alone
    key: Array  # of the permutation of its rows


def common_length(lengths: Array) -> int | None:
    """The length that at least `ALIKE` of several trajectories share, so that their sweeps stay in step, or None."""
    values, counts = np.unique(lengths, return_counts=True)
    return int(values[counts.argmax()]) if len(lengths) > 1 and counts.max() >= ALIKE * len(lengths) else None


def sweep_warnings(lengths: Array, batch_size: int, reuse: int, stagger: bool) -> Iterator[tuple[str, str]]:
    """Problems to expect from sweeps over trajectories with so many transitions: (kind, message)."""
    if batch_size > len(lengths) and reuse != REPLACEMENT:
        few = f"{batch_size} slots but only {counted(len(lengths), 'trajectory')} to play"
        yield "slots", f"{few}: some are played by several slots"
    common = common_length(lengths)
    if not stagger and batch_size > 1 and common is not None and common >= LONG:
        yield (
            "equal lengths",
            f"{np.mean(lengths == common):.0%} of the trajectories have {common:,} transitions, so that batches "
            "contain a single time step, which can make critics diverge; stagger=True (--stagger) spreads them",
        )


def make_slots(batch_size: int, stagger: bool, seed: int = 0) -> Slots:
    """seed: of the permutations of rows"""
    return Slots(
        row=np.zeros(batch_size, np.int64),
        left=np.zeros(batch_size, np.int64),
        trajectory=np.full(batch_size, -1, np.int64),
        stagger=np.full(batch_size, stagger),
        rows=np.zeros(batch_size, np.int64),
        key=(seed + np.arange(batch_size)) & 0xFFFFFFFF,
    )


def load_slots(state: Mapping[str, Any]) -> Slots:
    """The slots of a memory's state; an older one has no rows and no keys."""
    saved = {name: np.array(state[f"slots.{name}"]) for name in Slots._fields if f"slots.{name}" in state}
    return make_slots(int(state["batch_size"]), False)._replace(**saved)


@compiled
def play(
    begin: int,
    indices: Array,
    fresh: Array,
    trajectories: Array,
    slots: Slots,
    pool: Pool,
    uniforms: Array,
    cursor: int,
    reuse: int,
) -> tuple[int, int]:
    """Fill the plan's steps from `begin` on, while there are certainly enough uniform numbers.

    indices, fresh, trajectories: (steps, batch), filled in
    returns: the first step not filled, and the number of uniform numbers used
    """
    row, left, playing, stagger, _, _ = slots
    records, weights, cumulative, guide, tree, changed, counters = pool
    reserve = row.size * NUMBERS_PER_SLOT
    nobody = np.flatnonzero(left < 0)
    for step in range(begin, indices.shape[0]):
        if cursor + reserve > uniforms.size:
            return step, cursor
        finished = np.flatnonzero(left == 0) if left.min() == 0 else nobody
        for slot in finished:
            if playing[slot] >= 0:
                release(records, changed, counters, playing[slot], reuse)
        for slot in finished:
            if reuse == EPOCH and counters[AVAILABLE] == 0:
                start_epoch(records, weights, changed, counters)
            anything = reuse == REPLACEMENT or counters[AVAILABLE] == 0
            trajectory = -1
            for _ in range(TRIES):
                drawn = locate(cumulative, guide, uniforms[cursor])
                cursor += 1
                if anything or is_available(records, counters, drawn, reuse):
                    trajectory = drawn
                    break
            if trajectory < 0:
                uniform = uniforms[cursor]
                trajectory = draw_exactly(records, weights, tree, changed, counters, uniform, reuse)
                cursor += 1
            hold(records, changed, counters, trajectory, reuse)
            count = records[trajectory, COUNT]
            if stagger[slot]:
                count = 1 + int(uniforms[cursor] * count)
                cursor += 1
                stagger[slot] = False
            playing[slot] = trajectory
            left[slot] = count
            row[slot] = records[trajectory, START] + count - 1
            fresh[step, slot] = True
        indices[step] = row
        trajectories[step] = playing
        np.subtract(row, 1, row)
        np.subtract(left, 1, left)
    return indices.shape[0], cursor
