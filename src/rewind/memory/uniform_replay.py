"""Transitions, uniformly, with replacement: the paper's `uni_state`."""

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


# A loop is the faster one when it is compiled, and hopeless when it is not.
draw = _draw_one_by_one if HAVE_NUMBA else _draw_at_once


def make_guide(ends: Array) -> Array:
    """(cells,) guide[j]: where to begin to look for a transition that is drawn by j / cells or a little more.

    So many cells that most of them lie within one trajectory: a processor then guesses that the search is over at once.
    """
    cells = min(8 * len(ends), int(ends[-1]))
    first = np.arange(cells) * ends[-1] // cells - 1  # one less, whichever way products are rounded
    return np.asarray(np.searchsorted(ends, np.maximum(first, 0), side="right"), np.int32)


class UniformReplay(Replay):
    """Every transition with the same probability, whatever came before. Every row is `fresh`."""

    def __init__(self, *, seed: Any = None, capacity: int | None = None) -> None:
        super().__init__(seed, capacity)
        self._ends: Array = np.empty(0, np.int64)  # (trajectories,) transitions up to the end of each
        self._guide: Array = np.empty(0, np.int32)
        self._offsets: Array = np.empty(0, np.int64)  # (trajectories,) from a transition's number to its row

    def _prepare(self, data: Any, store: Store) -> None:
        self._ends = np.cumsum(store.transitions)
        self._guide = make_guide(self._ends)
        self._offsets = store.starts - self._ends + store.transitions

    def add(self, episodes: Any) -> None:
        """Add finished trajectories while running; under a capacity the oldest go."""
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
