"""Where metrics go: JSON Lines always, TensorBoard and Weights & Biases when asked."""

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from rewind.checked_log import METRICS, Mark, Record, line_of, read_log
from rewind.errors import DataError, require
from rewind.files import whole_file
from rewind.progress import say


class Sink(Protocol):
    def write(self, records: Sequence[Record]) -> bool:
        """Whether they are there to stay."""

    def close(self) -> None: ...


def evaluates(record: Record) -> bool:
    """Whether it is of an evaluation: metrics of training say whether the run is alive."""
    return "alive" not in record


class JsonLines:
    """One line per run and step in a file of the folder. What cannot be written now is written with what comes next.

    runs: that write to it
    due: steps whose evaluations must be in it, since nobody evaluates them again
    kept: what a resumed run has logged before, up to `from_step`
    evaluated: steps with the evaluation of every run among it; of one that was cut off, nothing is kept
    """

    def __init__(
        self,
        folder: Path,
        from_step: float,
        runs: Collection[int],
        due: Iterable[int] = (),
        name: str = METRICS,
    ) -> None:
        self.path = folder / name
        log = read_log(self.path, runs)
        before = [record for record in log.records if record["step"] <= from_step]  # what came after comes again
        counts = Counter(record["step"] for record in before if evaluates(record))
        self.evaluated = {step for step, count in counts.items() if count == len(runs)}
        self.kept = [record for record in before if record["step"] in self.evaluated or not evaluates(record)]
        if log.problem:
            if lost := sorted(set(due) - self.evaluated):
                raise DataError(
                    f"{log.problem}, and the evaluation of step {lost[0]:,} is lost: restore the file from a copy, or "
                    "remove the folder to start anew"
                )
            say(f"rewind: {log.problem}; it and the lines after it are dropped, and come again", sys.stderr)
        self._checks: list[str] = []
        content = self._lines(self.kept)
        if not self.path.exists() or self.path.read_bytes() != content:
            with whole_file(self.path) as temporary:
                temporary.write_bytes(content)
        self._file = self.path.open("ab", buffering=0)
        self._size, self._unwritten, self._failed = len(content), b"", False

    def _lines(self, records: Sequence[Record]) -> bytes:
        return b"".join(line_of(record, self._checks) for record in records)

    def write(self, records: Sequence[Record]) -> bool:
        self._unwritten += self._lines(records)
        try:
            self._write()
        except OSError as error:  # a full disk must not end the training
            if not self._failed:
                problem = f"metrics cannot be written to {self.path} now: {error.strerror}; training continues"
                say(f"rewind: {problem}", sys.stderr)
            self._failed = True
            return False
        return True

    def sync(self) -> Mark:
        """Wait until all lines are on the disk. Raises an error where they cannot be."""
        self._write()
        os.fsync(self._file.fileno())
        return Mark(len(self._checks), self._checks[-1]) if self._checks else Mark()

    def _write(self) -> None:
        """All lines or none."""
        done = 0
        try:
            while done < len(self._unwritten):
                done += self._file.write(self._unwritten[done:])
        except OSError:
            with suppress(OSError):
                self._file.truncate(self._size)
            raise
        self._size, self._unwritten, self._failed = self._size + done, b"", False

    def close(self) -> None:
        with suppress(OSError):
            self._write()
        self._file.close()


class TensorBoard:
    """One folder of events per run."""

    def __init__(self, folder: Path, names: Mapping[int, str], from_step: int) -> None:
        writer = require("tensorboardX", "log").SummaryWriter
        self._writers = {
            run: writer(str(folder / "tensorboard" / f"{run:03d} {name}"), purge_step=from_step + 1)
            for run, name in names.items()
        }

    def write(self, records: Sequence[Record]) -> bool:
        for record in records:
            for key, value in record.items():
                if key not in ("run", "step") and isinstance(value, (int, float)):
                    self._writers[record["run"]].add_scalar(key, value, record["step"])
        return True

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()


class WeightsAndBiases:
    """One W&B run per run of ours, in one group.

    described: what each run is, by its number; its name among it
    """

    def __init__(self, folder: Path, described: Mapping[int, Mapping[str, Any]], project: str) -> None:
        wandb = require("wandb", "wandb")
        self._runs = {
            run: wandb.init(
                project=project,
                group=str(folder.parent.name),
                name=about["name"],
                config=dict(about),
                id=hashlib.blake2b(f"{folder.resolve()} {run}".encode(), digest_size=8).hexdigest(),
                resume="allow",
                dir=str(folder),
                reinit="create_new",
            )
            for run, about in described.items()
        }
        for run in self._runs.values():
            run.define_metric("*", step_metric="step")  # evaluations may come later than what was trained after them

    def write(self, records: Sequence[Record]) -> bool:
        for record in records:
            numbers = {key: value for key, value in record.items() if isinstance(value, (int, float)) and key != "run"}
            self._runs[record["run"]].log(numbers)
        return True

    def close(self) -> None:
        for run in self._runs.values():
            run.finish()
