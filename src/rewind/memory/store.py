"""The rows a memory plays from: trajectories loaded first, and those added later."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories
from rewind.data.parts import each_part, find_parts, named_parts, shown
from rewind.data.trajectories import rows_of
from rewind.errors import DataError, UsageError
from rewind.memory.batch import Batch, Plan, check_held, check_positive
from rewind.memory.growing import Column, Rows, resized

PER_TRAJECTORY = ("starts", "lengths", "transitions", "terminated", "finals")
GIVEN = ("observations", "actions", "extras")  # arrays as they were loaded; or dicts of them
PER_ROW = (*GIVEN, "rewards", "inner_terminals")


class Store:
    """Trajectories in flat arrays, oldest first, numbered from `first` on.

    Loaded observations and actions are not copied. Space for added rows doubles when full or, with a capacity, forms a
    ring in which new rows replace the oldest trajectories; when they first replace loaded rows, the others are copied.
    """

    def __init__(self, data: Trajectories, capacity: int | None = None) -> None:
        if capacity is not None and data.rows > capacity:
            raise DataError(f"the data has {data.rows:,} rows, more than the capacity of {capacity:,}")
        self.observations: Any = data.observations  # Rows, once trajectories were added
        self.actions: Any = data.actions
        self.extras: dict[str, Any] = data.extras
        self.rewards = data.rewards
        self.starts = data.starts
        self.lengths = data.lengths
        self.transitions = data.transitions
        self.terminated = data.terminated
        self.finals = data.final_observations
        self._columns = {name: each_part(Column, getattr(self, name)) for name in PER_TRAJECTORY}
        self.inner_terminals = data.inner_terminals  # None for most data
        self.first = 0  # the number of the oldest trajectory
        self.capacity = capacity
        self._head = data.rows  # where the next row goes
        self._owned = False
        self._owners: Array | None = None  # (rows,) the number of each row's trajectory
        self._fingerprint: str | None = data.fingerprint
        self.origin = data.fingerprint  # the digest of what was loaded, which plans carry

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def rows(self) -> int:
        """Number of rows that the arrays have space for."""
        return len(self.rewards)

    @property
    def fingerprint(self) -> str:
        if self._fingerprint is None:
            digest = hashlib.blake2b(f"{self.first} {self._head}".encode(), digest_size=16)
            for array in (self.starts, self.lengths, self.transitions, self.terminated):
                digest.update(array.tobytes())
            rows = rows_of(self.starts, self.lengths)
            digest.update(self.rewards[rows].tobytes())
            if self.inner_terminals is not None and self.inner_terminals[rows].any():
                inner = np.zeros(self.rows, bool)  # without the rows of dropped trajectories, which no state has
                inner[rows] = self.inner_terminals[rows]
                digest.update(inner.tobytes())
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def gather(self, indices: Array, fresh: Array, trajectories: Array, backward: bool = True) -> Batch:
        """The transitions at these rows, which belong to these trajectories.

        backward: a row that is not `fresh` is not the last one of its trajectory, which saves time
        """
        check_held(trajectories, self.first)
        following = indices + 1
        successors = each_part(lambda part: part.take(following, axis=0, mode="clip"), self.observations)
        tails, terminals = np.zeros(len(indices), bool), np.zeros(len(indices), bool)
        # Only a row that starts a sweep can be the last one of its trajectory, and few rows start one.
        (started,) = fresh.nonzero() if backward else np.ones_like(fresh).nonzero()
        if started.size:
            chosen = slice(None) if started.size == fresh.size else started  # a slice needs no copies
            at = trajectories[chosen] - self.first
            timestep = indices[chosen] - self.starts.take(at)
            tails[chosen] = timestep == self.transitions.take(at) - 1
            (last,) = (timestep == self.lengths.take(at) - 1).nonzero()  # their successor is not the next row
            if last.size:
                behind, at = started[last], at[last]
                each_part(lambda part, finals: part.__setitem__(behind, finals[at]), successors, self.finals)
                terminals[behind] = self.terminated[at]
        if self.inner_terminals is not None:
            terminals |= self.inner_terminals.take(indices)
        return Batch(
            observations=each_part(lambda part: part.take(indices, axis=0), self.observations),
            actions=self.actions.take(indices, axis=0),
            rewards=self.rewards.take(indices),
            next_observations=successors,
            terminals=terminals,
            tails=tails,
            fresh=fresh,
            indices=indices,
            trajectories=trajectories,
            timesteps=indices - self.starts.take(trajectories - self.first if self.first else trajectories),
            extras={name: column.take(indices, axis=0) for name, column in self.extras.items()},
        )

    def chunks(self, plan: Plan, length: int) -> tuple[Array, Array]:
        """The rows of the chunks that start at the rows of a plan, and which of them are valid; both (..., length).

        A chunk ends with the last transition of its trajectory or a terminal; what is missing repeats its last row.
        """
        check_positive(length=length)
        check_held(plan.trajectories, self.first)
        wanted = plan.indices[..., None] + np.arange(length)
        last = (self.starts + self.transitions - 1).take(plan.trajectories - self.first)
        rows = np.minimum(wanted, last[..., None])
        if self.inner_terminals is not None:
            ended = np.logical_or.accumulate(self.inner_terminals.take(rows), axis=-1)
            rows[..., 1:][ended[..., :-1]] = 0
            rows = np.maximum.accumulate(rows, axis=-1)
        return rows, rows == wanted

    def gather_chunks(self, plan: Plan, length: int) -> Batch:
        """The chunks that start at the rows of a plan of one step."""
        rows, valid = (array[0] for array in self.chunks(plan, length))
        fresh = plan.fresh[0][:, None] & (np.arange(length) == 0)
        trajectories = np.repeat(plan.trajectories[0], length)
        return self.gather(rows.ravel(), fresh.ravel(), trajectories, backward=False).in_chunks(valid)

    def trajectory_of(self, rows: Array) -> Array:
        """The number of each row's trajectory."""
        if self._owners is None:  # a table: searching the starts took a fifth of the time of a sample
            self._owners = np.zeros(self.rows, np.int32)
            numbers = np.arange(self.first, self.first + len(self), dtype=np.int32)
            self._owners[rows_of(self.starts, self.lengths)] = np.repeat(numbers, self.lengths)
        return self._owners.take(rows).astype(np.int64)

    def state(self) -> dict[str, Any]:
        """The held trajectories, oldest first, and where their rows are."""
        rows = rows_of(self.starts, self.lengths)
        held = {name: getattr(self, name) for name in (*PER_ROW, *PER_TRAJECTORY) if getattr(self, name) is not None}
        arrays = {
            part: array.take(rows, axis=0) if name in PER_ROW else np.array(array)
            for name, value in held.items()
            for part, array in named_parts(name, value).items()
        }
        layout = {"first": self.first, "head": self._head, "rows": self.rows, "grown": self._owned}
        return arrays | layout | {"capacity": self.capacity or 0, "origin": self.origin}

    def check_addable(self, data: Trajectories) -> None:
        for name in GIVEN:
            new, old = shown(getattr(data, name)), shown(getattr(self, name))
            if new != old:
                raise DataError(f"added {name} are {new or 'missing'}; the memory holds {old or 'none'}")
        if not data.transitions.any():
            raise DataError("none of the added trajectories can be replayed: single steps without a successor")
        if self.capacity is not None:
            check_fits(data, self.capacity)

    def add(self, data: Trajectories) -> tuple[Array, int]:
        """Append trajectories one by one; returns the first row of each, and the number of dropped ones.

        If the added trajectories together exceed the capacity, some of them are dropped too.
        """
        if not self._owned:
            self._resize(self.capacity or max(1024, 2 * self.rows))
        if self.inner_terminals is None and data.inner_terminals is not None:
            self.inner_terminals = np.zeros(self.rows, dtype=bool)
        begins = np.empty(len(data), np.int64)
        before = self.first
        for index, (source, length) in enumerate(zip(data.starts, data.lengths, strict=True)):
            begin = begins[index] = self._make_room(int(length))
            rows, taken = slice(begin, begin + length), slice(source, source + length)
            for name in GIVEN:
                each_part(
                    lambda held, new, rows=rows, taken=taken: held.__setitem__(rows, new[taken]),
                    getattr(self, name),
                    getattr(data, name),
                )
            self.rewards[rows] = data.rewards[taken]
            if self.inner_terminals is not None:
                self.inner_terminals[rows] = False if data.inner_terminals is None else data.inner_terminals[taken]
            if self._owners is not None:
                self._owners[rows] = self.first + len(self)
            self._append(data, index, begin)
            self._head = begin + int(length)
        self._fingerprint = None
        return begins, self.first - before

    def place(self, starts: Array, first: int, head: int, rows: int) -> None:
        """Move the loaded trajectories to where they were in a store with space for so many rows."""
        self._columns["starts"] = Column(starts)
        self.starts, self.first, self._head, self._owned = starts, first, head, True
        held = rows_of(starts, self.lengths)

        def moved(old: Array) -> Array:
            new = np.zeros((rows, *old.shape[1:]), old.dtype)
            new[held] = old
            return new

        self._change(PER_ROW, moved)
        self._fingerprint = None

    def _change(self, names: Sequence[str], function: Callable[[Any], Any]) -> None:
        """Replace the arrays of these names that there are."""
        for name in names:
            if getattr(self, name) is not None:
                setattr(self, name, each_part(function, getattr(self, name)))

    def _resize(self, rows: int) -> None:
        self._change(("rewards", "inner_terminals", "_owners"), lambda old: resized(old, rows))
        self._change(GIVEN, lambda old: resized(old, rows) if self._owned else Rows(old, rows - len(old)))
        self._owned = True

    def _make_room(self, length: int) -> int:
        """The first of `length` consecutive free rows, after dropping the trajectories that occupy them."""
        begin = self._head
        if begin + length > self.rows:
            if self.capacity is None:
                self._resize(max(2 * self.rows, begin + length))
            else:
                begin = 0
                if isinstance(self.actions, Rows):
                    self._change(GIVEN, Rows.joined)
        if self.capacity is not None:
            self._drop(self._in_the_way(begin, begin + length))
        return begin

    def _in_the_way(self, begin: int, end: int) -> int:
        """How many of the oldest trajectories must go, so that no row from `begin` to `end` is in use."""
        count = 0
        for index in range(len(self)):
            start = self.starts[index]
            if start < end and start + self.lengths[index] > begin:
                count = index + 1
            elif begin or start < self._head:  # at a new lap, the end of the last one is older than what is in the way
                break
        return count

    def _drop(self, count: int) -> None:
        for name, column in self._columns.items():
            each_part(lambda part: part.drop(count), column)
            setattr(self, name, each_part(Column.view, column))
        self.first += count

    def _append(self, data: Trajectories, index: int, begin: int) -> None:
        final = each_part(lambda part: part[index], data.final_observations)
        ends = (data.lengths[index], data.transitions[index], data.terminated[index], final)
        for name, value in zip(PER_TRAJECTORY, (begin, *ends), strict=True):
            column = self._columns[name]
            each_part(lambda part, new: part.append(np.asarray(new)[None]), column, value)
            setattr(self, name, each_part(Column.view, column))


def growing_store(data: Trajectories, capacity: int | None) -> Store:
    """A store with all rows in arrays of its own, where most rows will be added."""
    store = Store(data, capacity)
    store.place(store.starts, 0, store.rows, capacity or max(1024, 2 * store.rows))
    return store


def load_store(state: Mapping[str, Any], capacity: int | None) -> Store:
    """The store of a memory's state with data."""
    if int(state["data.capacity"]) != (capacity or 0):
        saved = int(state["data.capacity"]) or None
        raise UsageError(f"the state was saved with capacity {saved}, this memory has {capacity}")
    observations, finals = (find_parts(state, f"data.{name}") for name in ("observations", "finals"))
    if observations is None or finals is None:
        raise KeyError("data.observations")
    store = Store(
        Trajectories(
            observations=observations,
            **{name: state[f"data.{name}"] for name in ("actions", "rewards", "lengths", "terminated")},
            final_observations=finals,
            final_known=np.asarray(state["data.transitions"]) == np.asarray(state["data.lengths"]),
            inner_terminals=state.get("data.inner_terminals"),
            extras=find_parts(state, "data.extras") or {},
        )
    )
    store.capacity, store._fingerprint = capacity, str(state["data"])
    store.origin = str(state.get("data.origin", state["data"]))
    if state["data.grown"]:
        store.place(np.array(state["data.starts"]), *(int(state[f"data.{name}"]) for name in ("first", "head", "rows")))
    return store


def check_fits(data: Trajectories, capacity: int) -> None:
    if data.lengths.max() > capacity:
        raise DataError(f"a trajectory of {data.lengths.max():,} rows does not fit into a capacity of {capacity:,}")


def check_playable(counts: Array) -> None:
    """Raise an error if there is nothing to replay; adding with a capacity can lead to that too."""
    if not counts.any():
        raise DataError("nothing to replay: every trajectory is a single step cut by a time-out, without its successor")
