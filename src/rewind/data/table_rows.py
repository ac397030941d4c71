"""From the rows of a table to trajectories. The rules:

unsorted      rows are sorted by episode and time. Without a time their order is that of the file
episodes      keep the order of their first rows. Without an episode column a trajectory ends at a flag, where the
              time goes back, or where the next row is not the successor
ends          a `truncated` ends a trajectory. One whose last row is not terminal was cut: a time-out
terminal      before the last row of its episode: an inner terminal, and the trajectory continues
done          does not tell terminals from time-outs. Without `truncated`, it is a time-out in episodes of the longest
              length, if at least 3 episodes and a tenth of all have it, more than any other length, and not all;
              `horizon` decides otherwise. The length of an episode counts rows that are missing before its last one
duplicates    rows with the same episode and time: equal ones are dropped, different ones are an error
gaps          if 90% of the steps of time are regular (at most 1.5 times the median), the others cut a trajectory
missing       an empty flag is False. A last row without actions and reward is the final observation of its
              trajectory; without a next observation, that is unknown; any other missing value is an error
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.boundaries import follows, note_doubt
from rewind.data.columns import DONES, ColumnMap
from rewind.data.flags import split_terminals
from rewind.data.table_order import sorting_order
from rewind.data.table_time import Ends, cut_gaps, ends_of_pieces, time_limit
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError, warn

NO_EPISODE = "no episode column: "  # begins the rule of a table without one
MISSING = np.iinfo(np.int64).min  # a discrete action that is not there


@dataclass
class TableRows:
    """The columns of a table, each (rows, ...), in the order of the file unless `order` says otherwise.

    episode: numbers of episodes, in the order of their first rows
    unfinished: numbers of the rows in which an action or the reward is missing
    unknown: numbers of the rows in which a next observation is missing
    order: the file's row of each row, None as long as they are the same
    """

    observations: Array
    actions: Array
    rewards: Array
    unfinished: Array
    unknown: Array
    next_observations: Array | None = None
    episode: Array | None = None
    time: Array | None = None
    terminals: Array | None = None
    truncated: Array | None = None
    order: Array | None = None
    extras: dict[str, Array] = field(default_factory=dict)

    def take(self, rows: Array) -> None:
        """Keep these rows, in this order. One column at a time: there is never a second copy of all."""
        if self.order is None:
            self.order = np.arange(len(self.rewards))
        for name, column in vars(self).items():
            if name in ("unfinished", "unknown"):
                setattr(self, name, np.flatnonzero(np.isin(rows, column)) if column.size else column)
            elif name != "extras" and column is not None:
                setattr(self, name, column[rows])
        for name, column in self.extras.items():
            self.extras[name] = column[rows]


def assemble(rows: TableRows, columns: ColumnMap, place: Callable[[int], str], name: str | None) -> Trajectories:
    """The trajectories of a table. place: where a row of the file stands, for errors"""

    def where(row: int) -> str:
        return place(int(row if rows.order is None else rows.order[row]))

    named = [name for name in (columns.terminal, columns.truncated, columns.time) if name]
    rule = f"column {columns.episode}" if columns.episode else NO_EPISODE + " and ".join(named)
    notes: dict[str, Any] = {"boundaries": rule}
    _sort(rows, notes)
    _drop_duplicates(rows, notes, where)
    ends, places = _ends(rows, columns, notes, where)
    ends, places, finals = _pop_finals(rows, ends, places, _final_rows(rows, ends, columns, where), notes)
    rows.episode = rows.time = None  # memory for what comes
    last = np.flatnonzero(ends)
    terminals = np.zeros(len(ends), bool) if rows.terminals is None else rows.terminals
    if _split_dones(terminals, last, places, rows.truncated, columns, notes):
        warn(f"{name}: {notes['dones']}")
    final_observations, final_known = _final_observations(rows, last, finals)
    data = Trajectories(
        observations=rows.observations,
        actions=rows.actions,
        rewards=rows.rewards,
        lengths=np.diff(last, prepend=-1),
        **split_terminals(terminals, last),
        final_observations=final_observations,
        final_known=final_known,
        name=name,
        notes=notes,
        extras=rows.extras,
    )
    if columns.horizon is None and (rows.truncated is None or not rows.truncated.any()):
        note_doubt(data, name)
    return data


def _sort(rows: TableRows, notes: dict[str, Any]) -> None:
    """A file whose episodes and times were read first comes sorted, and knows its order."""
    if rows.order is None and rows.episode is not None:
        order = sorting_order(rows.episode, rows.time)
        if order is not None:
            rows.take(order)
    if rows.order is not None:
        moved = np.count_nonzero(rows.order != np.arange(len(rows.order), dtype=rows.order.dtype))
        notes["sorted"] = f"{moved:,} rows were not in order"


def _drop_duplicates(rows: TableRows, notes: dict[str, Any], where: Callable[[int], str]) -> None:
    if rows.episode is None or rows.time is None:
        return
    again = (rows.episode[1:] == rows.episode[:-1]) & (rows.time[1:] == rows.time[:-1])
    if not again.any():
        return
    second = np.flatnonzero(again) + 1
    same = np.ones(len(second), bool)
    compared = (rows.observations, rows.actions, rows.rewards, rows.next_observations, rows.terminals, rows.truncated)
    for column in (*compared, *rows.extras.values()):
        if column is not None:
            one, other = column[second - 1].reshape(len(second), -1), column[second].reshape(len(second), -1)
            same &= ((one == other) | ((one != one) & (other != other))).all(axis=1)
    if not same.all():
        row = int(second[np.argmin(same)])
        raise DataError(
            f"{where(row)}: the same episode and time as {where(row - 1).rpartition(', ')[2]}, but other values; "
            "expected one row for each step"
        )
    notes["duplicates"] = f"{len(second):,} equal rows dropped"
    keep = np.ones(len(rows.rewards), bool)
    keep[second] = False
    rows.take(np.flatnonzero(keep))


def _ends(
    rows: TableRows, columns: ColumnMap, notes: dict[str, Any], where: Callable[[int], str]
) -> tuple[Array, Ends]:
    """(rows,) where trajectories end, and where in their episodes that is."""
    ends = np.zeros(len(rows.rewards), bool)
    if rows.truncated is not None:
        ends |= rows.truncated
    if rows.episode is not None:
        ends[:-1] |= rows.episode[1:] != rows.episode[:-1]
    else:
        if rows.terminals is not None:
            ends |= rows.terminals
        if rows.time is not None:
            ends[:-1] |= rows.time[1:] <= rows.time[:-1]
    ends[-1] = True
    resets = ends.copy()
    tick = None if rows.time is None else cut_gaps(rows.time, ends, notes)
    if rows.next_observations is not None:
        _check_unknown(rows, rows.next_observations, ends, columns, where)
        breaks = ~follows(rows.observations, rows.next_observations) & ~ends
        if breaks.any():
            notes["breaks"] = f"cut at {int(breaks.sum()):,} rows whose next observation is not the next row's"
            ends |= breaks
    return ends, ends_of_pieces(rows.time, ends, ends if rows.episode is None else resets, tick)


def _check_unknown(
    rows: TableRows, successors: Array, ends: Array, columns: ColumnMap, where: Callable[[int], str]
) -> None:
    """Only a trajectory's last row may lack its next observation."""
    inside = rows.unknown[~ends[rows.unknown]]
    if inside.size:
        names = columns.next_observations or ()
        name = names[int(np.argmin(np.isfinite(successors[inside[0]]))) % len(names)]
        raise DataError(
            f"{where(inside[0])}, column {name}: missing, NaN or infinite; expected a number: fill it in. Only the "
            "last row of an episode may lack its next observation"
        )


def _final_rows(rows: TableRows, ends: Array, columns: ColumnMap, where: Callable[[int], str]) -> Array:
    """The rows that only hold the final observation of a trajectory."""
    unfinished = np.unique(rows.unfinished)
    if not unfinished.size:
        return unfinished
    absent = rows.actions[unfinished].reshape(len(unfinished), -1)
    absent = ~np.isfinite(absent) if absent.dtype.kind == "f" else absent == MISSING
    no_reward = ~np.isfinite(rows.rewards[unfinished])
    changes = ends[:-1] if rows.episode is None else rows.episode[1:] != rows.episode[:-1]
    starts = np.concatenate([[True], changes])
    final = absent.all(axis=1) & no_reward & ends[unfinished] & ~starts[unfinished]
    if not final.all():
        at = int(np.argmin(final))
        names = columns.actions or ()
        action = names[int(np.argmax(absent[at])) % len(names)]
        raise DataError(
            f"{where(unfinished[at])}, column {columns.reward if no_reward[at] else action}: missing, NaN or infinite; "
            "expected a number. Only the last row of an episode may have neither actions nor reward"
        )
    return unfinished


def _pop_finals(
    rows: TableRows, ends: Array, places: Ends, finals: Array, notes: dict[str, Any]
) -> tuple[Array, Ends, tuple[Array, Array]]:
    """Take out final rows: the ends without them, and (the rows before them, their observations)."""
    observations = rows.observations[finals]
    if not finals.size:
        return ends, places, (finals, observations)
    before = finals - 1
    pieces = np.searchsorted(np.flatnonzero(ends), finals)
    alone = ends[before]
    near = ~alone | places.closing[pieces - 1]  # what comes after a gap is not the next observation
    places.step[pieces] -= 1
    places = Ends(np.delete(places.step, pieces[alone]), np.delete(places.closing, pieces[alone]))
    ends[before] = True
    for flags in (rows.terminals, rows.truncated):
        if flags is not None:
            flags[before] |= flags[finals] & near
    kept = np.delete(np.arange(len(ends)), finals)
    rows.take(kept)
    notes["final_rows"] = f"{len(finals):,} rows without actions and reward are final observations"
    return ends[kept], places, ((before - np.arange(len(finals)))[near], observations[near])


def _split_dones(
    terminals: Array, last: Array, places: Ends, truncated: Array | None, columns: ColumnMap, notes: dict[str, Any]
) -> bool:
    """Dones that are time-outs, by their own column or by the time limit, are no terminals any more, in place.

    Returns whether the limit was guessed.
    """
    only_done = (columns.terminal or "").lower() in DONES
    if truncated is not None and only_done:
        terminals[last] &= ~truncated[last]
    limit = columns.horizon
    guessed = limit is None and truncated is None and only_done
    if guessed:
        limit = time_limit(places.step[places.closing])
    cut = last[terminals[last] & (places.step == limit)] if limit else last[:0]
    if not cut.size:
        return False
    terminals[cut] = False
    notes["dones"] = f"{len(cut):,} dones at step {limit:,} are taken for time-outs"
    if guessed:
        notes["dones"] += f": the longest length is the most frequent. horizon={limit} if that is right, 0 if not"
    return guessed


def _final_observations(rows: TableRows, last: Array, finals: tuple[Array, Array]) -> tuple[Array, Array]:
    """The observations after the last rows, and whether they are known."""
    observations, known = rows.observations[last], np.zeros(len(last), bool)
    if rows.next_observations is not None:
        successors = rows.next_observations[last]
        known = np.asarray(np.isfinite(successors.reshape(len(successors), -1)).all(axis=1))
        observations[known] = successors[known]
    at = np.searchsorted(last, finals[0])
    observations[at], known[at] = finals[1], True
    return observations, known
