"""Folders of `rewind train`, and what a report reads of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rewind.errors import DataError
from rewind.evaluation.rows import Row, by_run, read_jsonl
from rewind.report.train_metrics import Curves, read_metrics

ROWS = "rows.jsonl"


Logged = dict[tuple[str, str], Curves]  # by `run_key`


class Training(NamedTuple):
    """A finished training.

    rows: its results
    numbers: of its runs in what it logged
    """

    folder: Path
    rows: list[Row]
    numbers: dict[tuple[str, str], int]

    @property
    def evaluated(self) -> bool:
        """Whether its policies were evaluated in a simulator."""
        return self.rows[0]["diagnostics"] is None

    def metrics(self) -> Logged:
        """What it logged; nothing where the logs are gone."""
        logged = read_metrics(self.folder)
        return {key: logged.get(number, {}) for key, number in self.numbers.items()}


def read_trainings(folder: Path) -> list[Training]:
    """Those that have finished: in the folder itself, or in the ones in it. A run of two of them counts once."""
    trainings: list[Training] = []
    seen: set[tuple[str, str]] = set()
    for path in (folder, *sorted(folder.glob("*"))):
        if (path / ROWS).exists():
            runs = by_run(read_jsonl(path / ROWS))
            numbers = {key: number for number, key in enumerate(runs) if key not in seen}
            seen |= runs.keys()
            if numbers:
                trainings.append(Training(path, [row for key in numbers for row in runs[key]], numbers))
        elif (path / "config.json").exists() and (path / "results.json").exists():
            raise DataError(
                f"{path} was written by an earlier version: the same `rewind train` command with --resume writes its "
                f"results again, with {ROWS}"
            )
    return trainings
