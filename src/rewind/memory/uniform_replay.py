"""`UniformReplay`: transitions drawn uniformly with replacement, the paper's `uni_state`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.compiled import HAVE_NUMBA, compiled
from rewind.memory.batch import Plan
from rewind.memory.replay import Replay, State, check_playable
from rewind.memory.store import Store


@compiled
def _draw_one_by_one(
    uniforms: Array, ends: Array, guide: Array, offsets: Array, indices: Array, trajectories: Array
) -> None:
    for step in range(uniforms.shape[0]):
        for slot in range(uniforms.shape[1]):
            uniform = uniforms[step, slot]
            transition = int(uniform * ends[-1])
            trajectory = guide[int(uniform * guide.size)]
            while ends[trajectory] <= transition:
                trajectory += 1
            indices[step, slot] = transition + offsets[trajectory]
            trajectories[step, slot] = trajectory


def _draw_at_once(
    uniforms: Array, ends: Array, guide: Array, offsets: Array, indices: Array, trajectories: Array
) -> None:
    transitions = (uniforms * ends[-1]).astype(np.int64)
    trajectories[:] = np.searchsorted(ends, transitions, side="right")
    indices[:] = transitions + offsets.take(trajectories)


# The loop is faster when compiled, and very slow when not.
draw = _draw_one_by_one if HAVE_NUMBA else _draw_at_once


def make_guide(ends: Array) -> Array:
    """(cells,) guide[j]: the first trajectory to search for the transition that a number from j / cells on selects.

    There are so many cells that most lie within one trajectory, where the search ends at once.
    """
    cells = min(8 * len(ends), int(ends[-1]))
    first = np.arange(cells) * ends[-1] // cells - 1  # one less, in case products are rounded down
    return np.asarray(np.searchsorted(ends, np.maximum(first, 0), side="right"), np.int32)


class UniformReplay(Replay):
    """Draws every transition with the same probability. Every row is `fresh`."""

    def __init__(self, *, seed: Any = None, capacity: int | None = None) -> None:
        super().__init__(seed, capacity)
        self._ends: Array = np.empty(0, np.int64)  # (trajectories,) number of transitions up to the end
        self._guide: Array = np.empty(0, np.int32)
        self._offsets: Array = np.empty(0, np.int64)  # (trajectories,) from a transition's number to its row

    def _prepare(self, data: Any, store: Store) -> None:
        self._ends = np.cumsum(store.transitions)
        self._guide = make_guide(self._ends)
        self._offsets = store.starts - self._ends + store.transitions

    def add(self, episodes: Any) -> None:
        """Add finished trajectories while training; with a capacity, the oldest are dropped."""
        super().add(episodes)
        self._prepare(None, self.store)

    def _fill(self, plan: Plan, store: Store) -> None:
        check_playable(self._ends[-1:])
        uniforms = self._stream.take(plan.indices.size).reshape(plan.indices.shape)
        draw(uniforms, self._ends, self._guide, self._offsets, plan.indices, plan.trajectories)
        if store.first:
            plan.trajectories[:] += store.first
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
