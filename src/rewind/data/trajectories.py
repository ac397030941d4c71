"""`Trajectories`: how logged data is held in memory, and what its arrays must be. Every reader returns it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.flags import flag_array
from rewind.data.parts import (
    check_inner,
    check_rows,
    chosen_rows,
    each_part,
    frozen,
    named_parts,
    storage_array,
    storage_parts,
)
from rewind.errors import DataError, UsageError
from rewind.files import arrays_digest
from rewind.table import counted

CHUNK_ROWS = 16_384  # data is checked in chunks, which needs no second copy of it
FIELDS = ("observations", "actions", "rewards", "lengths", "terminated", "final_observations", "final_known")


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Trajectories one after another in flat arrays; row i is one step (s, a, r).

        row                 0    1    2  |  3    4  |  5  ...
        observations        s0   s1   s2 |  s0   s1 |  s0
        (successor)         s1   s2   F0 |  s1   F1 |  s1       not stored; F: one final observation per trajectory
        terminals           0    0    1  |  0    0  |  0        no future after this row: y = r
        (tail)              0    0    1  |  0    1  |  0        not stored: the end, by terminal or by time-out

    Some logs continue after a terminal: an ant stays at its goal, with a terminal at every step. If such rows
    belong to one trajectory, `inner_terminals` marks those before its last row; each of them still means y = r.

    Inside a trajectory, the successor of a row is the next row's observation, so successors are not stored twice.
    If a time-out cut a trajectory and its final observation was not recorded (`final_known` is False), its last step
    counts in its quality but is never replayed.
    Rewards and flags are read-only copies, as priorities are computed from them once. Observations and actions of the
    right dtype are not copied: an edit of your arrays is an edit of these.

    observations: (rows, ...) float32 or integers; or a dict of such arrays, held in alphabetical order of its keys
    actions: (rows, ...) float32 or integers
    rewards: (rows,) float32
    lengths: (trajectories,) number of rows, at least 1
    terminated: (trajectories,) ended by a terminal; a terminal takes precedence over a time-out
    final_observations: (trajectories, ...) the state after the last row; a dict if observations are one
    final_known: (trajectories,) whether that state was recorded
    name: name of the data set, if it has one
    notes: how the data was made (boundaries, transforms), recorded with results
    inner_terminals: (rows,) terminals before a trajectory's last row, None if there are none
    extras: further columns by name, (rows, ...) each, such as costs: a batch carries them. They may be NaN or infinite
    """

    observations: Any
    actions: Array
    rewards: Array
    lengths: Array
    terminated: Array
    final_observations: Any
    final_known: Array
    name: str | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    inner_terminals: Array | None = None
    extras: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rewards = np.asarray(self.rewards)
        rows = len(rewards) if rewards.ndim else 0
        lengths = check_lengths(self.lengths, rows)
        arrays = {
            "observations": storage_parts("observations", self.observations),
            "actions": storage_array("actions", self.actions),
            "rewards": frozen(storage_array("rewards", rewards, always_float=True)),
            "lengths": frozen(lengths),
            "terminated": frozen(flag_array("terminated", self.terminated)),
            "final_observations": storage_parts("final_observations", self.final_observations),
            "final_known": frozen(flag_array("final_known", self.final_known)),
            "extras": storage_parts("extras", self.extras) if self.extras else {},
        }
        check_rows(arrays, rows, len(lengths))
        for name, value in arrays.items():
            object.__setattr__(self, name, value)
            if name in ("observations", "actions", "rewards", "final_observations"):
                for part, array in named_parts(name, value).items():
                    check_finite(part, array, None if name == "final_observations" else lengths)
        object.__setattr__(self, "inner_terminals", check_inner(self.inner_terminals, lengths))

    def __len__(self) -> int:
        """Number of trajectories."""
        return len(self.lengths)

    def __repr__(self) -> str:
        name = f"{self.name}: " if self.name else ""
        shapes = each_part(lambda part: part.shape[1:], self.observations)
        return (
            f"Trajectories({name}{counted(len(self), 'trajectory')}, {counted(self.rows, 'row')}, "
            f"observations {shapes}, actions {self.actions.shape[1:]})"
        )

    @property
    def rows(self) -> int:
        return len(self.rewards)

    @cached_property
    def starts(self) -> Array:
        """(trajectories,) first row."""
        return np.concatenate([[0], np.cumsum(self.lengths)[:-1]])

    @property
    def ends(self) -> Array:
        """(trajectories,) last row."""
        return np.cumsum(self.lengths) - 1

    @property
    def terminals(self) -> Array:
        """(rows,) whether there is no future after this row."""
        terminals = np.zeros(self.rows, dtype=bool) if self.inner_terminals is None else self.inner_terminals.copy()
        terminals[self.ends] = self.terminated
        return terminals

    @property
    def transitions(self) -> Array:
        """(trajectories,) number of rows that can be replayed: all, except a last step without a successor."""
        return self.lengths - ~(self.terminated | self.final_known)

    @cached_property
    def returns(self) -> Array:
        """(trajectories,) undiscounted sum of rewards, float64."""
        return np.add.reduceat(self.rewards, self.starts, dtype=np.float64)

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, Array]:
        """All arrays by name, `inner_terminals` only if there are any; those of a dict as "observations/key"."""
        inner = {} if self.inner_terminals is None else {"inner_terminals": self.inner_terminals}
        named = {name: getattr(self, name) for name in FIELDS} | inner | {"extras": self.extras}
        return {part: array for name, value in named.items() for part, array in named_parts(name, value).items()}

    @cached_property
    def fingerprint(self) -> str:
        """A fast digest to tell data sets apart: of lengths, flags and rewards, and of a sample of the other rows."""
        digest = hashlib.blake2b(digest_size=16)
        stride = max(1, self.rows // 4096)
        sampled = named_parts("", self.observations) | {"actions": self.actions}
        for array in (
            self.lengths,
            self.terminated,
            self.final_known,
            self.rewards,
            *(part[::stride] for part in sampled.values()),
            *(() if self.inner_terminals is None else (self.inner_terminals,)),
            *(column[::stride] for column in self.extras.values()),
        ):
            digest.update(str((array.shape, array.dtype.str)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all arrays; name and notes do not count."""
        return arrays_digest(self.arrays().items())

    def successors(self, indices: Array) -> Any:
        """The observations after these rows. Raises an error for a last step whose successor was not recorded."""
        indices = np.asarray(indices)
        trajectory = self.trajectory_of(indices)
        last = indices == self.starts[trajectory] + self.lengths[trajectory] - 1
        unknown = indices[last & ~self.final_known[trajectory] & ~self.terminated[trajectory]]
        if unknown.size:
            raise DataError(f"row {unknown[0]} was cut by a time-out and its successor was not recorded")

        def after(observations: Array, finals: Array) -> Array:
            result: Array = np.take(observations, np.minimum(indices + 1, self.rows - 1), axis=0)
            result[last] = finals[trajectory[last]]
            return result

        return each_part(after, self.observations, self.final_observations)

    def trajectory_of(self, indices: Array) -> Array:
        """The trajectory of each row."""
        return np.searchsorted(self.starts, indices, side="right") - 1

    def map_rewards(self, transform: Callable[[Array], Array], note: str) -> Trajectories:
        """The same data with transformed rewards, e.g. `map_rewards(lambda r: r - 1, "r - 1")` as on AntMaze.

        Priorities use the rewards the agent trains on, so transform before you load a memory.
        """
        return replace(self, rewards=transform(self.rewards), notes={**self.notes, "rewards": note})

    def select(self, trajectories: Array) -> Trajectories:
        """Some of the trajectories, in this order. Arrays on the disk stay there: `LazyRows` of them are returned."""
        trajectories = np.arange(len(self))[trajectories]
        if len(trajectories) == 0:
            raise UsageError(f"no trajectories to select; expected at least one of the {len(self):,}")
        rows = rows_of(self.starts[trajectories], self.lengths[trajectories])
        per_row = ("observations", "actions", "rewards", "inner_terminals", "extras")
        named = {name: getattr(self, name) for name in (*FIELDS, "inner_terminals", "extras")}
        arrays = {
            name: each_part(partial(chosen_rows, rows=rows if name in per_row else trajectories), value)
            for name, value in named.items()
            if value is not None
        }
        notes = {**self.notes, "selected": f"{len(trajectories)} of {len(self)} trajectories"}
        return replace(self, **arrays, notes=notes)

    def episodes(self) -> Iterator[dict[str, Any]]:
        """Each trajectory as a dict. There is one observation more than actions if the final one is known."""
        for index, (start, length) in enumerate(zip(self.starts, self.lengths, strict=True)):
            rows = slice(start, start + length)
            observations = each_part(lambda part, rows=rows: part[rows], self.observations)
            if self.final_known[index]:
                final = each_part(lambda part, index=index: part[index : index + 1], self.final_observations)
                observations = each_part(lambda *parts: np.concatenate(parts), observations, final)
            episode = {
                "observations": observations,
                "actions": self.actions[rows],
                "rewards": self.rewards[rows],
                "terminated": self.terminated[index],
            }
            if self.inner_terminals is not None:
                episode["inner_terminals"] = self.inner_terminals[rows]
            if self.extras:
                episode["extras"] = {name: column[rows] for name, column in self.extras.items()}
            yield episode


def check_lengths(value: object, rows: int) -> Array:
    """Lengths as int64. They must be positive integers whose sum is the number of rows."""
    lengths = np.asarray(value)
    if lengths.size == 0 or rows == 0:
        raise DataError("the data is empty: expected at least one trajectory with at least one step")
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu":
        raise DataError(
            f"lengths has dtype {lengths.dtype} and shape {lengths.shape}; expected one integer per trajectory"
        )
    if lengths.min() < 1:
        index = int(np.argmax(lengths < 1))
        raise DataError(f"trajectory {index} has length {lengths[index]}; expected at least 1 step")
    lengths = lengths.astype(np.int64)
    if lengths.sum() != rows:
        raise DataError(f"lengths add up to {lengths.sum():,} rows, but there are {rows:,}")
    return lengths


def check_finite(name: str, array: Array, lengths: Array | None) -> None:
    """Raise an error that names the first row and trajectory with a NaN or an infinity."""
    if array.dtype.kind != "f" or getattr(array, "checked", False):
        return
    for begin in range(0, len(array), CHUNK_ROWS):
        chunk = array[begin : begin + CHUNK_ROWS]
        finite = np.isfinite(chunk)
        if finite.all():
            continue
        row = begin + int(np.argmin(finite.reshape(len(chunk), -1).all(axis=1)))
        if lengths is None:
            where = f"trajectory {row}"
        else:
            trajectory = int(np.searchsorted(np.cumsum(lengths), row, side="right"))
            where = f"row {row} (trajectory {trajectory})"
        raise DataError(
            f"{name} has a value that is NaN, infinite or too large for float32 at {where}; "
            "expected finite numbers: repair or remove that trajectory"
        )


def rows_of(starts: Array, lengths: Array) -> Array:
    """The rows of trajectories that start at these rows, one after another."""
    offsets = starts - np.cumsum(lengths) + lengths  # from a row's place in the result to its number
    return np.asarray(np.arange(lengths.sum()) + np.repeat(offsets, lengths))
