"""A group whose last update is done: the evaluations that are left, and its rows of results."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rewind.errors import DataError
from rewind.evaluation.rows import Row
from rewind.run_spec import RunSpec, group_name
from rewind.training.evaluations import LOOK, EvaluateLater, Evaluations, kept_in
from rewind.training.group import BLOCK, DYNAMIC_BLOCK
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
        records = zip(self.specs, self.outcome["alive"], self.rest.records(), strict=True)
        return [row for spec, alive, own in records for row in self._rows(spec, alive, own)]

    def abandon(self) -> None:
        """Do not wait for the evaluations: they are kept."""
        self.rest.abandon()

    def _rows(self, spec: RunSpec, alive: bool, records: Sequence[Record]) -> list[Row]:
        """A row for each evaluation of one run."""
        dead = [record["step"] for record in records if record.get("alive") is False]
        dead_from = np.inf if alive else min(dead, default=np.inf)
        block = spec.block or (DYNAMIC_BLOCK if any(each.dynamic for each in self.specs) else BLOCK)
        common: Row = {
            "run": spec.run, "group": group_name(self.specs), "dataset": spec.dataset, "suite": spec.suite,
            "algorithm": spec.algorithm, "sampler": spec.sampler, "beta": spec.beta,
            "settings": json.dumps(dict(spec.settings), sort_keys=True), "reuse": spec.reuse, "exponent": spec.exponent,
            "stagger": spec.stagger, "block": block, "batch_size": spec.batch_size, "steps": spec.steps,
            "seed": spec.seed, "runs_together": len(self.specs), "data_fingerprint": self.outcome["data"][spec.dataset],
            **{name: self.outcome[name] for name in ("seconds_per_update", "group_seconds", "device", "versions")},
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }  # fmt: skip
        return [
            {**common, **{name: record[name] for name in ("step", "score", "return", "length")}}
            | {"episodes": int(record["episodes"]), "evaluation_seed": int(record["evaluation_seed"])}
            | {"alive": record["step"] < dead_from}
            | {name: _last(name, records, record["step"]) for name in ("q", "q_excess")}
            for record in sorted(records, key=lambda record: record["step"])
            if "score" in record
        ]


def _last(name: str, records: Sequence[Record], step: int) -> float | None:
    """As it was logged last at or before a step."""
    logged = [record for record in records if name in record and record["step"] <= step]
    value: float | None = max(logged, key=lambda record: record["step"])[name] if logged else None
    return value


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
