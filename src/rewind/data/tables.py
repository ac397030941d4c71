"""Trajectories from tables, a row for each step: CSV and Parquet files, read by pyarrow.

A file is read in pieces straight into its final arrays, so that no second copy of it is held. If it is not sorted, its
episodes and times are read first: then each row has its place (`table_order`). Which column is what: `columns`. What
becomes of gaps and flags: `table_rows`. Line and column of an error: `table_files`.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.columns import ColumnMap, column_map, resolve
from rewind.data.table_files import EMPTY, TableFiles, WrongType
from rewind.data.table_order import Unsorted, in_order, sorting_order
from rewind.data.table_rows import MISSING, TableRows, assemble
from rewind.data.trajectories import CHUNK_ROWS, Trajectories
from rewind.errors import DataError, reading, warn

TRUE, FALSE = ("true", "t", "yes", "y", "1", "1.0"), ("false", "f", "no", "n", "0", "0.0")


def load_table(
    path: str | os.PathLike[str], *, name: str | None = None, map: Any = None, **columns: Any
) -> Trajectories:
    """Trajectories from a CSV or Parquet file with a row for each step.

    map: a mapping file (`rewind inspect --write-map`), or a dict with the same content
    columns: episode, time, observations, actions, reward, terminal, truncated, next_observations, horizon, discrete,
        extras, as in `ColumnMap`. What is not named is guessed, and a warning says how
    """
    path = Path(path).expanduser()
    wanted = column_map(map, **columns)
    with reading(path, "is not a readable table (cut or damaged)"):
        files = TableFiles([path])
        resolved, guesses = resolve(wanted, files.names)
        if guesses:
            guessed = ", ".join(f"{role}={_short(value)}" for role, value in guesses.items())
            unused = [column for column in files.names if column not in resolved.used()]
            rest = f" (not used: {_short(unused)})" if unused else ""
            edit = "name them if that is wrong, or edit what rewind inspect --write-map writes"
            warn(f"{path}: guessed {guessed}{rest}; {edit}")
        rows, episodes = read_rows(files, resolved)
        if guesses.get("episode", "").lower() == "id" and 1 < len(episodes) == len(rows.rewards):
            what = "guessed as the episode, is different in every row"
            raise DataError(
                f"column {resolved.episode}, {what}: name another one (episode=...), or episode='' for none"
            )
        data = to_trajectories(rows, files, resolved, name or path.stem)
        _note_whole(data, resolved)
        return data


def to_trajectories(rows: TableRows, files: TableFiles, columns: ColumnMap, name: str | None) -> Trajectories:
    """The trajectories of the rows of a table."""
    data = assemble(rows, columns, files.place, name)
    data.notes["columns"] = columns.record()
    if unused := [column for column in files.names if column not in columns.used()]:
        data.notes["not_used"] = unused
    return data


def _note_whole(data: Trajectories, columns: ColumnMap) -> None:
    """Note that actions look discrete, but are not taken as such: a few of them, or their type, are floats."""
    if columns.discrete is not None or data.actions.dtype.kind != "f":
        return
    pieces = (data.actions[begin : begin + CHUNK_ROWS] for begin in range(0, len(data.actions), CHUNK_ROWS))
    whole = sum(int(np.count_nonzero(piece == np.rint(piece))) for piece in pieces)
    if whole > 0.9 * data.actions.size:
        what = f"{whole:,} of {data.actions.size:,} actions are whole numbers; discrete=True if all should be"
        data.notes["continuous"] = what


def read_rows(files: TableFiles, columns: ColumnMap) -> tuple[TableRows, list[Any]]:
    """The rows of files that together are one table, and the names of the episodes in `TableRows.episode`."""
    keys_first = files.columnar
    while True:
        try:
            return _Filling(files, columns, keys_first and bool(columns.episode)).rows()
        except WrongType as error:  # read again, without taking that column for whole numbers
            files.whole.discard(str(error))
        except Unsorted:
            keys_first = True


def _short(value: Any) -> str:
    names = [value] if isinstance(value, str) else list(value)
    return ", ".join(names) if len(names) < 4 else f"{names[0]} ... {names[-1]} ({len(names)} columns)"


def _as_items(rows: Array) -> Array:
    """(rows,) each row as one item: numpy moves it in half the time of its numbers."""
    size = rows[:1].nbytes
    return np.ascontiguousarray(rows).reshape(len(rows), -1).view(f"V{size}")[:, 0] if size else rows


class _Filling:
    """The arrays of a table while its pieces come in."""

    def __init__(self, files: TableFiles, columns: ColumnMap, keys_first: bool) -> None:
        self.files, self.columns, self.keys_first = files, columns, keys_first
        self.arrays: dict[str, Array] = {}
        self.codes: dict[Any, int] = {}  # of episodes, in the order of their first rows
        self.unfinished: list[Array] = [np.empty(0, np.int64)]  # rows with a missing action or reward
        self.unknown: list[Array] = [np.empty(0, np.int64)]  # rows with a missing next observation
        self.order: Array | None = None  # the file's row of each row; None: the same
        self.target: Array | None = None  # the row of each of the file's rows; None: the same
        self.begin = 0

    def rows(self) -> tuple[TableRows, list[Any]]:
        if self.keys_first:
            self._read(ColumnMap(episode=self.columns.episode, time=self.columns.time))
            self._sort()
            self._read(replace(self.columns, episode=None, time=None))
        else:
            self._read(self.columns)
        arrays = {role: array[: self.begin] for role, array in self.arrays.items()}
        missing = {"unfinished": np.concatenate(self.unfinished), "unknown": np.concatenate(self.unknown)}
        if self.target is not None:
            missing = {name: np.unique(self.target[rows]) for name, rows in missing.items()}
        extras = {name: arrays.pop(f"extras/{name}") for name in self.columns.extras or ()}
        return TableRows(**arrays, **missing, order=self.order, extras=extras), list(self.codes)

    def _read(self, part: ColumnMap) -> None:
        """Read these of the columns."""
        self.begin = 0
        for piece in self.files.pieces(self.columns, part):
            self._fill(piece, part)
            self.begin += piece.num_rows
        if not self.begin:
            raise DataError("the table has no rows: expected at least one step")

    def _sort(self) -> None:
        """Sort episodes and times, and find the places of what comes."""
        keys = {role: array[: self.begin] for role, array in self.arrays.items()}
        self.order = sorting_order(keys["episode"], keys.get("time"))
        if self.order is not None:
            self.arrays = {role: array[self.order] for role, array in keys.items()}
            self.target = np.empty_like(self.order)
            self.target[self.order] = np.arange(self.begin, dtype=self.order.dtype)

    def _fill(self, piece: Any, columns: ColumnMap) -> None:
        for role in ("observations", "next_observations", "actions"):
            if names := getattr(columns, role):
                self._put(role, self._numbers(role, piece, names))
        if columns.reward:
            self._put("rewards", self._numbers("rewards", piece, (columns.reward,)))
        for extra in columns.extras or ():
            self._put(f"extras/{extra}", self.files.numbers(piece, extra, self.begin).astype(np.float32))
        for role, name in (("terminals", columns.terminal), ("truncated", columns.truncated)):
            if name:
                self._put(role, self._flags(piece, name))
        if columns.episode:
            self._put("episode", self._labels(piece, columns.episode))
        if columns.time:
            self._put("time", self.files.clock(piece, columns.time, self.begin))
        if columns.episode and not self.keys_first:
            self._check_order(self.begin + piece.num_rows)

    def _check_order(self, end: int) -> None:
        """The last row before a piece counts too."""
        rows, time = slice(max(0, self.begin - 1), end), self.arrays.get("time")
        if not in_order(self.arrays["episode"][rows], None if time is None else time[rows]):
            raise Unsorted

    def _put(self, role: str, values: Array) -> None:
        if role not in self.arrays:
            self.arrays[role] = np.empty((self.files.most_rows, *values.shape[1:]), values.dtype)
        target = self.arrays[role]
        if (values.shape[1:], values.dtype.kind) != (target.shape[1:], target.dtype.kind):
            new, old = (f"{array.dtype}{array.shape[1:]}" for array in (values, target))
            raise DataError(f"{self.files.place(self.begin)}: {role} are {new}, those before {old}")
        rows = slice(self.begin, self.begin + len(values))
        if self.target is None or not len(values):
            target[rows] = values
        else:
            _as_items(target)[self.target[rows]] = _as_items(values.astype(target.dtype, copy=False))

    def _numbers(self, role: str, piece: Any, names: Sequence[str]) -> Array:
        parts = [self.files.numbers(piece, name, self.begin) for name in names]
        if role == "rewards":
            if parts[0].size != len(parts[0]):
                raise self.files.wrong(self.begin, names[0], "a list; expected one number")
            values = parts[0].reshape(-1).astype(np.float32)
        elif role == "actions" and self._discrete(piece, parts):
            values = self._whole(names[0], parts[0])
        elif len(parts) == 1 and parts[0].ndim > 1:
            values = parts[0] if parts[0].dtype.kind in "iu" and role != "actions" else parts[0].astype(np.float32)
        else:
            values = np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1, dtype=np.float32)
        if values.dtype.kind == "f":
            self._check(role, names, parts, values)
        elif role == "actions" and (values == MISSING).any():
            self.unfinished.append(self.begin + np.flatnonzero(values == MISSING))
        return values

    def _check(self, role: str, names: Sequence[str], parts: Sequence[Array], values: Array) -> None:
        """Missing values but observations are looked at later: the last row of an episode may have none."""
        if np.isfinite(values).all():
            return
        finite = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
        if role in ("actions", "rewards"):
            self.unfinished.append(self.begin + np.flatnonzero(~finite))
        elif role == "next_observations":
            self.unknown.append(self.begin + np.flatnonzero(~finite))
        else:
            row = int(np.argmin(finite))
            wrong = [name for name, part in zip(names, parts, strict=True) if not np.isfinite(part[row]).all()]
            what = "missing, NaN or infinite; expected a number: fill it in, or remove the episode"
            raise self.files.wrong(self.begin + row, (wrong or names)[0], what)

    def _discrete(self, piece: Any, parts: Sequence[Array]) -> bool:
        if "actions" in self.arrays:
            return self.arrays["actions"].dtype.kind == "i"
        one = len(parts) == 1 and parts[0].size == len(parts[0])
        if self.columns.discrete and not one:
            raise DataError("discrete actions are one column of whole numbers; here they have several")
        if self.columns.discrete is not None:
            return self.columns.discrete
        return one and self.files.is_whole(piece, (self.columns.actions or ("",))[0])

    def _whole(self, name: str, values: Array) -> Array:
        """Discrete actions as int64."""
        values = values.reshape(len(values))
        if values.dtype.kind in "iub":
            return values.astype(np.int64)
        missing = ~np.isfinite(values)
        whole = np.where(missing, MISSING, values).astype(np.int64)
        if (wrong := (whole != values) & ~missing).any():
            row = int(np.argmax(wrong))
            raise self.files.wrong(self.begin + row, name, f"{values[row]:g} is not a whole number")
        return whole

    def _flags(self, piece: Any, name: str) -> Array:
        """Flags as booleans, also where they are text; an empty cell is False."""
        codes, values = self.files.encoded(piece, name)
        table = np.zeros(len(values) + 1, np.int8)  # a missing value has the code -1: False
        for code, value in enumerate(values):
            text = str(value).strip().lower()
            table[code] = 1 if text in TRUE else 0 if text in FALSE or str(value) in EMPTY else 2
        flags = table[codes]
        if (flags == 2).any():
            row = int(np.argmax(flags == 2))
            what = f"{values[codes[row]]!r} is not a flag; expected true or false, yes or no, 1 or 0"
            raise self.files.wrong(self.begin + row, name, what)
        return flags.astype(bool)

    def _labels(self, piece: Any, name: str) -> Array:
        """The number of each row's episode."""
        codes, values = self.files.encoded(piece, name)
        empty = [code for code, value in enumerate(values) if str(value) in EMPTY]
        missing = (codes < 0) | np.isin(codes, empty) if empty else codes < 0
        if missing.any():
            row = self.begin + int(np.argmax(missing))
            raise self.files.wrong(row, name, "no value; expected the episode of this row")
        table = np.array([self.codes.setdefault(value, len(self.codes)) for value in values], np.int32)
        return table[codes]
