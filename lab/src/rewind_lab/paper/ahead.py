"""A group whose last update is done: the evaluations that are left, and its rows of results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewind.errors import DataError
from rewind.evaluation.rows import Row, group_rows
from rewind.run_spec import RunSpec
from rewind.training.evaluations import LOOK, EvaluateLater, Evaluations, kept_in
from rewind.training.log import JsonLines, Record
from rewind.training.train import Ahead
from rewind_lab.paper.clock import Deadline


@dataclass(frozen=True)
class GroupAhead:
    """A group that has been trained, while its last evaluations are under way.

    outcome: what was noted of it then, see `job.train_group_ahead`
    rest: which plays them
    waited: the share of its time in which the host waited for the device: none means that the host holds it up; None
        where another process has trained it
    """

    specs: Sequence[RunSpec]
    outcome: Mapping[str, Any]
    rest: Ahead | Leftover
    waited: float | None = None

    def look(self) -> int:
        """Log the evaluations that are over; how many are not."""
        return self.rest.look()

    def wait(self, deadline: Deadline) -> bool:
        """Until its evaluations are over; False: the time was before them, and what is left is kept in its folder."""
        while self.look():
            if deadline.over():
                return False
            time.sleep(LOOK)
        return True

    def rows(self) -> list[Row]:
        """Its results; waits for them."""
        return group_rows(self.specs, self.rest.records(), self.outcome)

    def abandon(self) -> None:
        """Do not wait for the evaluations: they are kept."""
        self.rest.abandon()


class Leftover:
    """The evaluations of a group that another process has trained, here or elsewhere: plays them.

    folder: with the group's metrics, and the evaluations
    runs: how many the group has
    steps: of all its evaluations
    """

    def __init__(self, folder: Path, judge: EvaluateLater, runs: int, steps: Sequence[int]) -> None:
        self._log = JsonLines(folder, float("inf"), runs)
        self._records: list[list[Record]] = [[] for _ in range(runs)]
        self._note(self._log.kept)
        missing = {*steps} - self._log.evaluated - {step for step, _ in kept_in(folder)}
        if missing or not all(self._records):
            lacks = f"no evaluation of step {min(missing):,}" if missing else "no metrics of some runs"
            raise DataError(
                f"{folder} has {lacks}, neither played (metrics.jsonl) nor to be played (evaluation-STEP.npz): bring "
                f"the files from where the group was trained, or remove {folder.parent} to train it again"
            )
        self._names = {run: own[0]["name"] for run, own in enumerate(self._records)}
        self._evaluations = Evaluations(judge, True, folder)
        self._evaluations.resume(float("inf"), self._log.evaluated)

    def look(self) -> int:
        """Log the evaluations that are over; how many are not."""
        return self._evaluations.log(self._names, self._keep)

    def records(self) -> list[list[Record]]:
        """Wait for the evaluations; what was logged of each run."""
        try:
            self._evaluations.log(self._names, self._keep, wait=True)
        finally:
            self.abandon()
        return self._records

    def abandon(self) -> None:
        """Do not wait for them: they are kept."""
        self._evaluations.close()
        self._log.close()

    def _keep(self, records: list[Record]) -> bool:
        self._note(records)
        return self._log.write(records)

    def _note(self, records: list[Record]) -> None:
        for record in records:
            self._records[record["run"]].append(record)
