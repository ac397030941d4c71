"""One group: from its runs to its rows of results. The same on this machine and on a worker of a cluster."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax

from rewind.cli.train_job import find_environment
from rewind.data import Trajectories, load
from rewind.errors import DataError, RewindError
from rewind.evaluation import evaluation_steps
from rewind.evaluation.rows import Row
from rewind.evaluation.scoring import Scorer
from rewind.files import read_json, write_json
from rewind.progress import say
from rewind.run_spec import RunSpec
from rewind.training import Options, Run, Stopped, engine_run
from rewind.training.checkpoint import checkpoints
from rewind.training.engine import device_kind, made_with
from rewind.training.evaluations import can_wait
from rewind.training.options import CannotResume
from rewind.training.train import Ahead, find_device, group_folder, train_ahead
from rewind_lab.paper.ahead import GroupAhead, Leftover
from rewind_lab.paper.clock import Clock, Deadline
from rewind_lab.paper.packing import datasets_of
from rewind_lab.paper.work import TRAINED, is_trained, read_work, write_work

LOG_EVERY = 10_000
KEPT = ("work.json", "clock.json")  # of a group that starts anew


@dataclass(frozen=True)
class JobOptions:
    """How groups are trained.

    points: evaluations on the way, before the paper's last five
    checkpoint_minutes: what a killed process loses at most
    evaluation_seconds: of one evaluation, where training waits for it, until the first was measured
    """

    points: int = 10
    checkpoint_minutes: float = 2.0
    device: str | None = None
    fused: bool = False
    progress: bool = True
    evaluation_seconds: float = 0.0


@lru_cache(maxsize=4)
def load_data(name: str) -> Trajectories:
    """The last ones are kept: a group may have several, and the next one is often on the same data."""
    return load(name)


def check_datasets(names: Iterable[str]) -> dict[str, str]:
    """Those that cannot be had, or have nothing that their policies could play in; and why."""
    refused = {}
    for name in names:
        try:
            data = load_data(name)
            Scorer(_environment(data), 1).check(data)
        except RewindError as error:
            refused[name] = str(error)
    return refused


def train_group(specs: Sequence[RunSpec], folder: Path, deadline: Deadline, options: JobOptions) -> list[Row]:
    """Train runs of one program together, evaluate them by the paper's protocol, and return their results.

    What is in `folder` is continued. Raises `Stopped` when the deadline comes before the end.
    """
    trained = train_group_ahead(specs, folder, deadline, options)
    if not trained.wait(deadline):
        trained.abandon()
        raise Stopped("the time was over before all evaluations were played")
    return trained.rows()


def train_group_ahead(
    specs: Sequence[RunSpec],
    folder: Path,
    deadline: Deadline,
    options: JobOptions,
    meanwhile: Callable[[], None] = lambda: None,
) -> GroupAhead:
    """The same up to the last update.

    meanwhile: called after every block
    """
    if is_trained(folder):
        specs, outcome = read_work(folder), read_json(folder / TRAINED)
        rest = Leftover(group_folder(folder), Scorer((), specs[0].episodes), len(specs), outcome["evaluations"])
        return GroupAhead(specs, outcome, rest)

    def over() -> bool:
        meanwhile()
        return deadline.over()

    first = specs[0]
    data = {name: load_data(name) for name in datasets_of(specs)}
    runs = [replace(engine_run(spec, data[spec.dataset]), data=data[spec.dataset]) for spec in specs]
    environments = {name: _environment(own) for name, own in data.items()}
    scorer = Scorer([environments[spec.dataset] for spec in specs], first.episodes)
    write_work(folder, specs)
    clock = Clock(folder, scorer, deadline)
    at = evaluation_steps(first.steps, max(1, first.steps // options.points))
    settings: dict[str, Any] = {
        "steps": first.steps, "batch_size": first.batch_size, "block": first.block, "log_every": LOG_EVERY,
        "evaluate_at": tuple(at), "out": folder, "checkpoint_minutes": options.checkpoint_minutes,
        "device": options.device, "fused": options.fused, "progress": options.progress,
        "stop": over, "last_checkpoint": False,
        "record": {"episodes": first.episodes, "environments": environments},
    }  # fmt: skip
    with clock, jax.default_device(find_device(options.device)):
        deadline.evaluation = 0.0 if can_wait(scorer) else options.evaluation_seconds
        try:
            trained = _resumed(data[first.dataset], runs, clock, folder, settings)
        except RuntimeError as error:  # what JAX raises, among much else, for memory
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            raise RewindError(
                f"{len(specs)} runs of {first.algorithm} do not fit into the device's memory together: "
                f"--runs-per-group {max(1, len(specs) // 2)}"
            ) from error
    outcome = _outcome(trained, clock, data, options)
    if not trained.unkept:
        _note(folder, outcome)
    return GroupAhead(specs, outcome, trained, trained.waited / clock.here)


def _outcome(trained: Ahead, clock: Clock, data: Mapping[str, Trajectories], options: JobOptions) -> dict[str, Any]:
    """All that results need of a trained group, but for its evaluations."""
    return {
        "alive": trained.alive,
        "evaluations": trained.evaluation_steps,
        "data": {name: own.fingerprint for name, own in data.items()},
        "seconds_per_update": clock.seconds_per_update(len(trained.alive)),
        "group_seconds": clock.spent,
        "device": device_kind(),
        "versions": json.dumps(made_with(options.fused), sort_keys=True),
    }


def _note(folder: Path, outcome: Mapping[str, Any]) -> None:
    """From now on the evaluations that are kept in the folder are all that is left to do, here or anywhere."""
    try:
        write_json(folder / TRAINED, outcome)
    except OSError as error:  # a full disk; whoever stops now loses what came after the last checkpoint
        say(f"rewind: {folder / TRAINED} cannot be written: {error}")
        return
    for checkpoint in checkpoints(group_folder(folder)):
        checkpoint.unlink()


def _resumed(data: Trajectories, runs: list[Run], clock: Clock, folder: Path, settings: dict[str, Any]) -> Ahead:
    """Go on with what is in the folder. What cannot be gone on with, since data or code have changed, starts anew."""
    if not (folder / "config.json").exists():
        return train_ahead(data, runs, clock, Options(**settings))
    try:
        return train_ahead(data, runs, clock, Options(**settings, resume=True))
    except CannotResume as error:
        print(f"rewind: {error}; this group starts anew", flush=True)
        for path in folder.iterdir():
            if path.name not in KEPT:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        return train_ahead(data, runs, clock, Options(**settings))


def _environment(data: Trajectories) -> str:
    environment = find_environment("auto", data)
    if environment is None:
        raise DataError(f"{data.name or 'this data'} has no environment to be evaluated in")
    return environment
