"""Where trajectories end in flat logged data.

    row             0   1   2   3   4   5   6   7   8   9
    terminals       0   0   0   1   1   1   0   0   0   0      3, 4, 5: at the goal
    timeouts        0   0   0   0   0   0   0   0   0   1
    is followed by  1   2   3   4   5   6   7   x   9   x      x: the start of another episode, after 7 without a flag

    flags          [0   1   2   3] [4] [5] [6   7   8   9]     terminals | timeouts
    flags+jump     [0   1   2   3] [4] [5] [6   7] [8   9]     and where the next row is not the successor
    ... merged     [0   1   2   3   4   5] [6   7] [8   9]     4 and 5 go to the success they follow
    timeouts_only  [0   1   2   3   4   5   6   7   8   9]     terminals end nothing

Whatever the rule, a row's reward, successor and terminal stay what the file says: rules decide which rows belong
together, so that targets do not depend on them. Merged rows therefore keep their terminals (`inner_terminals`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from rewind.arrays import Array
from rewind.data.checks import CHUNK_ROWS, check_finite, missing_columns, storage_array
from rewind.data.jumps import jumps
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError, unknown_name

Boundaries = Literal["flags", "flags+jump", "timeouts_only"]


def from_d4rl(
    data: Mapping[str, Any], name: str | None = None, *, boundaries: Boundaries = "flags", merge_fragments: bool = False
) -> Trajectories:
    """Trajectories from a D4RL-style dict: observations, actions, rewards, terminals, timeouts[, next_observations].

    boundaries:
        "flags": ends where `terminals` or `timeouts` says so; where both do, terminal wins. Without `timeouts`, but
            with `next_observations`, also where the next row is not the successor: that brings back the boundaries
            that D4RL's `qlearning_dataset` drops.
        "flags+jump": also where the next row is not the successor: by `next_observations` where they are there,
            otherwise by the size of the step (`rewind.data.jumps`). `timeouts` may be missing.
        "timeouts_only": ends at `timeouts`; terminals on the way are kept, but end no trajectory.
    merge_fragments: trajectories of one step that end in a terminal and go on from the row before them are joined to
        that row's trajectory
    """
    if boundaries not in get_args(Boundaries):
        raise unknown_name("boundaries", boundaries, get_args(Boundaries))
    log = _Log(data)
    ends, notes = _ends(log, boundaries)
    if merge_fragments:
        notes["merged_fragments"] = _merge(log, ends)
    log.check_chain(ends)
    last = np.flatnonzero(ends)
    return Trajectories(
        observations=log.observations,
        actions=log.actions,
        rewards=log.rewards,
        lengths=np.diff(last, prepend=-1),
        terminated=log.terminals[last],
        final_observations=log.observations[last] if log.successors is None else _take(log.successors, last),
        final_known=np.full(len(last), log.successors is not None),
        name=name,
        notes=notes,
        inner_terminals=log.terminals & ~ends,
    )


class _Log:
    """The checked columns. Successors may be an open file's: they are only read in pieces."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        flat = _required(data, ("observations", "actions", "rewards", "terminals"))
        self.observations, self.actions, self.rewards = flat["observations"], flat["actions"], flat["rewards"]
        rows = len(self.rewards)
        self.terminals = _flags(flat["terminals"], "terminals", rows)
        self.timeouts = _flags(data["timeouts"], "timeouts", rows) if "timeouts" in data else None
        self.successors: Any = data.get("next_observations")
        self.chained: Array | None = None  # (rows,) whether the next row's observation is this row's successor
        if self.successors is not None:
            if not hasattr(self.successors, "shape"):
                self.successors = storage_array("next_observations", self.successors)
            self.chained = _chained(self.observations, self.successors)

    @property
    def flagged(self) -> Array:
        return self.terminals if self.timeouts is None else self.terminals | self.timeouts

    @cached_property
    def breaks(self) -> Array:
        """(rows,) whether the next row is not the successor, as far as the data can tell."""
        return jumps(self.observations, self.flagged) if self.chained is None else ~self.chained

    def check_chain(self, ends: Array) -> None:
        """Inside a trajectory every row must lead to the next one: successors are not stored a second time."""
        if self.chained is None or (self.chained | ends).all():
            return
        check_finite(
            "observations", self.observations, np.diff(np.flatnonzero(ends), prepend=-1)
        )  # NaN chains to nothing
        broken = ~self.chained & ~ends
        row = int(np.argmax(broken))
        raise DataError(
            f"next_observations at row {row} is not the observation of row {row + 1}, though no flag ends a trajectory "
            f"there ({int(broken.sum()):,} such rows). To end trajectories at such breaks too: boundaries='flags+jump'"
        )


def _ends(log: _Log, boundaries: Boundaries) -> tuple[Array, dict[str, Any]]:
    """(rows,) where trajectories end, and what to remember of how that was found."""
    notes: dict[str, Any] = {"boundaries": boundaries}
    if boundaries == "timeouts_only":
        if log.timeouts is None:
            raise DataError("the data has no 'timeouts', so boundaries='timeouts_only' would end no trajectory")
        ends = log.timeouts.copy()
    elif boundaries == "flags+jump":
        ends = log.flagged | log.breaks
        notes["jumps"] = int(np.count_nonzero((ends & ~log.flagged)[:-1]))
        notes["jumps_found_by"] = "step size" if log.chained is None else "next_observations"
    elif log.timeouts is not None:
        ends = log.flagged
    elif log.chained is not None:
        ends = log.terminals | ~log.chained
        notes["boundaries"] = "terminals and breaks in next_observations"
    else:
        raise DataError(
            "the data has neither 'timeouts' nor 'next_observations', so nobody can tell where its trajectories end; "
            "add 'timeouts' (all False if every trajectory ends with a terminal), or look for jumps in the "
            "observations: boundaries='flags+jump'"
        )
    ends[-1] = True
    return ends, notes


def _merge(log: _Log, ends: Array) -> int:
    """Join one-step successes to what they follow, in place; how many there were.

    A success that begins after a reset follows nothing: it stays a trajectory of its own, and a run of them joins it.
    """
    last = np.flatnonzero(ends)
    alone = last[(np.diff(last, prepend=-1) == 1) & log.terminals[last]]
    before = alone[alone > 0] - 1
    before = before[~log.breaks[before]]
    ends[before] = False
    return len(before)


def _required(data: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Array]:
    missing = [key for key in keys if key not in data]
    if missing:
        raise missing_columns(missing, data)
    flat = {key: storage_array(key, data[key]) for key in keys}
    rows = len(flat["rewards"])
    if rows == 0:
        raise DataError("the data is empty: expected at least one trajectory with at least one step")
    for key, array in flat.items():
        if len(array) != rows:
            raise DataError(f"{key} has {len(array):,} rows, but rewards has {rows:,}")
    return flat


def _flags(value: object, name: str, rows: int) -> Array:
    flags = np.asarray(value)
    if flags.shape not in ((rows,), (rows, 1)):
        raise DataError(f"{name} has shape {flags.shape}; expected ({rows},), one flag per row")
    flags = flags.reshape(rows)
    if flags.dtype == bool:
        return flags
    wrong = (flags != 0) & (flags != 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"{name} is {flags[row]} at row {row}; expected 0 or 1")
    return flags.astype(bool)


def _chained(observations: Array, successors: Any) -> Array:
    if successors.shape != observations.shape:
        raise DataError(f"next_observations has shape {successors.shape}; expected {observations.shape}")
    chained = np.zeros(len(observations), dtype=bool)
    for begin in range(0, len(observations) - 1, CHUNK_ROWS):
        rows = slice(begin, min(begin + CHUNK_ROWS, len(observations) - 1))
        after = observations[rows.start + 1 : rows.stop + 1].reshape(rows.stop - rows.start, -1)
        given = storage_array("next_observations", successors[rows]).reshape(after.shape)
        equal = (given == after).all(axis=1)
        given, after = given[~equal], after[~equal]
        # NaN is no break: the checks of Trajectories report it as what it is.
        equal[~equal] = ((given == after) | ((given != given) & (after != after))).all(axis=1)
        chained[rows] = equal
    return chained


def _take(successors: Any, rows: Array) -> Array:
    """The successors at these rows, which ascend; a file gives pieces far faster than single rows."""
    parts = []
    for begin in range(0, len(successors), CHUNK_ROWS):
        chosen = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, begin + CHUNK_ROWS)]
        if chosen.size:
            piece = successors[begin : int(chosen[-1]) + 1]
            parts.append(storage_array("next_observations", piece[chosen - begin]))
    return np.concatenate(parts)
