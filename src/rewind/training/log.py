"""Where metrics go: JSON Lines always, TensorBoard and Weights & Biases when asked."""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from rewind.errors import DataError, require
from rewind.files import read_lines, whole_file

Record = dict[str, Any]  # "run", "name", "step", and numbers


class Sink(Protocol):
    def write(self, records: Sequence[Record]) -> bool:
        """Whether they are there to stay."""

    def close(self) -> None: ...


class JsonLines:
    """One line per run and step in a file of the folder.

    runs: that write to it
    kept: what a resumed run has logged before, up to `from_step`
    evaluated: steps with the evaluation of every run among it; of one that was cut off, nothing is kept
    """

    def __init__(self, folder: Path, from_step: float, runs: int, name: str = "metrics.jsonl") -> None:
        self.path = folder / name
        before = self._read(from_step)
        scored = Counter(record["step"] for record in before if "score" in record)
        self.evaluated = {step for step, count in scored.items() if count == runs}
        self.kept = [record for record in before if "score" not in record or record["step"] in self.evaluated]
        with whole_file(self.path) as temporary:
            temporary.write_text("".join(json.dumps(record) + "\n" for record in self.kept), encoding="utf-8")
        self._file = self.path.open("a", encoding="utf-8")
        self._failed = False

    def _read(self, until: float) -> list[Record]:
        """What was logged up to a step: a resumed run writes what came after its checkpoint again."""
        if not self.path.exists():
            return []
        records = []
        for line in read_lines(self.path):
            with suppress(json.JSONDecodeError):  # cut off in the middle of a line
                records.append(json.loads(line))
        try:
            return [record for record in records if record["step"] <= until]
        except (KeyError, TypeError) as error:
            raise DataError(f"{self.path} has a line that is not one of metrics: {error!r}") from error

    def write(self, records: Sequence[Record]) -> bool:
        try:
            self._file.writelines(json.dumps(record) + "\n" for record in records)
            self._file.flush()
        except OSError as error:  # a full disk must not end the training
            if not self._failed:
                problem = f"metrics could not be written to {self.path}: {error}; training continues"
                print(f"rewind: {problem}", file=sys.stderr)
            self._failed = True
            return False
        return True

    def close(self) -> None:
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
