"""Folders of `rewind train`, and what a report reads of them: rows of results, and what training logged."""

import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rewind.arrays import Array
from rewind.checked_log import METRICS, Log, read_log
from rewind.errors import DataError
from rewind.evaluation.rows import Row, by_run, group_rows, read_jsonl
from rewind.files import file_digest, read_json
from rewind.run_spec import from_record

ROWS = "rows.jsonl"
BOOKKEEPING = {"run", "name", "step", "alive", "planning_delay"}
POINTS = 200  # of a curve: a long training logs more than a chart can show

Curves = dict[str, tuple[Array, Array]]  # by figure: steps, values
Logged = dict[tuple[str, str], Curves]  # by `run_key`


class Training(NamedTuple):
    """A training that has finished, or was stopped.

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
        logged = read_metrics(self.folder, cut=not (self.folder / ROWS).exists())
        return {key: logged.get(number, {}) for key, number in self.numbers.items()}


class NoRows(DataError):
    """A folder of a training has no results to report."""


def read_trainings(folders: Sequence[Path]) -> list[Training]:
    """Those in the folders themselves, or in the ones in them. A run of two of them counts once.

    Folders without results are left out with a warning, if others have some.
    """
    trainings: list[Training] = []
    seen: set[tuple[str, str]] = set()
    without: list[NoRows] = []
    for path in dict.fromkeys(path for folder in folders for path in (folder, *sorted(folder.glob("*")))):
        try:
            runs = by_run(_rows(path))
        except NoRows as error:
            without.append(error)
            continue
        numbers = {key: number for number, key in enumerate(runs) if key not in seen}
        seen |= runs.keys()
        if numbers:
            trainings.append(Training(path, [row for key in numbers for row in runs[key]], numbers))
    if without and not trainings:
        raise without[0]
    for left_out in without:
        warnings.warn(f"left out: {left_out}", stacklevel=2)
    return trainings


def _rows(path: Path) -> list[Row]:
    """The results of the training in this very folder; none where there is no training."""
    if (path / ROWS).exists():
        _check_rows(path)
        rows = read_jsonl(path / ROWS)
        _check_config(path, rows)
        return rows
    begun = (path / "results.json").exists() or any(path.glob("group-*"))
    if not begun or not (path / "config.json").exists():
        return []
    about = read_json(path / "config.json")
    if isinstance(about, dict) and "runs" in about:
        return _stopped(path, about)
    raise NoRows(
        f"{path} has no {ROWS}. If it was trained in Python: only `rewind train` writes one. If by an earlier version "
        "of `rewind train`: the same command with --resume writes it"
    )


def _stopped(path: Path, about: dict[str, Any]) -> list[Row]:
    """The results so far of a training that has not finished, from what it logged."""
    try:
        specs = [from_record(record) for record in about["runs"]]
        common = {"device": about["device"], "versions": json.dumps(about["versions"], sort_keys=True)}
        fingerprint = about["config"]["data"]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path / 'config.json'} is damaged: {error!r}") from error
    records: list[list[dict[str, Any]]] = [[] for _ in specs]
    for log in _logs(path, len(specs)):
        if log.problem:
            warnings.warn(f"{log.problem}; it and the lines after it are left out", stacklevel=2)
        for record in log.records:
            records[record["run"]].append(record)
    alive = [all(record.get("alive") is not False for record in logged) for logged in records]
    common |= {"alive": alive, "data": {spec.dataset: fingerprint for spec in specs}}
    rows = group_rows(specs, records, {"seconds_per_update": None, "group_seconds": 0.0, **common})
    last = max((row["step"] for row in rows), default=0)
    warnings.warn(f"{path} has not finished: reported up to its evaluation at step {last:,}", stacklevel=2)
    return rows


def _check_rows(folder: Path) -> None:
    """results.json has a digest of the rows, unless an earlier version has written it."""
    results = read_json(folder / "results.json") if (folder / "results.json").exists() else {}
    digest = results.get("rows") if isinstance(results, dict) else "of nothing"
    if digest is not None and digest != file_digest(folder / ROWS):
        raise DataError(
            f"{folder / ROWS} and results.json beside it are not of one training, or one of them is damaged: the same "
            "`rewind train` command with --resume writes both again"
        )


def _check_config(path: Path, rows: Sequence[Row]) -> None:
    """Results must be those of the runs that the folder's configuration describes. Copied folders may have none."""
    if not (path / "config.json").exists():
        return
    try:
        config = read_json(path / "config.json")["config"]
        common = config["data"], config["batch_size"]
        described = [(*common, run["seed"], run["sampler"]["name"], run["agent"].get("beta")) for run in config["runs"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path / 'config.json'} is damaged: it is not the configuration of a training") from error
    last = [run[-1] for run in by_run(rows).values()]
    results = [
        tuple(row[name] for name in ("data_fingerprint", "batch_size", "seed", "sampler", "beta")) for row in last
    ]
    same = len(described) == len(results) and all(
        one[:4] == other[:4] and (one[4] is None or np.isclose(one[4], other[4]))
        for one, other in zip(described, results, strict=True)
    )
    if not same:
        raise DataError(
            f"{path / ROWS} is not of the runs in {path / 'config.json'}: two trainings were mixed; train again in "
            "another folder"
        )


def read_metrics(folder: Path, cut: bool = False) -> dict[int, Curves]:
    """What a training logged, by the number of the run; nothing where the logs are gone.

    cut: damaged lines are left out, as a killed training has one
    """
    points: dict[int, dict[str, list[tuple[int, float]]]] = {}
    for log in _logs(folder):
        if log.problem and not cut:
            raise DataError(log.problem)
        for record in log.records:
            for name in record.keys() - BOOKKEEPING:
                value = np.nan if record[name] is None else record[name]
                points.setdefault(record["run"], {}).setdefault(name, []).append((record["step"], value))
    return {run: {name: _thinned(curve) for name, curve in sorted(of.items())} for run, of in points.items()}


def _logs(folder: Path, runs: int | None = None) -> Iterator[Log]:
    return (read_log(path, None if runs is None else range(runs)) for path in sorted(folder.glob(f"group-*/{METRICS}")))


def _thinned(points: Sequence[tuple[int, float]]) -> tuple[Array, Array]:
    """At most so many points, the last among them."""
    apart = 1 + (len(points) - 1) // POINTS
    kept = points[::-apart][::-1]
    return np.array([step for step, _ in kept]), np.array([value for _, value in kept], np.float64)
