"""The rows a memory plays from: trajectories loaded first, and those added later."""

import hashlib

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories
from rewind.errors import DataError
from rewind.memory.batch import Batch


class Store:
    """Trajectories in flat arrays, oldest first, numbered from `first` on.

    Loaded data is not copied until trajectories are added. The arrays then double when full or, with a capacity, form
    a ring in which new rows replace the oldest trajectories.
    """

    def __init__(self, data: Trajectories, capacity: int | None = None) -> None:
        if capacity is not None and data.rows > capacity:
            raise DataError(f"the data has {data.rows:,} rows, more than the capacity of {capacity:,}")
        self.observations, self.actions, self.rewards = data.observations, data.actions, data.rewards
        self.starts = data.starts
        self.lengths = data.lengths
        self.transitions = data.transitions
        self.terminated = data.terminated
        self.finals = data.final_observations
        self.inner_terminals = data.inner_terminals  # None for most data
        self.first = 0  # the number of the oldest trajectory
        self.capacity = capacity
        self._head = data.rows  # where the next row goes
        self._owned = False
        self._owners: Array | None = None  # (rows,) the trajectory of each row, counted from the oldest
        self._fingerprint: str | None = data.fingerprint

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
            for start, length in zip(self.starts, self.lengths, strict=True):
                digest.update(self.rewards[start : start + length].tobytes())
            if self.inner_terminals is not None:
                digest.update(self.inner_terminals.tobytes())
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def gather(self, indices: Array, fresh: Array, trajectories: Array) -> Batch:
        """The transitions at these rows, which belong to these trajectories."""
        successors = self.observations.take(indices + 1, axis=0, mode="clip")
        tails, terminals = np.zeros(len(indices), bool), np.zeros(len(indices), bool)
        # Only a row that starts a sweep can be the last one of its trajectory, and few rows start one.
        (started,) = fresh.nonzero()
        if started.size:
            chosen = slice(None) if started.size == fresh.size else started  # a slice needs no copies
            at = trajectories[chosen] - self.first
            timestep = indices[chosen] - self.starts.take(at)
            tails[chosen] = timestep == self.transitions.take(at) - 1
            (last,) = (timestep == self.lengths.take(at) - 1).nonzero()  # their successor is not the next row
            if last.size:
                behind, at = started[last], at[last]
                successors[behind] = self.finals[at]
                terminals[behind] = self.terminated[at]
        if self.inner_terminals is not None:
            terminals |= self.inner_terminals.take(indices)
        return Batch(
            observations=self.observations.take(indices, axis=0),
            actions=self.actions.take(indices, axis=0),
            rewards=self.rewards.take(indices),
            next_observations=successors,
            terminals=terminals,
            tails=tails,
            fresh=fresh,
            indices=indices,
            trajectories=trajectories,
            timesteps=indices - self.starts.take(trajectories - self.first if self.first else trajectories),
        )

    def trajectory_of(self, rows: Array) -> Array:
        """The number of each row's trajectory."""
        if self._owners is None:  # a table: searching the starts took a fifth of the time of a sample
            lengths = self.lengths
            offsets = self.starts - np.cumsum(lengths) + lengths  # from the position by age to the row
            self._owners = np.zeros(self.rows, np.int32)
            self._owners[np.arange(lengths.sum()) + np.repeat(offsets, lengths)] = np.repeat(
                np.arange(len(self), dtype=np.int32), lengths
            )
        return np.asarray(self._owners.take(rows) + np.int64(self.first))

    def check_addable(self, data: Trajectories) -> None:
        for name in ("observations", "actions"):
            new, old = getattr(data, name), getattr(self, name)
            if new.shape[1:] != old.shape[1:] or new.dtype != old.dtype:
                raise DataError(
                    f"added {name} are {new.dtype}{new.shape[1:]}; the memory holds {old.dtype}{old.shape[1:]}"
                )
        if not data.transitions.any():
            raise DataError("none of the added trajectories can be replayed: single steps without a successor")
        if self.capacity is not None and data.lengths.max() > self.capacity:
            raise DataError(
                f"a trajectory of {data.lengths.max():,} rows does not fit into a capacity of {self.capacity:,}"
            )

    def add(self, data: Trajectories) -> tuple[Array, int]:
        """Append trajectories one by one; returns the first row of each, and the number of dropped ones.

        If the added trajectories together exceed the capacity, some of them are dropped too.
        """
        if not self._owned:
            self._resize(self.capacity or max(1024, 2 * self.rows))
            self._owned = True
        if self.inner_terminals is None and data.inner_terminals is not None:
            self.inner_terminals = np.zeros(self.rows, dtype=bool)
        begins = np.empty(len(data), np.int64)
        before = self.first
        for index, (source, length) in enumerate(zip(data.starts, data.lengths, strict=True)):
            begin = begins[index] = self._make_room(int(length))
            rows, taken = slice(begin, begin + length), slice(source, source + length)
            self.observations[rows] = data.observations[taken]
            self.actions[rows] = data.actions[taken]
            self.rewards[rows] = data.rewards[taken]
            if self.inner_terminals is not None:
                self.inner_terminals[rows] = False if data.inner_terminals is None else data.inner_terminals[taken]
            self._append(data, index, begin)
            self._head = begin + int(length)
        self._owners = None
        self._fingerprint = None
        return begins, self.first - before

    def _resize(self, rows: int) -> None:
        for name in ("observations", "actions", "rewards", "inner_terminals"):
            old = getattr(self, name)
            if old is None:
                continue
            new = np.zeros((rows, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def _make_room(self, length: int) -> int:
        """The first of `length` consecutive free rows, after dropping the trajectories that occupy them."""
        begin = self._head
        if begin + length > self.rows:
            if self.capacity is None:
                self._resize(max(2 * self.rows, begin + length))
            else:
                begin = 0
        in_the_way = (self.starts < begin + length) & (self.starts + self.lengths > begin)
        if in_the_way.any():
            self._drop(1 + int(np.flatnonzero(in_the_way)[-1]))
        return begin

    def _drop(self, count: int) -> None:
        for name in ("starts", "lengths", "transitions", "terminated", "finals"):
            setattr(self, name, getattr(self, name)[count:])
        self.first += count

    def _append(self, data: Trajectories, index: int, begin: int) -> None:
        self.starts = np.append(self.starts, begin)
        self.lengths = np.append(self.lengths, data.lengths[index])
        self.transitions = np.append(self.transitions, data.transitions[index])
        self.terminated = np.append(self.terminated, data.terminated[index])
        self.finals = np.concatenate([self.finals, data.final_observations[index : index + 1]])
