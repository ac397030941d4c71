"""The two loops of the memory: playing trajectories backward in slots, and recording what came back.

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

ALIKE = 0.9  # of the trajectories, with one length: nearly all of a batch is a single time step

# The most uniform numbers one slot can use in one step: the draw, and the place to start when staggered.
NUMBERS_PER_SLOT = TRIES + 2


class Slots(NamedTuple):
    """Where each slot stands; all (batch,)."""

    row: Array  # the row it plays next
    left: Array  # how many rows its sweep has left; 0: it needs a new trajectory
    trajectory: Array  # which one it plays; -1: none
    stagger: Array  # bool: its next sweep starts at a random place


def common_length(lengths: Array) -> int | None:
    """The length that at least `ALIKE` of several trajectories share: their sweeps start together and stay together."""
    found, counts = np.unique(lengths, return_counts=True)
    return int(found[counts.argmax()]) if len(lengths) > 1 and counts.max() >= ALIKE * len(lengths) else None


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
    """Fill the plan's steps from `begin` on, as far as the uniform numbers surely last.

    indices, fresh, trajectories: (steps, batch), filled in
    returns: the first step not filled, and how many numbers were used
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
    """What came back of the sweeps that are still open."""

    values: Array  # (rows,) the newest value of each row
    began: Array  # (batch,) the row each slot's sweep began with
    complete: Array  # (batch,) bool: a value came for every row of the sweep so far


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
    """Note one value per planned row; hand out the sweeps that ended, in the order in which they did.

    indices, fresh, trajectories, values: (steps, batch); a trajectory of -1 is gone and its values are dropped
    most_rows, most_sweeps: at least as many as end here
    returns: the ended sweeps' values one after another, their lengths, their trajectories, and how many sweeps ended
    with rows that never got a value
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
