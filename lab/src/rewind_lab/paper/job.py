"""Training one group: from its runs to its results. The same on this machine and on a worker of a cluster."""

import json
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax

from rewind.checked_log import METRICS, Mark, read_log
from rewind.data import Trajectories, load
from rewind.errors import DataError, RewindError
from rewind.evaluation import evaluation_steps
from rewind.evaluation.rows import Row, group_rows
from rewind.evaluation.scoring import Scorer, find_environment
from rewind.files import read_json, write_json
from rewind.progress import say
from rewind.run_spec import PRECISION, RunSpec
from rewind.training import Options, Run, Trainer, engine_run
from rewind.training.checkpoint import checkpoints
from rewind.training.engine import device_kind, made_with
from rewind.training.evaluations import GroupEvaluator, kept_in
from rewind.training.journal import LOOK, Journal
from rewind.training.options import CannotResume
from rewind.training.session import find_device, group_folder
from rewind_lab.paper.clock import Clock, Deadline
from rewind_lab.paper.costs import datasets_of
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


@dataclass(frozen=True)
class TrainedGroup:
    """A group that has been trained, while its last evaluations are under way.

    outcome: what was noted of it then, see `train_group`
    journal: where its evaluations are recorded
    waited: the share of its time in which the host waited for the device: none means that the host holds it up; None
        where another process has trained it
    """

    specs: Sequence[RunSpec]
    outcome: Mapping[str, Any]
    journal: Journal
    waited: float | None = None

    def wait(self, deadline: Deadline) -> bool:
        """Until its evaluations are over; False: the time was before them, and what is left is kept in its folder."""
        while self.journal.poll():
            if deadline.over():
                return False
            time.sleep(LOOK)
        return True

    def rows(self) -> list[Row]:
        """Its results, once its evaluations are over."""
        self.journal.close()
        return group_rows(self.specs, list(self.journal.records.values()), self.outcome)


def trained_elsewhere(
    specs: Sequence[RunSpec], outcome: Mapping[str, Any], folder: Path, evaluator: GroupEvaluator
) -> TrainedGroup:
    """A group that another process has trained, here or on another machine: evaluates what it has left.

    folder: with the group's metrics, and the evaluations
    """
    lacks = read_log(folder / METRICS, range(len(specs))).lacks(Mark(*outcome.get("log", ())))
    if lacks:
        raise DataError(f"{lacks}: copy the files from where the group was trained, or remove {folder.parent}")
    journal = Journal({number: spec.run for number, spec in enumerate(specs)}, evaluator, folder, float("inf"))
    missing = {*outcome["evaluations"]} - journal.evaluated - {step for step, _ in kept_in(folder)}
    if missing or not all(journal.records.values()):
        journal.close()
        lacks = f"no evaluation of step {min(missing):,}" if missing else "no metrics of some runs"
        raise DataError(
            f"{folder} has {lacks}, neither done (metrics.jsonl) nor to be done (evaluation-STEP.npz): copy the files "
            f"from where the group was trained, or remove {folder.parent} to train it again"
        )
    return TrainedGroup(specs, outcome, journal)


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
            Scorer(_environment(data), 1).check(data.observations.shape[1:], data.actions.shape[1:])
        except RewindError as error:
            refused[name] = str(error)
    return refused


def train_group(
    specs: Sequence[RunSpec],
    folder: Path,
    deadline: Deadline,
    options: JobOptions,
    meanwhile: Callable[[], None] = lambda: None,
) -> TrainedGroup:
    """Train runs of one program together, to the last update; they are evaluated by the paper's protocol.

    What is in `folder` is continued. Raises `Stopped` when the deadline comes before the last update.

    meanwhile: called after every block
    """
    if is_trained(folder):
        specs, outcome = read_work(folder), read_json(folder / TRAINED)
        return trained_elsewhere(specs, outcome, group_folder(folder), Scorer((), specs[0].episodes))

    def over() -> bool:
        meanwhile()
        return deadline.over()

    first = specs[0]
    precision = dict(first.settings).get(PRECISION)
    if precision is not None:  # fused kernels multiply bfloat16 numbers
        options = replace(options, fused=False)
    data = {name: load_data(name) for name in datasets_of(specs)}
    runs = [replace(engine_run(spec, data[spec.dataset]), data=data[spec.dataset]) for spec in specs]
    environments = {name: _environment(own) for name, own in data.items()}
    scorer = Scorer([environments[spec.dataset] for spec in specs], first.episodes)
    write_work(folder, specs)
    at = evaluation_steps(first.steps, max(1, first.steps // options.points))
    training = Options(
        steps=first.steps, batch_size=first.batch_size, block=first.block, log_every=LOG_EVERY, evaluate_at=tuple(at),
        out=folder, checkpoint_minutes=options.checkpoint_minutes, device=options.device, fused=options.fused,
        progress=options.progress, stop=over, last_checkpoint=False, resume=(folder / "config.json").exists(),
        record={"episodes": first.episodes, "environments": environments},
    )  # fmt: skip
    device, products = jax.default_device(find_device(options.device)), jax.default_matmul_precision(precision)
    with closing(Clock(folder, scorer, deadline)) as clock, device, products:
        deadline.evaluation = 0.0 if scorer.beside else options.evaluation_seconds
        try:
            trainer = _train(data[first.dataset], runs, clock, folder, training)
        except RuntimeError as error:  # what JAX raises, among much else, for memory
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            raise RewindError(
                f"{len(specs)} runs of {first.algorithm} do not fit into the device's memory together: "
                f"--runs-per-group {max(1, len(specs) // 2)}"
            ) from error
    outcome = {
        "alive": trainer.alive,
        "evaluations": trainer.evaluation_steps,
        "data": {name: own.fingerprint for name, own in data.items()},
        "seconds_per_update": clock.seconds_per_update(len(specs)),
        "group_seconds": clock.spent,
        "device": device_kind(),
        "versions": json.dumps(made_with(options.fused), sort_keys=True),
    }  # all that results need of it, but for its evaluations
    if not trainer.journal.unkept:
        _note(folder, outcome, trainer.journal)
    trainer.close()
    return TrainedGroup(specs, outcome, trainer.journal, trainer.group.waited / clock.here)


def _note(folder: Path, outcome: Mapping[str, Any], journal: Journal) -> None:
    """From now on the evaluations that are kept in the folder are all that is left to do, here or anywhere."""
    try:
        write_json(folder / TRAINED, {**outcome, "log": journal.sync()})
    except OSError as error:  # a full disk; whoever stops now loses what came after the last checkpoint
        say(f"rewind: {folder / TRAINED} cannot be written: {error}")
        return
    for checkpoint in checkpoints(group_folder(folder)):
        checkpoint.unlink()


def _train(data: Trajectories, runs: list[Run], clock: Clock, folder: Path, options: Options) -> Trainer:
    """Continue what is in the folder. What cannot be resumed, since data or code have changed, starts anew."""
    try:
        return _trained(data, runs, clock, options)
    except CannotResume as error:
        print(f"rewind: {error}; this group starts anew", flush=True)
        for path in folder.iterdir():
            if path.name not in KEPT:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        return _trained(data, runs, clock, replace(options, resume=False))


def _trained(data: Trajectories, runs: list[Run], clock: Clock, options: Options) -> Trainer:
    """To the last update; the folder stays its own until it is closed."""
    with ExitStack() as stack:
        trainer = stack.enter_context(closing(Trainer(data, runs, clock, options)))
        trainer.train()
        stack.pop_all()
    return trainer


def _environment(data: Trajectories) -> str:
    environment = find_environment("auto", data.name, data.notes)
    if environment is None:
        raise DataError(f"{data.name or 'this data'} has no environment to be evaluated in")
    return environment
