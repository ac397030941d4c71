"""The time of a table: gaps in it, the step of its episode that a row is, and the time limit of episodes."""

from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.boundaries import SAMPLE

GAP, IRREGULAR = 1.5, 0.1
FEWEST, SHARE = 3, 0.1  # of the episodes, to take their length for a time limit


def cut_gaps(time: Array, ends: Array, notes: dict[str, Any]) -> float | None:
    """End trajectories at gaps, in place; and the regular step of time, None where there is none."""
    inside = ~ends[:-1]
    count = int(np.count_nonzero(inside))
    if not count:
        return None
    steps = np.diff(time)
    sample = steps[:: 1 + len(steps) // SAMPLE][inside[:: 1 + len(steps) // SAMPLE]]
    tick = float(np.median(sample if sample.size else steps[inside]))
    gaps = steps > GAP * tick
    gaps &= inside
    if (found := int(np.count_nonzero(gaps))) > IRREGULAR * count:
        notes["irregular_time"] = "the steps of time vary, so that gaps cannot be seen"
        return None
    if found:
        ends[:-1] |= gaps
        notes["gaps"] = f"cut at {found:,} gaps in time"
    return tick


def steps_of_episodes(time: Array | None, ends: Array, resets: Array, tick: float | None) -> Array:
    """(rows,) the step of its episode that each row is, from 1. Where time is regular, missing rows count.

    If most episodes begin at the same time, one that begins later lacks its first rows.
    """
    step = np.ones(len(ends), np.int64)
    first = np.flatnonzero(np.concatenate([[True], resets[:-1]]))
    if time is not None and tick:
        after = np.flatnonzero(ends & ~resets) + 1
        step[after] = _ticks(time[after] - time[after - 1], tick, 1)
        begins, counts = np.unique(time[first], return_counts=True)
        if 2 * counts.max() > len(first):
            step[first] += _ticks(time[first] - begins[counts.argmax()], tick, 0)
    late = step[first]
    np.cumsum(step, out=step)
    step -= np.repeat(step[first] - late, np.diff(first, append=len(ends)))
    return step


def _ticks(elapsed: Array, tick: float, least: int) -> Array:
    return np.clip(np.rint(elapsed / tick), least, 1 << 31).astype(np.int64)


def time_limit(lengths: Array) -> int | None:
    """The length of episodes that looks like a time limit."""
    values, counts = np.unique(lengths, return_counts=True)
    if len(values) < 2 or counts[-1] < max(FEWEST, SHARE * len(lengths), counts[:-1].max() + 1):
        return None
    return int(values[-1])
