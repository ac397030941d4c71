"""`train`: a data set in, runs described, trained policies and metrics out."""

from __future__ import annotations

import json
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from types import FrameType
from typing import Any

import jax

from rewind.data import Trajectories, load
from rewind.errors import UsageError, require, unknown_name
from rewind.files import read_json, write_json
from rewind.training.checkpoint import differences
from rewind.training.course import Course
from rewind.training.determinism import make_deterministic
from rewind.training.engine import check_fused, device_kind, made_with
from rewind.training.evaluations import Evaluate, can_wait
from rewind.training.group import Group, check_data
from rewind.training.log import Record
from rewind.training.options import CannotResume, Options, Trained
from rewind.training.spec import Run, data_of

SHOWN = 3  # differences that an error names


def train(
    dataset: Any, runs: Sequence[Run], evaluate: Evaluate | None = None, options: Options | None = None, **settings: Any
) -> list[Trained]:
    """Train all runs and return them in the same order.

        data = load("hopper.hdf5")
        runs = make_runs(data, "td3_bc", samplers=["baseline", "tr", "lower_uqm_unc"], seeds=range(4))
        trained = train(data, runs, steps=100_000, out="runs/hopper")
        trained[0].act(observations)

    settings: fields of `Options`
    """
    with _session(dataset, runs, evaluate, options, settings) as session:
        return session.train().finish()


def train_ahead(
    dataset: Any, runs: Sequence[Run], evaluate: Evaluate | None = None, options: Options | None = None, **settings: Any
) -> Ahead:
    """`train` that returns when the last update is done: evaluations may still be under way beside it."""
    with _session(dataset, runs, evaluate, options, settings) as session:
        return session.train()


@contextmanager
def _session(
    dataset: Any, runs: Sequence[Run], evaluate: Evaluate | None, options: Options | None, settings: dict[str, Any]
) -> Iterator[Session]:
    known = [each.name for each in fields(Options)]
    for name in settings:
        if name not in known:
            raise unknown_name("option", name, known)
    options = replace(options or Options(), **settings)
    if not runs:
        raise UsageError("no runs to train")
    if options.deterministic:
        make_deterministic(options.out)
    with jax.default_device(find_device(options.device)), stop_signals() as stop:
        if options.fused:
            check_fused()
        yield Session(load(dataset), list(runs), evaluate, options, stop)


def find_device(name: str | None) -> Any:
    """A device of the wanted kind, or an error that lists those there are."""
    if name is None:
        return jax.devices()[0]
    try:
        return jax.devices(name)[0]
    except RuntimeError as error:
        there = ", ".join(sorted({device.platform for device in jax.devices()}))
        raise UsageError(f"no device '{name}' here; there is: {there}") from error


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM instead of dying of the first; a second one is obeyed at once."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)
        print("\nrewind: stopping after this block; again to stop at once", file=sys.stderr)

    try:
        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread: whoever runs us handles signals
        before = {}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def groups_of(runs: Sequence[Run]) -> list[list[int]]:
    """Numbers of runs that can share a program: agents of one structure."""
    grouped: dict[Any, list[int]] = defaultdict(list)
    for number, run in enumerate(runs):
        grouped[jax.tree.structure(run.agent)].append(number)
    return list(grouped.values())


def group_folder(out: Path, index: int = 0) -> Path:
    """Where a group's metrics, checkpoints and evaluations are; runs of one program are one group."""
    return out / f"group-{index}"


class Session:
    """One call of `train`: its groups, one after another."""

    def __init__(
        self, data: Trajectories, runs: list[Run], evaluate: Evaluate | None, options: Options, stop: list[int]
    ) -> None:
        self.data, self.runs, self.evaluate, self.options, self.stop = data, runs, evaluate, options, stop
        self.beside = can_wait(evaluate)
        self.config = self._config()
        self.records: dict[int, list[Record]] = defaultdict(list)
        for numbers in groups_of(runs):
            together = [runs[number] for number in numbers]
            for run in {id(data_of(run, data)): run for run in together}.values():  # one for each data set
                check_data(data_of(run, data), run, options.batch_size)
            period = together[0].agent.period
            for name, value in (("steps", options.steps), ("log_every", options.log_every)):
                if value % period:
                    raise UsageError(f"{name} is {value:,}; expected a multiple of the agent's period, {period}")
        for wanted, package, extra in ((options.tensorboard, "tensorboardX", "log"), (options.wandb, "wandb", "wandb")):
            if wanted:
                require(package, extra)
                if options.out is None:
                    raise UsageError(f"metrics for {package} are kept in a folder too: out=...")
        if options.out is not None:
            self._prepare_folder(options.out)

    def _config(self) -> dict[str, Any]:
        return {
            "data": self.data.fingerprint,
            "batch_size": self.options.batch_size,
            "block": self.options.block,
            "log_every": self.options.log_every,  # blocks end there, and with them the delay of the ranks
            "evaluate_every": self.options.evaluate_every,
            "runs": [run.describe() for run in self.runs],
            **({"fused": True} if self.options.fused else {}),
            **self.options.record,
        }

    def _prepare_folder(self, out: Path) -> None:
        """A new folder gets the configuration; an old one must hold the same, and is only touched to resume.

        One in which no training has begun, because that failed at the last moment, counts as new.
        """
        path = out / "config.json"
        if path.exists() and any(out.glob("group-*")):
            saved = read_json(path)
            now = json.loads(json.dumps(self.config))
            changed = list(differences(saved["config"], now))
            if changed:
                more = f"; and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
                found = f"{out} holds another configuration: {'; '.join(changed[:SHOWN])}{more}"
                raise CannotResume(f"{found}; go on as it was begun, or choose another folder")
            if not self.options.resume:
                raise UsageError(
                    f"{out} holds this training already: go on with it (resume=True, --resume) or choose another folder"
                )
            return
        elsewhere = ("out", "resume", "record", "about", "stop")
        about = {
            "options": {key: value for key, value in vars(self.options).items() if key not in elsewhere},
            "versions": made_with(self.options.fused),
            "device": device_kind(),
            "data": {
                "name": self.data.name,
                "trajectories": len(self.data),
                "rows": self.data.rows,
                "notes": self.data.notes,
            },
        }
        write_json(path, {"config": self.config, **about, **self.options.about})

    def train(self) -> Ahead:
        """All groups, each to its end, but for the evaluations of the last one."""
        courses: list[Course] = []
        for index, numbers in enumerate(groups_of(self.runs)):
            if courses:
                courses[-1].finish()
            runs = [self.runs[number] for number in numbers]
            options = self.options
            group = Group(self.data, runs, numbers, options.batch_size, options.block, fused=options.fused)
            folder = None if self.options.out is None else group_folder(self.options.out, index)
            courses.append(Course(self, group, folder))
            courses[-1].train()
        return Ahead(self, courses)


class Ahead:
    """What has been trained, while its last evaluations are under way."""

    def __init__(self, session: Session, courses: list[Course]) -> None:
        self._session, self._courses = session, courses

    def look(self) -> int:
        """Log the evaluations that are over; how many `finish` has to wait for."""
        return self._courses[-1].look()

    @property
    def unkept(self) -> bool:
        """Whether there are evaluations that are lost if nobody waits for them."""
        return self._courses[-1].evaluations.unkept

    @property
    def waited(self) -> float:
        """Seconds that the host has waited for the device, in this process."""
        return sum(course.group.waited for course in self._courses)

    def finish(self) -> list[Trained]:
        """Wait for the evaluations; all runs, in their order."""
        self._courses[-1].finish()
        trained = dict(each for course in self._courses for each in course.trained())
        return [trained[number] for number in range(len(self._session.runs))]

    def records(self) -> list[list[Record]]:
        """Wait for the evaluations; what was logged of each run."""
        return [each.records for each in self.finish()]

    @property
    def alive(self) -> list[bool]:
        """Of each run: whether its numbers have stayed finite."""
        found = {number: bool(alive) for course in self._courses for number, alive in course.alive()}
        return [found[number] for number in range(len(self._session.runs))]

    @property
    def evaluation_steps(self) -> list[int]:
        """When the last group was, or will be, evaluated."""
        return sorted(self._courses[-1].evaluation_steps)

    def abandon(self) -> None:
        """Do not wait for the evaluations. A folder keeps them, to be played when it is resumed."""
        self._courses[-1].close()
