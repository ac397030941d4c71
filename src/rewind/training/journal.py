"""What is recorded of one group, by the process that trains it or by one that has its folder."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rewind.checked_log import Mark, Record
from rewind.files import finite
from rewind.processes import never
from rewind.progress import say
from rewind.training.evaluations import (
    EvaluationThread,
    Figures,
    GroupEvaluator,
    keep_request,
    kept_in,
    read_request,
)
from rewind.training.group import Group
from rewind.training.log import JsonLines, Sink

LOOK = 0.1  # seconds between two polls of those who wait


class _UnderWay(NamedTuple):
    step: int
    done: Future[Figures]
    kept: Path | None  # the file of its request


class Journal:
    """The records of one group: metrics at once, evaluations in their order, when they are over.

    names: of the group's runs, by their numbers
    evaluator: None where nothing is evaluated
    folder: with the metrics, and the evaluations that are not over; None: nothing is kept
    step: that the group is at; what was recorded after it is dropped, and comes again
    on_evaluation: is given the records of each evaluation that is over
    due: steps whose evaluations are logged or kept, unless something was lost
    """

    def __init__(
        self,
        names: Mapping[int, str],
        evaluator: GroupEvaluator | None,
        folder: Path | None,
        step: float,
        on_evaluation: Callable[[list[Record]], None] | None = None,
        due: Iterable[int] = (),
    ) -> None:
        self.records: dict[int, list[Record]] = {number: [] for number in names}
        self.evaluated: set[int] = set()  # steps of evaluations that an earlier process has recorded
        self.sinks: list[Sink] = []
        self._names, self._evaluator, self._folder, self._on_evaluation = names, evaluator, folder, on_evaluation
        self._thread = EvaluationThread()
        self._under_way: list[_UnderWay] = []
        if folder is not None:
            due = {*due} - {at for at, _ in kept_in(folder)}
            lines = self._lines = JsonLines(folder, step, names, due)
            for at in sorted(due - lines.evaluated):
                say(f"rewind: no evaluation of step {at:,} in {folder}: results are without it", sys.stderr)
            self._add(lines.kept)
            self.evaluated = lines.evaluated
            self.sinks.append(lines)
            self._resume(folder, step)

    def _resume(self, folder: Path, step: float) -> None:
        """Evaluate what an earlier process has left."""
        if self._evaluator is None:
            return
        for at, path in kept_in(folder):
            if at > step or at in self.evaluated:
                path.unlink()
            else:
                self._under_way.append(
                    _UnderWay(at, self._thread.submit(self._evaluator, partial(read_request, at, path)), path)
                )

    def write(self, records: Sequence[Record]) -> bool:
        """Whether they are there to stay, wherever they go."""
        self._add(records)
        written = [sink.write(records) for sink in self.sinks]
        return all(written)

    def sync(self) -> Mark:
        """Wait until the lines in the folder are on the disk. Raises an error where they cannot be."""
        return self._lines.sync()

    def evaluate(self, group: Group) -> None:
        """The group as it is now: at once, or beside its training."""
        assert self._evaluator is not None
        step, kept = group.step, None
        request = self._evaluator.request(group, step)
        if not request.portable:
            done: Future[Figures] = Future()
            done.set_result(self._evaluator.evaluate(request, never))
        else:
            kept = None if self._folder is None else keep_request(self._folder, request)
            read = (lambda: request) if kept is None else partial(read_request, step, kept)
            done = self._thread.submit(self._evaluator, read)
        self._under_way.append(_UnderWay(step, done, kept))

    def poll(self) -> int:
        """Record the evaluations that are over; how many are not."""
        while self._under_way and self._under_way[0].done.done():
            self._record(self._under_way[0])
        return len(self._under_way)

    def wait(self) -> None:
        """Until all evaluations are over."""
        while self._under_way:
            self._record(self._under_way[0])

    @property
    def unkept(self) -> bool:
        """Whether there are evaluations that are lost if nobody waits for them."""
        return any(evaluation.kept is None for evaluation in self._under_way)

    def close(self) -> None:
        """Nothing more is evaluated or recorded. A folder keeps what is not over."""
        self._thread.close()
        for sink in self.sinks:
            sink.close()
        self.sinks = []

    def _record(self, evaluation: _UnderWay) -> None:
        figures = evaluation.done.result()
        self._under_way.pop(0)
        records: list[Record] = [
            {"run": number, "name": name, "step": evaluation.step}
            | {key: finite(values[at]) for key, values in figures.items()}
            for at, (number, name) in enumerate(self._names.items())
        ]
        if self.write(records) and evaluation.kept is not None:
            with suppress(OSError):  # otherwise it stays until it is resumed
                self.sync()
                evaluation.kept.unlink(missing_ok=True)
        if self._on_evaluation is not None:
            self._on_evaluation(records)

    def _add(self, records: Sequence[Record]) -> None:
        for record in records:
            self.records[record["run"]].append(record)
