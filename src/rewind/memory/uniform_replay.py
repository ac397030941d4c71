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
        self._trajectories: Array = np.empty(0, np.int32)  # (transitions,) which one each belongs to
        self._offsets: Array = np.empty(0, np.int64)  # (trajectories,) from a transition's number to its row

    def _prepare(self, data: Any, store: Store) -> None:
        # A table, not a search of the running sum: searching took half of the time of a plan.
        counts = store.transitions
        self._trajectories = np.repeat(np.arange(len(store), dtype=np.int32), counts)
        self._offsets = store.starts - np.cumsum(counts) + counts

    def add(self, episodes: Any) -> None:
        """Add finished trajectories while running; under a capacity the oldest go."""
        super().add(episodes)
        self._prepare(None, self.store)

    def _fill(self, plan: Plan, store: Store) -> None:
        chosen = (self._stream.take(plan.indices.size) * len(self._trajectories)).astype(np.int64)
        at = self._trajectories.take(chosen)
        plan.indices[:] = (chosen + self._offsets.take(at)).reshape(plan.indices.shape)
        plan.trajectories[:] = (at + np.int64(store.first)).reshape(plan.indices.shape)
        plan.fresh[:] = True

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
