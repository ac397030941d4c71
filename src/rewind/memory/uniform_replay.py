"""Transitions, uniformly, with replacement: the paper's `uni_state`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewind.memory.batch import Plan
from rewind.memory.replay import Replay, State
from rewind.memory.store import Store

Array = NDArray[Any]


class UniformReplay(Replay):
    """Every transition with the same probability, whatever came before. Every row is `fresh`."""

    def __init__(self, *, seed: Any = None, capacity: int | None = None) -> None:
        super().__init__(seed, capacity)
        self._ends: Array = np.empty(0, np.int64)  # (trajectories,) running sum of transitions

    def _prepare(self, data: Any, store: Store) -> None:
        self._ends = np.cumsum(store.transitions)

    def add(self, episodes: Any) -> None:
        """Add finished trajectories while running; under a capacity the oldest go."""
        super().add(episodes)
        self._ends = np.cumsum(self.store.transitions)

    def _plan(self, store: Store, steps: int, batch_size: int) -> Plan:
        chosen = (self._stream.take(steps * batch_size) * self._ends[-1]).astype(np.int64)
        at = np.searchsorted(self._ends, chosen, side="right")
        rows = store.starts[at] + chosen - (self._ends[at] - store.transitions[at])
        shape = (steps, batch_size)
        fresh = np.ones(shape, bool)
        return Plan(rows.reshape(shape), fresh, (at + store.first).reshape(shape), self._step)

    def _feed(self, plan: Plan, values: Array, kind: str) -> None:
        pass

    def _awaits(self, plan: Plan) -> bool:
        return False

    def _config(self) -> State:
        return {}

    def _state(self) -> State:
        return {}

    def _load_state(self, state: State) -> None:
        pass
