"""Find where trajectories end in flat logged data.

    row             0   1   2   3   4   5   6   7   8   9
    terminals       0   0   0   1   1   1   0   0   0   0      3, 4, 5: at the goal
    timeouts        0   0   0   0   0   0   0   0   0   1
    is followed by  1   2   3   4   5   6   7   x   9   x      x: the start of another episode, after 7 without a flag

    flags          [0   1   2   3] [4] [5] [6   7   8   9]     terminals | timeouts
    flags+jump     [0   1   2   3] [4] [5] [6   7] [8   9]     and where the next row is not the successor
    ... merged     [0   1   2   3   4   5] [6   7] [8   9]     4 and 5 join the success before them
    timeouts_only  [0   1   2   3   4   5   6   7   8   9]     terminals do not end a trajectory

A rule only decides which rows form a trajectory. A row's reward, successor and terminal come from the file, so one-step
targets are the same under every rule. Merged rows keep their terminals (`inner_terminals`).
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from rewind.arrays import Array
from rewind.data.flags import FLAGS, read_flags, split_terminals
from rewind.data.parts import each_part, find_parts, named_parts, shown, storage_array, storage_parts
from rewind.data.trajectories import CHUNK_ROWS, Trajectories, check_finite, check_lengths
from rewind.errors import DataError, unknown_name, warn

Boundaries = Literal["flags", "flags+jump", "timeouts_only"]

USED = ("observations", "actions", "rewards", "next_observations", "lengths", "extras", *FLAGS)

# Detection of jumps from the size of steps
FEWEST_STEPS = 1_000  # with fewer steps, there are too few large ones to estimate the limit
SAMPLE = 100_000  # maximum number of rows from which quantiles are estimated
TAIL = (0.95, 0.99)  # quantiles of a column's steps from which its largest steps are extrapolated
FALSE_ALARMS = 0.1  # expected per data set
SMOOTH = 0.1  # maximum share of a column's range that an ordinary large step may cover


def from_d4rl(
    data: Mapping[str, Any],
    name: str | None = None,
    *,
    boundaries: Boundaries | None = None,
    merge_fragments: bool = False,
    extras: Sequence[str] = (),
) -> Trajectories:
    """Trajectories from a D4RL-style dict: observations, actions, rewards, terminals, timeouts[, next_observations].

    Flags have any of the names in `rewind.data.flags`. `dones` needs one of the two beside it. Observations may be a
    dict of arrays, or arrays named "observations/key".

    boundaries: "flags" by default. Data with `lengths`, one per trajectory, needs none; its flags may then be one per
        trajectory too, and without any all its trajectories were cut
        "flags": a trajectory ends at `terminals` or `timeouts`; if both are set, the terminal takes precedence.
            Without `timeouts` but with `next_observations`, it also ends where the next row is not the successor,
            which restores the boundaries that D4RL's `qlearning_dataset` drops.
        "flags+jump": it also ends where the next row is not the successor, according to `next_observations` if the
            data has them, otherwise to the size of the step (`jumps`). `timeouts` may be missing.
        "timeouts_only": it ends at `timeouts`; earlier terminals are kept but do not end it.
    merge_fragments: join a trajectory of one step that ends in a terminal and continues the row before it to
        that row's trajectory
    extras: further columns to keep, one entry per row; those in a dict `extras` of the data are kept anyway
    """
    if boundaries not in (None, *get_args(Boundaries)):
        raise unknown_name("boundaries", boundaries, get_args(Boundaries))
    log = _Log(data, by_lengths="lengths" in data and boundaries is None and not merge_fragments)
    ends, notes = _ends(log, boundaries or "flags")
    if merge_fragments:
        notes["merged_fragments"] = _merge(log, ends)
    log.check_chain(ends)
    last = np.flatnonzero(ends)
    if unused := sorted(str(key) for key in data if key not in extras and str(key).partition("/")[0] not in USED):
        notes["not_used"] = unused
    recorded = log.successors is not None
    trajectories = Trajectories(
        **log.columns,
        lengths=np.diff(last, prepend=-1),
        **split_terminals(log.terminals, last),
        final_observations=each_part(lambda part: _take(part, last), log.successors if recorded else log.observations),
        final_known=np.full(len(last), recorded),
        name=name,
        notes=notes,
        extras=extra_columns(data, extras),
    )
    if log.timeouts is None or not log.timeouts.any():
        note_doubt(trajectories, name or "the data")
    return trajectories


def note_doubt(data: Trajectories, name: object) -> None:
    """Note, and warn, that terminals look like time-outs, for data that has none; fewer than 4 may agree by chance."""
    cut = bool(data.lengths[-1] < data.lengths[0]) and not data.terminated[-1]  # the log ends inside its last one
    lengths = data.lengths[: len(data) - cut]
    if len(lengths) < 4 or lengths[0] < 2 or not data.terminated[: len(lengths)].all() or np.ptp(lengths):
        return
    data.notes["doubt"] = (
        f"all {len(lengths):,} trajectories{' before the last' * cut} end with a terminal at step {lengths[0]:,}, and "
        "nothing says time-out; if this is a time limit, mark them as timeouts (for a table: horizon), or the critic "
        "learns that nothing follows"
    )
    warn(f"{name}: {data.notes['doubt']}")


def extra_columns(data: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The columns under `extras`, and those of these names."""
    if missing := [name for name in names if name not in data]:
        raise missing_columns(missing, data)
    return dict(find_parts(data, "extras") or {}) | {name: data[name] for name in names}


class _Log:
    """The checked columns. Successors may be a column of an open file: they are read in chunks."""

    def __init__(self, data: Mapping[str, Any], by_lengths: bool) -> None:
        self.columns = required(data, ("observations", "actions", "rewards"))
        self.observations, rows = self.columns["observations"], len(self.columns["rewards"])
        self.last = np.cumsum(check_lengths(data["lengths"], rows)) - 1 if by_lengths else None
        terminals, self.timeouts = read_flags({name: data[name] for name in FLAGS if name in data}, rows, self.last)
        if terminals is None and (self.timeouts is not None or not by_lengths):
            raise missing_columns(["terminals"], data)
        self.terminals: Array = np.zeros(rows, bool) if terminals is None else terminals
        self.flagged = self.terminals if self.timeouts is None else self.terminals | self.timeouts
        self.successors: Any = find_parts(data, "next_observations")
        self.chained: Array | None = None  # (rows,) is the next row's observation this row's successor
        if self.successors is not None:
            if not hasattr(self.successors, "shape"):
                self.successors = storage_parts("next_observations", self.successors)
            observations, successors = (named_parts("", of) for of in (self.observations, self.successors))
            if list(observations) != list(successors):
                given, expected = shown(self.successors), shown(self.observations)
                raise DataError(f"next_observations are {given}; expected {expected}, like the observations")
            self.chained = np.logical_and.reduce([follows(observations[key], successors[key]) for key in observations])

    @cached_property
    def breaks(self) -> Array:
        """(rows,) whether the next row is not the successor, as far as the data shows."""
        if self.chained is not None:
            return ~self.chained
        parts = named_parts("", self.observations).values()
        return np.asarray(np.logical_or.reduce([jumps(part, self.flagged) for part in parts]))

    def check_chain(self, ends: Array) -> None:
        """Check that inside a trajectory the next row is the successor, since successors are not stored."""
        if self.chained is None or (self.chained | ends).all():
            return
        lengths = np.diff(np.flatnonzero(ends), prepend=-1)
        for name, part in named_parts("observations", self.observations).items():
            check_finite(name, part, lengths)  # NaN equals nothing, so it breaks the chain
        broken = ~self.chained & ~ends
        row = int(np.argmax(broken))
        hint = ". To end trajectories at such breaks too: boundaries='flags+jump'" if self.last is None else ""
        raise DataError(
            f"next_observations at row {row} is not the observation of row {row + 1}, though no "
            f"{'flag' if self.last is None else 'length'} ends a trajectory there "
            f"({int(broken.sum()):,} such rows){hint}"
        )


def _ends(log: _Log, boundaries: Boundaries) -> tuple[Array, dict[str, Any]]:
    """(rows,) where trajectories end, and notes on how that was found."""
    notes: dict[str, Any] = {"boundaries": boundaries}
    if log.last is not None:
        ends = np.zeros(len(log.terminals), bool)
        ends[log.last] = True
        notes["boundaries"] = "lengths"
        if log.timeouts is not None and (inside := log.timeouts & ~ends).any():
            raise DataError(f"a time-out at row {np.argmax(inside)}, inside a trajectory according to lengths")
    elif boundaries == "timeouts_only":
        if log.timeouts is None:
            raise DataError("the data has no 'timeouts', so boundaries='timeouts_only' finds no boundaries")
        ends = log.timeouts.copy()
    elif boundaries == "flags+jump":
        ends = log.flagged | log.breaks
        notes["jumps"] = int(np.count_nonzero((ends & ~log.flagged)[:-1]))
        notes["jumps_found_by"] = "step size" if log.chained is None else "next_observations"
    elif log.timeouts is not None:
        ends = log.flagged.copy()
    elif log.chained is not None:
        ends = log.terminals | ~log.chained
        notes["boundaries"] = "terminals and breaks in next_observations"
    else:
        raise DataError(
            "the data has neither 'timeouts' nor 'next_observations', so the ends of its trajectories are unknown; "
            "add 'timeouts' (all False if every trajectory ends with a terminal), or look for jumps in the "
            "observations: boundaries='flags+jump'"
        )
    ends[-1] = True
    return ends, notes


def _merge(log: _Log, ends: Array) -> int:
    """Join one-step successes to the trajectory before them, in place, and return their number.

    A one-step success after a reset stays a separate trajectory; the successes that follow join it.
    """
    last = np.flatnonzero(ends)
    before = last[(np.diff(last, prepend=-1) == 1) & log.terminals[last] & (last > 0)] - 1
    before = before[~log.breaks[before]]
    ends[before] = False
    return len(before)


def required(data: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """These columns, which must have the same number of rows."""
    columns = {key: find_parts(data, key) for key in keys}
    if missing := [key for key, value in columns.items() if value is None]:
        raise missing_columns(missing, data)
    flat = {key: (storage_parts if key == "observations" else storage_array)(key, columns[key]) for key in keys}
    rows = len(flat["rewards"])
    if rows == 0:
        raise DataError("the data is empty: expected at least one trajectory with at least one step")
    for key, value in flat.items():
        for part, array in named_parts(key, value).items():
            if len(array) != rows:
                raise DataError(f"{part} has {len(array):,} rows, but rewards has {rows:,}")
    return flat


def missing_columns(missing: list[str], present: Iterable[object]) -> DataError:
    """The error for flat data without some columns."""
    hint = ""
    if missing == ["terminals"]:
        hint = ": terminals are True where an episode really ended (all False if none did), timeouts where it was cut"
    columns = ", ".join(sorted(map(str, present))) or "nothing"
    return DataError(f"missing {', '.join(missing)}; the data has: {columns}{hint}")


def follows(observations: Array, successors: Any) -> Array:
    """(rows,) whether the next row's observation is this row's successor; the last row has none."""
    if successors.shape != observations.shape:
        raise DataError(f"next_observations has shape {successors.shape}; expected {observations.shape}")
    chained = np.zeros(len(observations), dtype=bool)
    for begin in range(0, len(observations) - 1, CHUNK_ROWS):
        rows = slice(begin, min(begin + CHUNK_ROWS, len(observations) - 1))
        following = observations[rows.start + 1 : rows.stop + 1].reshape(rows.stop - rows.start, -1)
        successor = np.asarray(storage_array("next_observations", successors[rows])).reshape(following.shape)
        equal = (successor == following).all(axis=1)
        successor, following = successor[~equal], following[~equal]
        # NaN is not a break: the checks of Trajectories report it.
        both_nan = (successor != successor) & (following != following)
        equal[~equal] = ((successor == following) | both_nan).all(axis=1)
        chained[rows] = equal
    return chained


def _take(successors: Any, rows: Array) -> Array:
    """What stands at these ascending rows; chunks of a file are read far faster than single rows."""
    parts = []
    for begin in range(0, len(successors), CHUNK_ROWS):
        chosen = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, begin + CHUNK_ROWS)]
        if chosen.size:
            piece = successors[begin : int(chosen[-1]) + 1]
            parts.append(storage_array("next_observations", piece[chosen - begin]))
    return np.concatenate(parts)


def jumps(observations: Array, ends: Array) -> Array:
    """(rows,) whether the step to the next row is too large to be an ordinary one; always False for the last row.

    Only smooth columns can show jumps: those where 99% of the steps cover at most a tenth of the column's range.
    Positions are smooth; velocities are not, because a foot that hits the ground changes them at once. The largest
    ordinary step of a smooth column is extrapolated from its 95% and 99% quantiles by a power law,

        size exceeded by a share p of the steps  =  q99 * (0.01 / p) ** g,   g = log(q99 / q95) / log 5,

    at the p for which one data set in ten has one false alarm, and is at least 2 * q99. A power law has a heavy
    tail, so the limit errs towards missing jumps. Resets that move less than ordinary steps cannot be detected.

    ends: (rows,) steps known to end a trajectory; they are not ordinary steps
    """
    flat = np.asarray(observations).reshape(len(observations), -1)
    jumped = np.zeros(len(flat), dtype=bool)
    ordinary = ~ends[:-1]
    steps = int(np.count_nonzero(ordinary))
    if steps < FEWEST_STEPS:
        return jumped
    share = FALSE_ALARMS / (steps * flat.shape[1])
    sample = np.arange(0, len(ordinary), 1 + len(ordinary) // SAMPLE)
    sample = sample[ordinary[sample]]
    limits = np.array([_limit(column[sample], column[sample + 1], share) for column in flat.T])
    for begin in range(0, len(ordinary), CHUNK_ROWS):
        piece = flat[begin : begin + CHUNK_ROWS + 1]
        jumped[begin : begin + len(piece) - 1] = (_sizes(piece[:-1], piece[1:]) > limits).any(axis=1)
    return jumped


def _sizes(before: Array, after: Array) -> Array:
    return np.abs(np.subtract(after, before, dtype=np.float32))


def _limit(before: Array, after: Array, share: float) -> float:
    """The size that no ordinary step of this column reaches; infinite if the column is not smooth."""
    low, high = map(float, np.quantile(_sizes(before, after), TAIL))
    smallest, largest = map(float, np.quantile(before, (1 - TAIL[1], TAIL[1])))
    if low <= 0 or high > SMOOTH * (largest - smallest):
        return float("inf")
    exponent = np.log(high / low) / np.log((1 - TAIL[0]) / (1 - TAIL[1]))
    return float(high * max(2.0, ((1 - TAIL[1]) / share) ** exponent))
