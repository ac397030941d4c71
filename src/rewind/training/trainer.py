"""`train`: a data set in, runs described, trained policies and metrics out; and the trainer behind it."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import jax
import numpy as np

from rewind.checked_log import METRICS, Mark, read_log
from rewind.errors import RewindError, UsageError
from rewind.progress import say, steps_bar
from rewind.signals import stop_signals
from rewind.training.checkpoint import make_room, read_latest, write_checkpoint
from rewind.training.determinism import make_deterministic
from rewind.training.engine import Outcome, check_fused, device_kind, made_with, to_host
from rewind.training.evaluations import Evaluate, GroupEvaluator, as_evaluator
from rewind.training.group import Group, check_runs, groups_of
from rewind.training.journal import LOOK, Journal
from rewind.training.log import TensorBoard, WeightsAndBiases
from rewind.training.options import CannotResume, Options, Stopped, Trained, combined, whole, with_batch_size
from rewind.training.planner import Planned
from rewind.training.policies import save_trained
from rewind.training.session import check_options, find_device, group_folder, prepare_folder
from rewind.training.spec import Run, data_of, for_steps
from rewind.training.view import loaded


def train(
    dataset: Any,
    runs: Sequence[Run],
    evaluate: GroupEvaluator | Evaluate | None = None,
    options: Options | None = None,
    **settings: Any,
) -> list[Trained]:
    """Train all runs and return them in the same order.

        data = load("hopper.hdf5")
        runs = make_runs(data, "td3_bc", samplers=["baseline", "tr", "lower_uqm_unc"], seeds=range(4))
        trained = train(data, runs, steps=100_000, out="runs/hopper")
        trained[0].act(observations)

    evaluate: a function of a group and a step that returns figures, one number per run each; or a `GroupEvaluator`
    settings: fields of `Options`
    """
    with closing(Trainer(dataset, runs, evaluate, combined(options, settings))) as trainer:
        trainer.train()
        trained = trainer.finish()
        save_trained(trained, trainer.data, trainer.options)
        return trained


class Trainer:
    """All runs, one group of them after another: blocks, evaluations, metrics, checkpoints.

    `train` goes to the last update of the last group, whose evaluations may still be under way then. `finish` waits for
    them; or take what there is, and poll the `journal`. Until `close` no other trainer can use the folder.
    """

    group: Group  # that is trained now, or was trained last
    journal: Journal  # of that group
    evaluation_steps: list[int]  # of that group
    folder: Path | None  # of that group

    def __init__(
        self, dataset: Any, runs: Sequence[Run], evaluate: GroupEvaluator | Evaluate | None, options: Options
    ) -> None:
        self.options = options
        if not runs:
            raise UsageError("no runs to train")
        if options.deterministic:
            make_deterministic(options.out)
        self.runs, self.evaluator = list(runs), as_evaluator(evaluate)
        self._signals: list[int] = []
        self._trained: dict[int, Trained] = {}  # runs of groups that are finished
        self._lock = ExitStack()
        with self._at_work():
            if options.fused:
                check_fused()
            self.data = loaded(dataset)
            self.options = options = with_batch_size(
                options, self.runs, [data_of(run, self.data).name for run in self.runs]
            )
            self.runs = [for_steps(run, options.steps) for run in self.runs]
            check_runs(self.data, self.runs, options)
            check_options(options)
            if options.out is not None:
                self._lock = prepare_folder(options.out, self._config(), self._about(), options.resume)

    def train(self) -> None:
        """All groups, each to its end, but for the evaluations of the last one."""
        with self._at_work():
            for index, numbers in enumerate(groups_of(self.runs)):
                if index:
                    self._finish_group()
                self._begin(index, numbers)
                self._train_group()

    def finish(self) -> list[Trained]:
        """Wait for the evaluations; all runs, in their order. A signal ends the wait, where evaluations are kept."""
        with self._at_work():
            self._finish_group()
        return [self._trained[number] for number in range(len(self.runs))]

    def abandon(self) -> None:
        """Do not wait for the evaluations. A folder keeps them until it is resumed."""
        self.group.close()
        self.journal.close()

    def close(self) -> None:
        """Leave the folder to others."""
        self._lock.close()

    @property
    def alive(self) -> list[bool]:
        """Of each run of the last group: whether its numbers have stayed finite."""
        alive: list[bool] = np.asarray(self.group.engine.alive).tolist()
        return alive

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with jax.default_device(find_device(self.options.device)), stop_signals(self._signals) as self._signals:
            yield

    def _config(self) -> dict[str, Any]:
        """What a resumed training has in common with the one before."""
        options = self.options
        return {
            "data": self.data.fingerprint,
            "batch_size": options.batch_size,
            "block": options.block,
            "log_every": options.log_every,  # blocks end there, and with them the delay of the ranks
            "evaluate_every": options.evaluate_every,
            "runs": [run.describe() for run in self.runs],
            **({"fused": True} if options.fused else {}),
            **options.record,
        }

    def _about(self) -> dict[str, Any]:
        """What is written beside the configuration, and may change."""
        options, data = self.options, self.data
        return {
            "options": options.described(),
            "versions": made_with(options.fused),
            "device": device_kind(),
            "data": {"name": data.name, "trajectories": len(data), "rows": data.rows, "notes": data.notes},
            **options.about,
        }

    # One group

    def _begin(self, index: int, numbers: list[int]) -> None:
        options, runs = self.options, [self.runs[number] for number in numbers]
        group = self.group = Group(self.data, runs, numbers, options.batch_size, options.block, fused=options.fused)
        self._log_every = whole(options.log_every, group.period)
        self.evaluation_steps = [] if self.evaluator is None else options.evaluation_steps(group.period)
        self._saved_at, self._unsaved = time.monotonic(), False
        folder = self.folder = None if options.out is None else group_folder(options.out, index)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            if options.resume:
                self._resume(folder)
        names = {number: self.runs[number].name for number in numbers}
        due = [step for step in self.evaluation_steps if step <= group.step]
        self.journal = Journal(names, self.evaluator, folder, group.step, options.on_evaluation, due)
        if folder is not None and options.tensorboard:
            self.journal.sinks.append(TensorBoard(folder, names, group.step))
        if folder is not None and options.wandb is not None:
            described = {number: self.runs[number].describe() for number in numbers}
            self.journal.sinks.append(WeightsAndBiases(folder, described, options.wandb))
        before = chain(*self.journal.records.values())
        self._warned = {(record["run"], problem) for record in before for problem in group.problems(record)}

    def _resume(self, folder: Path) -> None:
        log = read_log(folder / METRICS, self.group.numbers)
        content, damaged = read_latest(folder, lambda content: log.lacks(Mark(*content.get("log", ()))))
        if content is None:
            if damaged:
                raise CannotResume(f"no checkpoint can be used: {damaged[0]}; restore it, or remove {folder.parent}")
            return
        for problem in damaged:
            say(f"rewind: {problem}; set aside, using the one before", sys.stderr)
        self.group.load_state(content["group"])
        if self.group.step > self.options.steps:
            raise CannotResume(f"{folder} is at step {self.group.step:,} already; expected that many steps or more")

    def _train_group(self) -> None:
        """To the last update."""
        group, total, journal = self.group, self.options.steps, self.journal
        unlogged: list[tuple[int, Planned, Outcome]] = []
        label = f"{type(group.runs[0].agent).__name__}, {len(group.runs)} run{'s' if len(group.runs) > 1 else ''}"
        bar = self._bar = steps_bar(label, total, group.step, self.options.progress)
        try:
            if self._signals:  # it came before training began
                raise Stopped(f"stopped at step {group.step:,} of {total:,}" + self._where())
            while group.step < total:
                planned, outcome = group.advance(self._next_stop())
                unlogged.append((group.step, planned, outcome))
                bar.update(group.step - bar.n)
                # Metrics of the block before: looking at those of this one would wait for it.
                self._log_blocks(unlogged, keep=1)
                if group.step in self.evaluation_steps:
                    self._log_blocks(unlogged)
                    journal.evaluate(group)
                journal.poll()
                self._unsaved = True
                stopping = self._asked_to_stop()  # looked at once: a signal that comes now waits for the next block
                if stopping or (group.step < total and self._checkpoint_due()):
                    self._log_blocks(unlogged)
                    # What is not kept must be recorded: a resumed run does not evaluate again what is before it.
                    if self.folder is not None and journal.unkept:
                        journal.wait()
                    self._save(must=stopping)
                if stopping:
                    raise Stopped(f"stopped at step {group.step:,} of {total:,}" + self._where())
                group.plan_ahead(self._next_stop())
            self._log_blocks(unlogged)
            if not journal.unkept and self.options.last_checkpoint:
                self._save(must=False)
        except BaseException:
            self.abandon()
            raise
        finally:
            bar.close()

    def _finish_group(self) -> None:
        """Wait for the evaluations under way, save, and keep what was trained."""
        group, journal = self.group, self.journal
        try:
            while journal.poll():
                if self._signals and self.folder is not None and not journal.unkept:
                    raise Stopped("stopped while the last evaluations were under way" + self._where())
                time.sleep(LOOK)
            if self.options.last_checkpoint:
                self._save(must=False)
        finally:
            self.abandon()
        policies = to_host(group.policies())
        for at, (number, alive) in enumerate(zip(group.numbers, self.alive, strict=True)):
            policy = jax.tree.map(lambda leaf, at=at: leaf[at], policies)
            source, records = group.sources[at], journal.records[number]
            self._trained[number] = Trained(
                self.runs[number], policy, source.normaliser, alive, records, source.actions, source.data, group.block
            )  # fmt: skip

    def _next_stop(self) -> int:
        """The next step at which something other than training happens; blocks end there."""
        step, options = self.group.step, self.options
        stops = [options.steps, *(stop for stop in self.evaluation_steps if stop > step)]
        stops.append((step // self._log_every + 1) * self._log_every)
        return min(stops)

    def _asked_to_stop(self) -> bool:
        """By a signal, or by whoever set us to work, who has nothing to stop once all is done."""
        stop = self.options.stop
        return bool(self._signals) or (stop is not None and self.group.step < self.options.steps and stop())

    # Records

    def _log_blocks(self, unlogged: list[tuple[int, Planned, Outcome]], keep: int = 0) -> None:
        """Log all finished blocks but the last `keep`, where a line is due."""
        while len(unlogged) > keep:
            step, planned, outcome = unlogged.pop(0)
            if step % self._log_every == 0 or step >= self.options.steps:
                records = self.group.records(step, planned, outcome)
                self.journal.write(records)
                problems = {(r["run"], kind): line for r in records for kind, line in self.group.problems(r).items()}
                for line in (line for problem, line in problems.items() if problem not in self._warned):
                    self._bar.write(line)
                self._warned |= problems.keys()

    # Checkpoints

    def _checkpoint_due(self) -> bool:
        """It is put off, up to twice as long, while it would have to wait for evaluations that are not kept."""
        if self.folder is None:
            return False
        minutes = self.options.checkpoint_minutes * (2 if self.journal.unkept else 1)
        return time.monotonic() - self._saved_at >= 60 * minutes

    def _save(self, must: bool) -> None:
        """A checkpoint that cannot be written stops nothing, unless all that is left would be the checkpoint."""
        if self.folder is None or not self._unsaved:
            return
        folder, step, state = self.folder, self.group.step, self.group.state()
        try:  # never a checkpoint ahead of its log
            make_room(folder, lambda: write_checkpoint(folder, step, {"log": self.journal.sync(), "group": state}))
        except OSError as error:
            message = f"the checkpoint at step {step:,} could not be written to {folder}: {error.strerror}"
            if must:
                raise RewindError(f"{message}; make room and resume from the one before") from error
            say(f"rewind: {message}; training continues", sys.stderr)
        else:
            self._unsaved = False
        self._saved_at = time.monotonic()

    def _where(self) -> str:
        if self.folder is None:
            return "; nothing was saved, as no folder was given (out=...)"
        return f"; everything is in {self.folder}, resume=True or --resume continues"
