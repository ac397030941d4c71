"""The time of a table: gaps in it, the step of its episode that a row is, and the time limit of episodes."""

from typing import Any, NamedTuple

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
    if (cuts := int(np.count_nonzero(gaps))) > IRREGULAR * count:
        notes["irregular_time"] = "the steps of time vary, so that gaps cannot be seen"
        return None
    if cuts:
        ends[:-1] |= gaps
        notes["gaps"] = f"cut at {cuts:,} gaps in time"
    return tick


class Ends(NamedTuple):
    """(trajectories,) the step of its episode at which each ends, from 1; and whether the episode ends there too."""

    step: Array
    closing: Array


def ends_of_pieces(time: Array | None, ends: Array, resets: Array, tick: float | None) -> Ends:
    """Where in their episodes trajectories end. Where time is regular, missing rows count.

    If most episodes begin at the same time, one that begins later lacks its first rows.
    resets: (rows,) where episodes end
    """
    last = np.flatnonzero(ends)
    first = np.concatenate([[0], last[:-1] + 1])
    closing = resets[last]
    opening = np.flatnonzero(np.concatenate([[True], closing[:-1]]))
    missing = np.zeros(len(last), np.int64)  # rows before each piece
    if time is not None and tick:
        inner = np.flatnonzero(~closing[:-1]) + 1
        missing[inner] = _ticks(time[first[inner]] - time[last[inner - 1]], tick, 1) - 1
        begins, counts = np.unique(time[first[opening]], return_counts=True)
        if 2 * counts.max() > len(opening):
            missing[opening] = _ticks(time[first[opening]] - begins[counts.argmax()], tick, 0)
    step = last + 1 + np.cumsum(missing)
    step -= np.repeat(step[opening] - (last - first + 1 + missing)[opening], np.diff(opening, append=len(last)))
    return Ends(step, closing)


def _ticks(elapsed: Array, tick: float, least: int) -> Array:
    return np.clip(np.rint(elapsed / tick), least, 1 << 31).astype(np.int64)


def time_limit(lengths: Array) -> int | None:
    """The length of episodes that looks like a time limit."""
    values, counts = np.unique(lengths, return_counts=True)
    if len(values) < 2 or counts[-1] < max(FEWEST, SHARE * len(lengths), counts[:-1].max() + 1):
        return None
    return int(values[-1])
