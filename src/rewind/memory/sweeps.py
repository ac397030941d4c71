"""The two loops of trajectory replay: play trajectories backward in slots, and record the feedback for their rows.

step      slot 0   slot 1   slot 2
  0       A4*      B2*      C3*         A4: step 4 of trajectory A;  *: fresh, a sweep starts here
  1       A3       B1       C2
  2       A2       B0       C1
  3       A1       D5*      C0
  4       A0       D4       B2*
"""

from __future__ import annotations

from typing import NamedTuple

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

ALIKE = 0.9  # from this share of trajectories with one length on, most of a batch is a single time step

# Maximum of uniform numbers that one slot uses in one step: for the draw, and for the start if staggered.
NUMBERS_PER_SLOT = TRIES + 2


class Slots(NamedTuple):
    """The position of each slot; all (batch,)."""

    row: Array  # the row it plays next
    left: Array  # remaining rows of its sweep; 0: it needs a new trajectory
    trajectory: Array  # the trajectory it plays; -1: none
    stagger: Array  # bool: its next sweep starts at a random step


def common_length(lengths: Array) -> int | None:
    """The length that at least `ALIKE` of several trajectories share, so that their sweeps stay in step, or None."""
    values, counts = np.unique(lengths, return_counts=True)
    return int(values[counts.argmax()]) if len(lengths) > 1 and counts.max() >= ALIKE * len(lengths) else None


def make_slots(batch_size: int, stagger: bool) -> Slots:
    return Slots(
        row=np.zeros(batch_size, np.int64),
        left=np.zeros(batch_size, np.int64),
        trajectory=np.full(batch_size, -1, np.int64),
        stagger=np.full(batch_size, stagger),
    )


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
    row, left, playing, stagger = slots
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


class Recording(NamedTuple):
    """The feedback for sweeps that have not ended."""

    values: Array  # (rows,) the newest value of each row
    began: Array  # (batch,) the first row of each slot's sweep
    complete: Array  # (batch,) bool: every row of the sweep so far has a value


def make_recording(rows: int, batch_size: int) -> Recording:
    return Recording(np.zeros(rows, np.float32), np.zeros(batch_size, np.int64), np.zeros(batch_size, bool))


@compiled
def record(
    indices: Array,
    fresh: Array,
    trajectories: Array,
    values: Array,
    recording: Recording,
    starts: Array,
    most_rows: int,
    most_sweeps: int,
) -> tuple[Array, Array, Array, int]:
    """Record one value per planned row, and return the sweeps that ended, in order.

    indices, fresh, trajectories, values: (steps, batch); trajectory -1 was dropped, its values are ignored
    most_rows, most_sweeps: upper bounds for what ends here
    returns: the ended sweeps' values one after another, their lengths, their trajectories, and the number of sweeps
    that ended with rows without a value
    """
    steps, batch = indices.shape
    ended_values = np.empty(most_rows, np.float32)
    ended_lengths = np.empty(most_sweeps, np.int64)
    ended_trajectories = np.empty(most_sweeps, np.int64)
    filled, ended, incomplete = 0, 0, 0
    for step in range(steps):
        for slot in range(batch):
            row, trajectory = indices[step, slot], trajectories[step, slot]
            if trajectory < 0:
                recording.complete[slot] = False
                continue
            if fresh[step, slot]:
                recording.began[slot] = row
                recording.complete[slot] = True
            recording.values[row] = values[step, slot]
            if row > starts[trajectory]:
                continue
            if recording.complete[slot]:
                length = recording.began[slot] - row + 1
                ended_values[filled : filled + length] = recording.values[row : row + length]
                ended_lengths[ended] = length
                ended_trajectories[ended] = trajectory
                filled += length
                ended += 1
            else:
                incomplete += 1
            recording.complete[slot] = False
    return ended_values[:filled], ended_lengths[:ended], ended_trajectories[:ended], incomplete
