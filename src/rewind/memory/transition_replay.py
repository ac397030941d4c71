"""Memories of single transitions: `UniformReplay` (the paper's `uni_state`) and `PrioritizedReplay` (`prio_state`)."""

from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.compiled import HAVE_NUMBA, compiled
from rewind.data import Trajectories
from rewind.data.trajectories import rows_of
from rewind.errors import DataError, UsageError
from rewind.memory.batch import Plan
from rewind.memory.growing import resized
from rewind.memory.replay import Replay, State
from rewind.memory.store import Store, check_playable
from rewind.memory.sumtree import empty_tree, fill_tree, find_leaves, set_leaves


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
        self._current = False  # whether these three are those of the store

    def _prepare(self, data: Trajectories | None, store: Store) -> None:
        self._ends = np.cumsum(store.transitions)
        self._guide = make_guide(self._ends)
        self._offsets = store.starts - self._ends + store.transitions
        self._current = True

    def _add(self, data: Trajectories, store: Store) -> None:
        store.add(data)
        self._current = False  # many trajectories may be added before the next draw

    def _fill(self, plan: Plan, store: Store) -> None:
        if not self._current:
            self._prepare(None, store)
        check_playable(self._ends[-1:])
        uniforms = self._stream.take(plan.indices.size).reshape(plan.indices.shape)
        draw(uniforms, self._ends, self._guide, self._offsets, plan.indices, plan.trajectories)
        if store.first:
            plan.trajectories[:] += store.first
        plan.fresh[:] = True


class PrioritizedReplay(Replay):
    """Transitions with probability p^alpha / sum p^alpha, p = |TD error| + eps. Every row is `fresh`.

    A new transition gets the largest priority so far, so that each is drawn soon.
    """

    def __init__(self, *, alpha: float = 0.6, eps: float = 1e-2, seed: Any = None, capacity: int | None = None) -> None:
        super().__init__(seed, capacity)
        for name, value in (("alpha", alpha), ("eps", eps)):
            if not (np.isfinite(value) and value >= 0):
                raise UsageError(f"{name} is {value}; expected a number of at least 0")
        self.alpha = float(alpha)
        self.eps = float(eps)
        self._tree: Array = np.empty(0)
        self._largest = 1.0

    def _prepare(self, data: Trajectories, store: Store) -> None:
        self._largest = 1.0
        self._tree = empty_tree(store.rows)
        weights = np.zeros(store.rows)
        weights[rows_of(store.starts, store.transitions)] = 1.0
        fill_tree(self._tree, weights)

    @property
    def _leaves(self) -> Array:
        return self._tree[len(self._tree) // 2 :]

    def _add(self, data: Trajectories, store: Store) -> None:
        starts, lengths, rows = store.starts, store.lengths, store.rows
        begins, dropped = store.add(data)
        if store.rows > rows:
            leaves = self._leaves
            self._tree = empty_tree(store.rows)
            fill_tree(self._tree, resized(leaves[:rows], store.rows))
        self._set_rows(starts[:dropped], lengths[:dropped], 0.0)
        held = slice(max(0, dropped - len(starts)), None)
        self._set_rows(begins[held], data.transitions[held], self._largest**self.alpha)

    def _set_rows(self, starts: Array, lengths: Array, weight: float) -> None:
        rows = rows_of(starts, lengths)
        set_leaves(self._tree, rows, np.full(len(rows), weight))

    def probabilities(self) -> Array:
        """(rows,) eq. 1; 0 for a step without a successor."""
        leaves = self._leaves[: self.store.rows]
        return np.asarray(leaves / leaves.sum())

    def _fill(self, plan: Plan, store: Store) -> None:
        check_playable(self._tree[1:2])  # the sum of all
        plan.indices[:] = find_leaves(self._tree, self._stream.take(plan.indices.size)).reshape(plan.indices.shape)
        plan.trajectories[:] = store.trajectory_of(plan.indices)
        plan.fresh[:] = True

    def _feed(self, plan: Plan, values: Array, kind: str) -> None:
        if kind != "td_errors":
            return
        rows = plan.indices.ravel()
        # Skip rows whose trajectory was dropped, even if a new one has taken their place.
        alive = (plan.trajectories.ravel() >= self.store.first) & (self._leaves[rows] > 0)
        if not alive.any():
            return
        rows, errors = rows[alive], values.ravel()[alive]
        priorities = np.abs(errors.astype(np.float64)) + self.eps
        with np.errstate(over="ignore", under="ignore"):
            weights = priorities**self.alpha
        if not weights.all():
            found = f"a TD error of {errors[np.argmin(weights)]} with eps {self.eps} and alpha {self.alpha}"
            raise UsageError(f"{found} gives probability 0: the row would never be drawn again")
        if weights.max() > np.finfo(np.float64).max / len(self._tree):  # their sum must be a number too
            raise DataError(f"a TD error of {errors[np.argmax(weights)]} is too large for alpha {self.alpha}")
        self._largest = max(self._largest, float(priorities.max()))
        set_leaves(self._tree, rows, weights)

    def _awaits(self, plan: Plan) -> bool:
        return True

    def _config(self) -> State:
        return {"alpha": self.alpha, "eps": self.eps}

    def _state(self) -> State:
        return {"weights": self._leaves[: self.store.rows].copy(), "largest": self._largest}

    def _load_state(self, state: State, store: Store) -> None:
        weights = np.array(state["weights"])
        if weights.shape != (store.rows,):
            raise ValueError(f"weights has shape {weights.shape}; expected ({store.rows},)")
        self._largest, self._tree = float(state["largest"]), empty_tree(store.rows)
        fill_tree(self._tree, weights)
