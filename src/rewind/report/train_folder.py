"""Rows of results from folders of `rewind train`, so that they are reported like the paper's runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rewind.data.catalogue import known_entry
from rewind.errors import DataError
from rewind.experiments.paper.results import Row
from rewind.experiments.paper.specs import DEFAULT_BLOCK, digest


def train_folders(folder: Path) -> list[Path]:
    """Those with finished training: the folder itself, or the ones in it."""
    names = ("config.json", "results.json")
    return [each for each in (folder, *sorted(folder.glob("*"))) if all((each / name).exists() for name in names)]


def train_rows(folder: Path) -> list[Row]:
    """A row for each evaluation of each run."""
    config, results = _read(folder / "config.json"), _read(folder / "results.json")
    try:
        described, finished = config["config"]["runs"], results["runs"]
        swept = _swept(described)
        pairs = zip(described, finished, strict=True)
        return [row for run, result in pairs for row in _rows(folder, config, results, run, result, swept)]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder} does not hold what `rewind train` writes: {error!r}") from error


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def _swept(runs: Sequence[dict[str, Any]]) -> list[str]:
    """The numbers of the agent that differ from run to run; beta has a column of its own."""
    names = [name for name in runs[0]["agent"] if name not in ("class", "beta")]
    return [name for name in names if len({json.dumps(run["agent"][name]) for run in runs}) > 1]


def _rows(
    folder: Path, config: Any, results: Any, run: dict[str, Any], result: dict[str, Any], swept: Sequence[str]
) -> Iterator[Row]:
    curve = result.get("curve", {"steps": [], "scores": []})
    name = results["data"]["name"] or Path(results["command"]["data"]["dataset"]).stem
    known, sampler = known_entry(name), run["sampler"]
    for step, score in zip(curve["steps"], curve["scores"], strict=True):
        yield {
            "run": digest([str(folder.resolve()), run["name"]]),
            "group": digest([str(folder.resolve())]),
            "dataset": name,
            "suite": "other" if known is None else known.suite,
            "algorithm": results["command"]["agent"]["algorithm"],
            "sampler": sampler["name"],
            "beta": float(run["agent"].get("beta", 1.0)),
            "settings": json.dumps({key: run["agent"][key] for key in swept}),
            "reuse": sampler["reuse"],
            "exponent": sampler["alpha"],
            "stagger": sampler["stagger"],
            "block": config["config"]["block"] or DEFAULT_BLOCK,
            "batch_size": results["batch_size"],
            "steps": results["steps"],
            "seed": run["seed"],
            "step": step,
            "score": score,
            "alive": result["alive"],
            "group_seconds": 0.0,  # not recorded
            "device": config["device"],
            "versions": json.dumps(config["versions"]),
            "data_fingerprint": results["data"]["fingerprint"],
            "finished": datetime.fromtimestamp((folder / "results.json").stat().st_mtime, UTC).isoformat(),
        }
