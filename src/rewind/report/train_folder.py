"""Rows of results from folders of `rewind train`, so that they are reported like the paper's runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from rewind.agents.settings import paper_settings, paper_view
from rewind.data.catalogue import known_entry
from rewind.errors import DataError
from rewind.evaluation.rows import Row
from rewind.rebuilt.recipes import GIVEN, recipes
from rewind.run_spec import DYNAMIC_BLOCK, digest


def train_folders(folder: Path) -> list[Path]:
    """Those with finished training: the folder itself, or the ones in it."""
    names = ("config.json", "results.json")
    return [each for each in (folder, *sorted(folder.glob("*"))) if all((each / name).exists() for name in names)]


class Finished(NamedTuple):
    """A run of `rewind train`."""

    row: Row  # as of its last step, without a score
    result: dict[str, Any]  # what results.json says of it
    folder: Path
    number: int  # in the folder's metrics


def train_rows(runs: Iterable[Finished]) -> list[Row]:
    """A row for each evaluation of each run; none for runs that nothing was played with."""
    rows = []
    for run in runs:
        curve = run.result.get("curve", {"steps": [], "scores": []})
        with _expected(run.folder):
            pairs = zip(curve["steps"], curve["scores"], strict=True)
            rows += [run.row | {"step": step, "score": score} for step, score in pairs]
    return rows


def train_runs(*folders: Path) -> list[Finished]:
    """All runs in the folders, in the order of their tables."""
    trainings = [_training(folder) for folder in folders]
    together: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for training in trainings:
        together.setdefault(training.of, []).extend(training.described)
    swept = {key: _swept(runs) for key, runs in together.items()}
    return [run for training in trainings for run in _finished(training, swept[training.of])]


class _Training(NamedTuple):
    """What `rewind train` wrote into a folder."""

    folder: Path
    config: Any
    results: Any
    of: tuple[str, str]  # the data set's name, the algorithm
    described: list[dict[str, Any]]  # its runs


def _training(folder: Path) -> _Training:
    config, results = _read(folder / "config.json"), _read(folder / "results.json")
    with _expected(folder):
        name = results["data"]["name"] or Path(results["command"]["data"]["dataset"]).stem
        return _Training(folder, config, results, (name, results["command"]["agent"]["algorithm"]),
                         list(config["config"]["runs"]))  # fmt: skip


def _finished(training: _Training, swept: Sequence[str]) -> list[Finished]:
    with _expected(training.folder):
        pairs = zip(training.described, training.results["runs"], strict=True)
        return [Finished(_row(training, run, result, swept), result, training.folder, number)
                for number, (run, result) in enumerate(pairs)]  # fmt: skip


@contextmanager
def _expected(folder: Path) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder} does not hold what `rewind train` writes: {error!r}") from error


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def _swept(runs: Sequence[dict[str, Any]]) -> list[str]:
    """The numbers of the agent that differ from run to run on the same data, in whatever folders they are.

    beta and the steps have columns of their own.
    """
    known = dict.fromkeys(name for run in runs for name in run["agent"])  # a number may be missing: no bound
    names = [name for name in known if name not in ("class", "beta", "total_steps")]
    return [name for name in names if len({json.dumps(run["agent"].get(name)) for run in runs}) > 1]


def _settings(training: _Training, run: dict[str, Any], swept: Sequence[str]) -> dict[str, Any]:
    """What sets a run apart from others, and on a catalogued data set from the paper's: numbers, view, data."""
    name, algorithm = training.of
    agent, known = run["agent"], known_entry(name)
    built = _built_otherwise(training.results["data"].get("notes", {}))
    if known is None:
        return {each: agent[each] for each in swept if each in agent} | built
    command = training.results["command"]["agent"]
    given = [text.partition("=")[0] for text in command.get("set", ())] + (["hidden"] if command.get("hidden") else [])
    given += ["target_low", "target_high"] if command.get("bounded") else []
    paper = paper_settings(algorithm, name)
    own = {each: agent.get(each) for each in (*swept, *given) if each != "total_steps"}
    view = {"top": 1.0, **paper_view(algorithm, name)}
    seen = {each: value for each, value in run.get("view", {}).items() if value != view.get(each, value)}
    return {each: value for each, value in own.items() if value != paper.get(each)} | seen | built


def _built_otherwise(notes: dict[str, Any]) -> dict[str, Any]:
    """How a rebuilt data set differs from what its name means: its size, its seed, its policy, where episodes end."""
    made = notes.get("made", {})
    own = made.get("recipe", {})
    recipe = recipes().get(own.get("name", ""))
    if recipe is None:
        return {}
    (first, *more), policies = recipe.policies, [one["name"] for one in made["policies"]]
    found: dict[str, Any] = {"transitions": own["size"]} if own["size"] != recipe.size else {}
    found |= {"data seed": made["seed"]} if made["seed"] else {}
    if not more and first != GIVEN and "*" not in first and policies != [first]:
        found["policy"] = policies[0]
    if recipe.maze is not None and own["maze"]["stop"] != recipe.maze.stop:
        found["episodes"] = "go on after their goals"
    return found


def _row(training: _Training, run: dict[str, Any], result: dict[str, Any], swept: Sequence[str]) -> Row:
    folder, config, results, (name, algorithm), _ = training
    known, sampler = known_entry(name), run["sampler"]
    return {
        "run": digest([str(folder.resolve()), run["name"]]),
        "group": digest([str(folder.resolve())]),
        "dataset": name,
        "suite": "other" if known is None else known.suite,
        "algorithm": algorithm,
        "sampler": sampler["name"],
        "beta": float(run["agent"].get("beta", 1.0)),
        "settings": json.dumps(_settings(training, run, swept), sort_keys=True),
        "reuse": sampler["reuse"],
        "rank_exponent": sampler["rank_exponent"] if "rank_exponent" in sampler else sampler["alpha"],
        "stagger": sampler["stagger"],
        "block": config["config"]["block"] or DYNAMIC_BLOCK,
        "batch_size": results["batch_size"],
        "steps": results["steps"],
        "seed": run["seed"],
        "step": results["steps"],
        "score": None,
        "alive": result["alive"],
        "q": result.get("q"),
        "q_excess": result.get("q_excess"),
        "group_seconds": 0.0,  # not recorded
        "device": config["device"],
        "versions": json.dumps(config["versions"]),
        "data_fingerprint": results["data"]["fingerprint"],
        "finished": datetime.fromtimestamp((folder / "results.json").stat().st_mtime, UTC).isoformat(),
    }
