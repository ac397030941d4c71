"""`train`: a data set in, runs described, trained policies and metrics out."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import rewind
from rewind.data import Trajectories, load
from rewind.errors import RewindError, UsageError, require, unknown_name
from rewind.files import read_json, write_json
from rewind.progress import steps_bar
from rewind.training.checkpoint import differences, read_latest, write_checkpoint
from rewind.training.determinism import make_deterministic
from rewind.training.engine import Outcome, check_fused, device_kind, to_host
from rewind.training.evaluations import Evaluate, Evaluations, can_wait
from rewind.training.group import Group, check_data, finite
from rewind.training.log import JsonLines, Record, Sink, TensorBoard, WeightsAndBiases
from rewind.training.planner import Planned
from rewind.training.spec import Run
from rewind.training.table import Normaliser

SHOWN = 3  # differences that an error names


class CannotResume(UsageError):
    """What a folder holds is not what is to be gone on with."""


class Stopped(RewindError):
    """A signal, or `Options.stop`, asked to stop; everything was saved."""

    exit_status = 130  # as a shell has it for what Ctrl-C ended


@dataclass
class Trained:
    """What came of one run."""

    run: Run
    policy: Any  # the agent's acting part, NumPy arrays
    normaliser: Normaliser
    alive: bool  # False: its numbers exploded, and the policy is the last one from before
    records: list[Record] = field(default_factory=list)

    def act(self, observations: Any) -> Any:
        """(rows, observation) -> (rows, action): the deterministic policy on raw observations."""
        return np.asarray(self.run.agent.act(self.policy, jnp.asarray(self.normaliser(np.asarray(observations)))))


@dataclass(frozen=True)
class Options:
    """How to train, apart from what."""

    steps: int = 1_000_000
    batch_size: int = 256
    block: int | None = None  # steps planned at once; None: 1000, or 100 where ranks follow the critics
    log_every: int = 1000
    evaluate_every: int = 0  # 0: only at the end
    evaluate_at: tuple[int, ...] = ()  # and after these steps
    out: Path | None = None  # where metrics and checkpoints go; None: nowhere
    checkpoint_minutes: float = 5.0
    resume: bool = False
    tensorboard: bool = False
    wandb: str | None = None  # a W&B project
    device: str | None = None  # "cpu", "gpu"; None: what JAX prefers
    deterministic: bool = False  # resume bit for bit on a GPU too, at some cost (docs/training.md)
    fused: bool = False  # networks as single kernels, with products of bfloat16 numbers; NVIDIA GPUs (docs/training.md)
    progress: bool = True
    record: Mapping[str, Any] = field(default_factory=dict)  # saved with the configuration; a resumed run has the same
    about: Mapping[str, Any] = field(default_factory=dict)  # saved beside it, for whoever wants to know
    last_checkpoint: bool = True  # False: none at the end, for whoever takes what is returned and removes the folder
    stop: Callable[[], bool] | None = None  # asked after every block; True: save and raise `Stopped`

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "log_every"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; expected at least 1")
        for name in ("evaluate_every", "checkpoint_minutes"):
            if getattr(self, name) < 0:
                raise UsageError(f"{name} is {getattr(self, name)}; expected 0 or more")
        if self.resume and self.out is None:
            raise UsageError("resume needs the folder to resume from: out=...")
        if self.out is not None:
            object.__setattr__(self, "out", Path(self.out))


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
) -> Iterator[_Session]:
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
        yield _Session(load(dataset), list(runs), evaluate, options, stop)


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
    """Numbers of runs that can share a program: agents of one structure, one view of the data."""
    grouped: dict[Any, list[int]] = defaultdict(list)
    for number, run in enumerate(runs):
        grouped[(jax.tree.structure(run.agent), run.view)].append(number)
    return list(grouped.values())


class _Session:
    """One call of `train`: its groups, one after another."""

    def __init__(
        self, data: Trajectories, runs: list[Run], evaluate: Evaluate | None, options: Options, stop: list[int]
    ) -> None:
        self.data, self.runs, self.evaluate, self.options, self.stop = data, runs, evaluate, options, stop
        self.beside = can_wait(evaluate)
        self.config = self._config()
        self.records: dict[int, list[Record]] = defaultdict(list)
        for numbers in groups_of(runs):
            first = runs[numbers[0]]
            check_data(data, first, options.batch_size)
            period = first.agent.period
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
                raise UsageError(f"{out} holds training of this configuration already: resume it, or choose another")
            return
        elsewhere = ("out", "resume", "record", "about", "stop")
        about = {
            "options": {key: value for key, value in vars(self.options).items() if key not in elsewhere},
            "versions": {"rewind": rewind.__version__, "jax": jax.__version__, "numpy": np.__version__},
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
        courses: list[_Course] = []
        for index, numbers in enumerate(groups_of(self.runs)):
            if courses:
                courses[-1].finish()
            runs = [self.runs[number] for number in numbers]
            options = self.options
            group = Group(self.data, runs, numbers, options.batch_size, options.block, fused=options.fused)
            folder = None if self.options.out is None else self.options.out / f"group-{index}"
            courses.append(_Course(self, group, folder))
            courses[-1].train()
        return Ahead(self, courses)


class Ahead:
    """What has been trained, while its last evaluations are under way."""

    def __init__(self, session: _Session, courses: list[_Course]) -> None:
        self._session, self._courses = session, courses

    @property
    def ready(self) -> bool:
        """Whether `finish` has nothing to wait for."""
        return not self._courses[-1].evaluations.under_way

    def finish(self) -> list[Trained]:
        """Wait for the evaluations; all runs, in their order."""
        self._courses[-1].finish()
        trained = dict(each for course in self._courses for each in course.trained())
        return [trained[number] for number in range(len(self._session.runs))]

    def abandon(self) -> None:
        """Give the evaluations up. A folder keeps its last checkpoint, and can be resumed from."""
        self._courses[-1].close()


class _Course:
    """The course of one group through its steps."""

    def __init__(self, session: _Session, group: Group, folder: Path | None) -> None:
        self.session, self.group, self.folder, self.options = session, group, folder, session.options
        self.dead: set[int] = set()
        self.sinks: list[Sink] = []
        self.evaluations = Evaluations(session.evaluate, session.beside)
        self.evaluation_steps = self._evaluation_steps()
        self._saved_at = time.monotonic()
        self.unsaved = False
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            if self.options.resume:
                self._resume(folder)
            self.sinks = self._open_sinks(folder)

    def _resume(self, folder: Path) -> None:
        content, problems = read_latest(folder)
        for problem in problems:
            print(f"rewind: {problem}; set aside, using the one before", file=sys.stderr)
        if content is None:
            if problems:
                raise CannotResume(f"no checkpoint in {folder} is whole; remove the folder to start anew")
            return
        self.group.load_state(content["group"])
        if self.group.step > self.options.steps:
            raise CannotResume(f"{folder} is at step {self.group.step:,} already; expected that many steps or more")
        alive = np.asarray(self.group.engine.alive)
        self.dead = {number for at, number in enumerate(self.group.numbers) if not alive[at]}

    def _open_sinks(self, folder: Path) -> list[Sink]:
        names = {number: self.session.runs[number].name for number in self.group.numbers}
        lines = JsonLines(folder, self.group.step)
        for record in lines.kept:
            self.session.records[record["run"]].append(record)
        sinks: list[Sink] = [lines]
        if self.options.tensorboard:
            sinks.append(TensorBoard(folder, names, self.group.step))
        if self.options.wandb is not None:
            described = {number: self.session.runs[number].describe() for number in self.group.numbers}
            sinks.append(WeightsAndBiases(folder, described, self.options.wandb))
        return sinks

    def train(self) -> None:
        """To the last update. What waits for it, `finish` or `close`, must follow."""
        group, total = self.group, self.options.steps
        unlogged: list[tuple[int, Planned, Outcome]] = []
        bar = self._bar(self.options.progress)
        try:
            while group.step < total:
                until = self._next_stop()
                planned, outcome = group.advance(until)
                unlogged.append((group.step, planned, outcome))
                bar.update(group.step - bar.n)
                # Metrics of the block before: looking at those of this one would wait for it.
                self._log_blocks(unlogged, bar, keep=1)
                if group.step in self.evaluation_steps:
                    self._log_blocks(unlogged, bar, keep=0)
                    self.evaluations.begin(group)
                self._log_evaluations(bar, wait=False)
                self.unsaved = True
                stopping = self._asked_to_stop()  # looked at once: a signal that comes now waits for the next block
                if stopping or (group.step < total and self._checkpoint_due()):
                    self._log_blocks(unlogged, bar, keep=0)
                    self._log_evaluations(bar, wait=True)  # a resumed run does not evaluate again what is before it
                    self._save(must=stopping)
                if stopping:
                    raise Stopped(f"stopped at step {group.step:,} of {total:,}" + self._where())
                group.plan_ahead(self._next_stop())
            self._log_blocks(unlogged, bar, keep=0)
        except BaseException:
            self.close()
            raise
        finally:
            bar.close()

    def finish(self) -> None:
        """Wait for the evaluations under way, and save."""
        try:
            self._log_evaluations(self._bar(False), wait=True)
            if self.unsaved and self.options.last_checkpoint:
                self._save(must=False)
            self.group.feed()
        finally:
            self.close()

    def close(self) -> None:
        """Nothing more is planned, evaluated or logged."""
        self.group.planner.close()
        self.evaluations.close()
        for sink in self.sinks:
            sink.close()
        self.sinks = []

    def trained(self) -> Iterator[tuple[int, Trained]]:
        """Runs by their numbers."""
        group, session = self.group, self.session
        alive, policies = np.asarray(group.engine.alive), to_host(group.policies())
        for at, number in enumerate(group.numbers):
            policy = jax.tree.map(lambda leaf, at=at: leaf[at], policies)
            run, records = session.runs[number], session.records[number]
            yield number, Trained(run, policy, group.normaliser, bool(alive[at]), records)

    def _log_blocks(self, unlogged: list[tuple[int, Planned, Outcome]], bar: Any, keep: int) -> None:
        """Log all finished blocks but the last `keep`, where a line is due."""
        while len(unlogged) > keep:
            step, planned, outcome = unlogged.pop(0)
            if step % self.options.log_every == 0 or step >= self.options.steps:
                self._log(self.group.records(step, planned, outcome), bar)

    def _next_stop(self) -> int:
        """The next step at which something other than training happens; blocks end there."""
        step, options = self.group.step, self.options
        stops = [options.steps, *(stop for stop in self.evaluation_steps if stop > step)]
        stops.append((step // options.log_every + 1) * options.log_every)
        return min(stops)

    def _evaluation_steps(self) -> set[int]:
        """When to evaluate: as asked, at whole periods of the agent, and at the end."""
        if self.session.evaluate is None:
            return set()
        options, period = self.options, self.group.period
        grid = (
            range(options.evaluate_every, options.steps, options.evaluate_every) if options.evaluate_every > 0 else ()
        )
        wanted = {step for step in (*grid, *options.evaluate_at) if 0 < step < options.steps}
        return {step + -step % period for step in wanted} | {options.steps}

    def _log_evaluations(self, bar: Any, wait: bool) -> None:
        """Log those that are over; wait: until all are."""
        for step, figures in self.evaluations.finished(wait):
            records = [
                {"run": number, "name": self.group.runs[at].name, "step": step}
                | {name: finite(values[at]) for name, values in figures.items()}
                for at, number in enumerate(self.group.numbers)
            ]
            self._log(records, bar)

    def _log(self, records: list[Record], bar: Any) -> None:
        for record in records:
            self.session.records[record["run"]].append(record)
            if record.get("alive") is False and record["run"] not in self.dead:
                self.dead.add(record["run"])
                name = f"run {record['run']} ({record['name']})"
                bar.write(f"rewind: {name} is no longer finite at step {record['step']:,}: it stays as it was before")
        for sink in self.sinks:
            sink.write(records)
        scores = [record["score"] for record in records if record.get("score") is not None]
        if scores:
            bar.set_postfix_str(f"score {np.mean(scores):.1f}")

    def _asked_to_stop(self) -> bool:
        """By a signal, or by whoever set us to work, who has nothing to stop once all is done."""
        stop = self.options.stop
        return bool(self.session.stop) or (stop is not None and self.group.step < self.options.steps and stop())

    def _checkpoint_due(self) -> bool:
        """It is put off, up to twice as long, while it would have to wait for evaluations."""
        minutes = self.options.checkpoint_minutes * (2 if self.evaluations.under_way else 1)
        return time.monotonic() - self._saved_at >= 60 * minutes

    def _save(self, must: bool) -> None:
        """A checkpoint that cannot be written stops nothing, unless all that is left would be the checkpoint."""
        if self.folder is None:
            return
        try:
            write_checkpoint(self.folder, self.group.step, {"group": self.group.state()})
        except OSError as error:
            message = f"the checkpoint at step {self.group.step:,} could not be written to {self.folder}: {error}"
            if must:
                raise RewindError(f"{message}; make room and resume from the one before") from error
            print(f"rewind: {message}; training goes on", file=sys.stderr)
        self._saved_at = time.monotonic()
        self.unsaved = False

    def _where(self) -> str:
        return f"; everything is in {self.folder}, resume=True or --resume goes on" if self.folder else ""

    def _bar(self, wanted: bool) -> Any:
        runs = self.group.runs
        name = f"{type(runs[0].agent).__name__}, {len(runs)} run{'s' if len(runs) > 1 else ''}"
        return steps_bar(name, self.options.steps, self.group.step, wanted)
