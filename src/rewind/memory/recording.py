"""Record the feedback (uncertainty) for the rows of sweeps, until a sweep has ended and is complete."""

from typing import Any, NamedTuple

import numpy as np

from rewind.arrays import Array
from rewind.compiled import compiled
from rewind.data.trajectories import rows_of
from rewind.errors import UsageError
from rewind.memory.batch import Plan
from rewind.memory.growing import resized
from rewind.memory.ragged import Ragged
from rewind.memory.store import Store


class Recording(NamedTuple):
    """The feedback for sweeps that have not ended."""

    values: Array  # (rows,) the newest value of each row
    began: Array  # (batch,) the first row of each slot's sweep
    complete: Array  # (batch,) bool: every row so far has a value, from the last transition of the trajectory on


class Recorder:
    """The uncertainty of a memory's batches, in their order, until sweeps have ended.

    fed_step: number of batches whose uncertainty is known
    """

    def __init__(self, fed_step: int = 0) -> None:
        self.fed_step = fed_step
        self._recording: Recording | None = None

    def fork(self) -> "Recorder":
        """A copy to feed without changing this one; they share the values of rows, which are fed again if need be."""
        fork = Recorder(self.fed_step)
        if self._recording is not None:
            values, began, complete = self._recording
            fork._recording = Recording(values, began.copy(), complete.copy())
        return fork

    def feed(self, plan: Plan, values: Array, store: Store) -> tuple[Array, Ragged, str]:
        """Record one value per planned row.

        returns: the trajectories whose sweeps ended, the values of those sweeps, and what was missed, if anything
        """
        if plan.first_step < self.fed_step:
            raise UsageError(
                f"the uncertainty of batches {plan.first_step} to {plan.first_step + len(plan) - 1} is already known; "
                f"expected that of batch {self.fed_step} on"
            )
        if self._recording is None:
            began, complete = np.zeros(plan.batch_size, np.int64), np.zeros(plan.batch_size, bool)
            self._recording = Recording(np.zeros(store.rows, np.float32), began, complete)
        recording = self._recording
        skipped = plan.first_step - self.fed_step
        if skipped:
            recording.complete[:] = False
        at = np.maximum(plan.trajectories - store.first, -1) if store.first else plan.trajectories
        played = np.maximum(recording.began - plan.indices[0], 0)[recording.complete].sum()
        most_rows = plan.indices.size + int(played)
        most_sweeps = plan.batch_size + int(np.count_nonzero(plan.fresh))
        numbers, lengths, ended, incomplete = _record(
            plan.indices, plan.fresh, at, values, recording, store.starts, store.transitions, most_rows, most_sweeps
        )
        self.fed_step = plan.first_step + len(plan)
        missed = "some rows of a sweep were skipped" if incomplete else ""
        sweeps = Ragged(numbers, np.cumsum(lengths) - lengths, lengths)
        return ended, sweeps, f"{skipped} batches were skipped" if skipped else missed

    def make_room(self, rows: int) -> None:
        """Trajectories were added to the store, which has now space for so many rows."""
        if self._recording is not None and len(self._recording.values) < rows:
            self._recording = self._recording._replace(values=resized(self._recording.values, rows))

    def state(self, store: Store) -> dict[str, Any]:
        """With the recorded values of open sweeps only."""
        state: dict[str, Any] = {"fed_step": self.fed_step, "recorded": self._recording is not None}
        if self._recording is not None:
            values, began, complete = self._recording
            open_values = values[_open_rows(began, complete, store)]
            arrays = {"began": began.copy(), "complete": complete.copy(), "values": open_values}
            state |= {f"recording.{name}": array for name, array in arrays.items()}
        return state

    def load_state(self, state: dict[str, Any], store: Store) -> None:
        self.fed_step, self._recording = int(state["fed_step"]), None
        if state["recorded"]:
            began, complete = np.array(state["recording.began"]), np.array(state["recording.complete"])
            self._recording = Recording(np.zeros(store.rows, np.float32), began, complete)
            self._recording.values[_open_rows(began, complete, store)] = state["recording.values"]


@compiled
def _record(
    indices: Array,
    fresh: Array,
    trajectories: Array,
    values: Array,
    recording: Recording,
    starts: Array,
    transitions: Array,
    most_rows: int,
    most_sweeps: int,
) -> tuple[Array, Array, Array, int]:
    """Record one value per planned row, and return the sweeps that ended, in order.

    indices, fresh, trajectories, values: (steps, batch); trajectory -1 was dropped, its values are ignored
    most_rows, most_sweeps: upper bounds for what ends here
    returns: the ended sweeps' values one after another, their lengths, their trajectories, and the number of sweeps
    that ended with rows without a value, though they began at the last transition: one that starts in the middle
    (`stagger`) says nothing of its whole trajectory
    """
    steps, batch = indices.shape
    ended_values = np.empty(most_rows, np.float32)
    ended_lengths = np.empty(most_sweeps, np.int64)
    ended_trajectories = np.empty(most_sweeps, np.int64)
    filled, ended, incomplete = 0, 0, 0
    for step in range(steps):
        for slot in range(batch):
            row, trajectory = indices[step, slot], trajectories[step, slot]
            if trajectory < 0:
                recording.complete[slot] = False
                continue
            if fresh[step, slot]:
                recording.began[slot] = row
                recording.complete[slot] = row == starts[trajectory] + transitions[trajectory] - 1
            recording.values[row] = values[step, slot]
            if row > starts[trajectory]:
                continue
            if recording.complete[slot]:
                length = recording.began[slot] - row + 1
                ended_values[filled : filled + length] = recording.values[row : row + length]
                ended_lengths[ended] = length
                ended_trajectories[ended] = trajectory
                filled += length
                ended += 1
            elif recording.began[slot] == starts[trajectory] + transitions[trajectory] - 1:
                incomplete += 1
            recording.complete[slot] = False
    return ended_values[:filled], ended_lengths[:ended], ended_trajectories[:ended], incomplete


def _open_rows(began: Array, complete: Array, store: Store) -> Array:
    """All rows of open sweeps: from the row where each began down to its trajectory's first row."""
    ends = began[complete]
    at = store.trajectory_of(ends) - store.first
    at, ends = at[at >= 0], ends[at >= 0]  # without those whose trajectory was dropped
    return np.unique(rows_of(store.starts[at], ends - store.starts[at] + 1))
