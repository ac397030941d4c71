"""Batches whose rows are read ahead of their use: for data that stays on the disk."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from rewind.arrays import Array, plain_state
from rewind.data.parts import each_part, read_soon
from rewind.errors import UsageError
from rewind.memory.batch import Batch, Plan
from rewind.memory.replay import Replay, State
from rewind.memory.store import GIVEN, Store

PIECE = 4_096  # rows that a thread reads at a time
READERS = 8  # threads: more than cores, as they wait for the disk
FED = ("values", "fed_step", "recorded", "recording.", "weights", "largest")  # how what feedback changes is named


class ReadRows(NamedTuple):
    """Some rows of an array, which can be taken as from the array itself."""

    rows: Array  # ascending
    values: Array

    def take(self, indices: Array, axis: int = 0, mode: str = "raise") -> Array:
        return np.asarray(self.values.take(np.searchsorted(self.rows, indices), axis=0, mode="clip"))


class ReadAhead(Iterator[Batch]):
    """The batches of a memory, without end, in the order of `sample`: threads read those of the next plans.

        for batch in ReadAhead(memory, 256):
            ...                                                       # any loop
            memory.update_uncertainty(values, ahead.plan)             # for the *_unc priorities

    Rows of one plan are read in the order of the file, each once, so that a backward sweep reads its trajectory in one
    piece. Do not add to the memory, sample from it, or save its own state meanwhile: it is ahead of the batches. Ranks
    are those of when a batch was planned.

    steps: batches of one plan
    plans: how many are read or waiting at a time, besides the one in use
    """

    plan: Plan | None = None  # of the last batch, for feedback

    def __init__(self, memory: Replay, batch_size: int, *, steps: int = 100, plans: int = 2) -> None:
        if steps < 1 or plans < 1:
            raise UsageError(f"steps is {steps} and plans is {plans}; expected at least 1")
        self._memory, self._shape, self._plans = memory, (steps, batch_size), plans
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        self._ahead: deque[tuple[State, Plan, Store, list[Future[None]]]] = deque()
        self._before: State = {}  # of the memory, before the plan of the last batch
        self._current: Iterator[tuple[Plan, Batch]] = iter(())
        self._closed = False

    def __next__(self) -> Batch:
        if self._closed:
            raise StopIteration
        following = next(self._current, None)
        if following is None:
            while len(self._ahead) <= self._plans:
                before = self._memory.snapshot()
                self._ahead.append((before, *self._start(self._memory.plan(*self._shape))))
                self._memory._last = None  # which nobody has seen: feedback needs `plan`
            self._before, plan, store, reading = self._ahead.popleft()
            self._current = self._batches(plan, store, reading)
            following = next(self._current)
        self.plan, batch = following
        return batch

    def _start(self, plan: Plan) -> tuple[Plan, Store, list[Future[None]]]:
        """Begin to read; returns a store that has the rows of this plan, once they are read."""
        store, reading = copy(self._memory.store), []
        rows = np.unique(np.concatenate([plan.indices.ravel(), plan.indices.ravel() + 1]))  # with their successors
        rows = rows[rows < store.rows]

        def begin(source: Any) -> ReadRows:
            values = np.empty((len(rows), *source.shape[1:]), source.dtype)
            for at in range(0, len(rows), PIECE):
                piece = slice(at, at + PIECE)
                reading.append(self._pool.submit(_read, source, rows[piece], values[piece]))
            return ReadRows(rows, values)

        for name in GIVEN:
            setattr(store, name, each_part(begin, getattr(store, name)))
        return plan, store, reading

    def _batches(self, plan: Plan, store: Store, reading: list[Future[None]]) -> Iterator[tuple[Plan, Batch]]:
        for piece in reading:
            piece.result()
        backward = self._memory.order == "backward"
        for step in range(len(plan)):
            rows = plan.indices[step], plan.fresh[step], plan.trajectories[step]
            yield plan[step], store.gather(*rows, backward)

    def state_dict(self) -> State:
        """The memory's state after the last batch: a memory that loads it continues with exactly the same batches.

        With the *_unc priorities, or by TD error, the state has all feedback so far and new draws follow it, so batches
        can differ from those that were planned ahead, with older ranks.
        """
        if self.plan is None:
            return self._memory.state_dict()
        memory = copy(self._memory)
        memory.load_state_dict(self._before)
        memory.plan(self.plan.first_step + 1 - self._before["step"], self._shape[1])
        memory._last = None  # which has several batches; feedback for the last one belongs to `plan`
        fed = {name: value for name, value in self._memory.snapshot().items() if name.startswith(FED)}
        return plain_state({**memory.snapshot(), **fed})

    def close(self) -> None:
        """Stop reading, and let go of what was read."""
        self._closed = True
        self._pool.shutdown(cancel_futures=True)
        self._ahead.clear()
        self._current = iter(())


def _read(source: Any, rows: Array, values: Array) -> None:
    read_soon(source, rows)
    values[:] = source.take(rows, axis=0)
