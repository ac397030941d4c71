"""The metrics that `rewind train` logs, as curves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError

Curves = dict[str, tuple[Array, Array]]  # by figure: steps, values

BOOKKEEPING = {"run", "name", "step", "alive", "planning_delay"}
POINTS = 200  # of a curve: a long training logs more than a chart can show


def read_metrics(folder: Path) -> dict[int, Curves]:
    """What a training logged, by the number of the run; nothing where the logs are gone."""
    points: dict[int, dict[str, list[tuple[int, float]]]] = {}
    for record in _records(folder):
        for name in record.keys() - BOOKKEEPING:
            value = np.nan if record[name] is None else record[name]
            points.setdefault(record["run"], {}).setdefault(name, []).append((record["step"], value))
    return {run: {name: _thinned(own) for name, own in sorted(found.items())} for run, found in points.items()}


def _records(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("group-*/metrics.jsonl")):
        for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                record = json.loads(line)
                yield {"run": record["run"], "step": record["step"], **record}
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(f"{path}, line {place}, is no line of metrics: {error!r}; was the file cut?") from error


def _thinned(points: Sequence[tuple[int, float]]) -> tuple[Array, Array]:
    """At most so many points, the last among them."""
    apart = 1 + (len(points) - 1) // POINTS
    kept = points[::-apart][::-1]
    return np.array([step for step, _ in kept]), np.array([value for _, value in kept], np.float64)
