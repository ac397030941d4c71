"""A group whose last update is done: the evaluations that are left, and its rows of results."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewind.checked_log import METRICS, Mark, read_log
from rewind.errors import DataError
from rewind.evaluation.rows import Row, group_rows
from rewind.run_spec import RunSpec
from rewind.training.evaluations import GroupEvaluator, kept_in
from rewind.training.journal import LOOK, Journal
from rewind_lab.paper.clock import Deadline


@dataclass(frozen=True)
class TrainedGroup:
    """A group that has been trained, while its last evaluations are under way.

    outcome: what was noted of it then, see `job.train_group`
    journal: where its evaluations are recorded
    waited: the share of its time in which the host waited for the device: none means that the host holds it up; None
        where another process has trained it
    """

    specs: Sequence[RunSpec]
    outcome: Mapping[str, Any]
    journal: Journal
    waited: float | None = None

    def wait(self, deadline: Deadline) -> bool:
        """Until its evaluations are over; False: the time was before them, and what is left is kept in its folder."""
        while self.journal.poll():
            if deadline.over():
                return False
            time.sleep(LOOK)
        return True

    def rows(self) -> list[Row]:
        """Its results, once its evaluations are over."""
        self.journal.close()
        return group_rows(self.specs, list(self.journal.records.values()), self.outcome)


def trained_elsewhere(
    specs: Sequence[RunSpec], outcome: Mapping[str, Any], folder: Path, evaluator: GroupEvaluator
) -> TrainedGroup:
    """A group that another process has trained, here or on another machine: evaluates what it has left.

    folder: with the group's metrics, and the evaluations
    """
    lacks = read_log(folder / METRICS, range(len(specs))).lacks(Mark(*outcome.get("log", ())))
    if lacks:
        raise DataError(f"{lacks}: copy the files from where the group was trained, or remove {folder.parent}")
    journal = Journal({number: spec.run for number, spec in enumerate(specs)}, evaluator, folder, float("inf"))
    missing = {*outcome["evaluations"]} - journal.evaluated - {step for step, _ in kept_in(folder)}
    if missing or not all(journal.records.values()):
        journal.close()
        lacks = f"no evaluation of step {min(missing):,}" if missing else "no metrics of some runs"
        raise DataError(
            f"{folder} has {lacks}, neither done (metrics.jsonl) nor to be done (evaluation-STEP.npz): copy the files "
            f"from where the group was trained, or remove {folder.parent} to train it again"
        )
    return TrainedGroup(specs, outcome, journal)
