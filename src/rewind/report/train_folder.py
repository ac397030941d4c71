"""Folders of `rewind train`, and what a report reads of them: rows of results, and what training logged."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError
from rewind.evaluation.rows import Row, by_run, read_jsonl
from rewind.files import read_lines

ROWS = "rows.jsonl"
BOOKKEEPING = {"run", "name", "step", "alive", "planning_delay"}
POINTS = 200  # of a curve: a long training logs more than a chart can show

Curves = dict[str, tuple[Array, Array]]  # by figure: steps, values
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


def read_metrics(folder: Path) -> dict[int, Curves]:
    """What a training logged, by the number of the run; nothing where the logs are gone."""
    points: dict[int, dict[str, list[tuple[int, float]]]] = {}
    for record in _records(folder):
        for name in record.keys() - BOOKKEEPING:
            value = np.nan if record[name] is None else record[name]
            points.setdefault(record["run"], {}).setdefault(name, []).append((record["step"], value))
    return {run: {name: _thinned(curve) for name, curve in sorted(of.items())} for run, of in points.items()}


def _records(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("group-*/metrics.jsonl")):
        for place, line in enumerate(read_lines(path), 1):
            try:
                record = json.loads(line)
                yield {"run": record["run"], "step": record["step"], **record}
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(
                    f"{path}, line {place}, is not a line of metrics: {error!r}; was the file cut?"
                ) from error


def _thinned(points: Sequence[tuple[int, float]]) -> tuple[Array, Array]:
    """At most so many points, the last among them."""
    apart = 1 + (len(points) - 1) // POINTS
    kept = points[::-apart][::-1]
    return np.array([step for step, _ in kept]), np.array([value for _, value in kept], np.float64)
