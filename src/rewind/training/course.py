"""One group through its steps: blocks, evaluations, metrics, checkpoints."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from rewind.errors import RewindError
from rewind.progress import steps_bar
from rewind.targets import SLACK
from rewind.training.checkpoint import read_latest, write_checkpoint
from rewind.training.engine import EXPLODED, Outcome, to_host
from rewind.training.evaluations import LOOK, Evaluations
from rewind.training.group import Group
from rewind.training.log import JsonLines, Record, Sink, TensorBoard, WeightsAndBiases
from rewind.training.options import CannotResume, Stopped, Trained
from rewind.training.planner import Planned

if TYPE_CHECKING:
    from rewind.training.train import Session


class Course:
    """The course of one group through its steps."""

    def __init__(self, session: Session, group: Group, folder: Path | None) -> None:
        self.session, self.group, self.folder, self.options = session, group, folder, session.options
        self.dead: set[int] = set()
        self.diverged: set[int] = set()
        self.sinks: list[Sink] = []
        self.evaluations = Evaluations(session.evaluate, session.beside, folder)
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
        self.dead = {number for number, alive in self.alive() if not alive}

    def _open_sinks(self, folder: Path) -> list[Sink]:
        lines = JsonLines(folder, self.group.step, len(self.group.numbers))
        for record in lines.kept:
            self.session.records[record["run"]].append(record)
            if record.get("q_excess", 0.0) > SLACK:
                self.diverged.add(record["run"])  # it has been said
        self.evaluations.resume(self.group.step, lines.evaluated)
        sinks: list[Sink] = [lines]
        if self.options.tensorboard:
            sinks.append(TensorBoard(folder, self._names, self.group.step))
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
                    # What is not kept must be logged: a resumed run does not evaluate again what is before it.
                    self._log_evaluations(bar, wait=self.folder is not None and self.evaluations.unkept)
                    self._save(must=stopping)
                if stopping:
                    raise Stopped(f"stopped at step {group.step:,} of {total:,}" + self._where())
                group.plan_ahead(self._next_stop())
            self._log_blocks(unlogged, bar, keep=0)
            if self.unsaved and self.options.last_checkpoint and not self.evaluations.unkept:
                self._save(must=False)
        except BaseException:
            self.close()
            raise
        finally:
            bar.close()

    def finish(self) -> None:
        """Wait for the evaluations under way, and save. A signal ends the wait, where they are kept."""
        try:
            while self.look():
                if self.session.stop and self.folder is not None and not self.evaluations.unkept:
                    raise Stopped("stopped while the last evaluations were played" + self._where())
                time.sleep(LOOK)
            self._log_evaluations(self._bar(False), wait=True)
            if self.unsaved and self.options.last_checkpoint:
                self._save(must=False)
            self.group.feed()
        finally:
            self.close()

    def look(self) -> int:
        """Log the evaluations that are over; how many are not."""
        return self._log_evaluations(self._bar(False), wait=False)

    def close(self) -> None:
        """Nothing more is planned, evaluated or logged."""
        self.group.planner.close()
        self.evaluations.close()
        for sink in self.sinks:
            sink.close()
        self.sinks = []

    def alive(self) -> Iterator[tuple[int, bool]]:
        """Of runs by their numbers, whether they have stayed finite."""
        return zip(self.group.numbers, np.asarray(self.group.engine.alive).tolist(), strict=True)

    def trained(self) -> Iterator[tuple[int, Trained]]:
        """Runs by their numbers."""
        group, session, policies = self.group, self.session, to_host(self.group.policies())
        for at, (number, alive) in enumerate(self.alive()):
            policy = jax.tree.map(lambda leaf, at=at: leaf[at], policies)
            run, records = session.runs[number], session.records[number]
            yield number, Trained(run, policy, group.sources[at].normaliser, alive, records)

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

    def _log_evaluations(self, bar: Any, wait: bool) -> int:
        """Log those that are over, and say how many are not; wait: until all are."""
        return self.evaluations.log(self._names, lambda records: self._log(records, bar), wait)

    @property
    def _names(self) -> dict[int, str]:
        return {number: self.session.runs[number].name for number in self.group.numbers}

    def _log(self, records: list[Record], bar: Any) -> bool:
        """Whether all sinks have them."""
        for record in records:
            self.session.records[record["run"]].append(record)
            if record.get("alive") is False and record["run"] not in self.dead:
                self.dead.add(record["run"])
                name = f"run {record['run']} ({record['name']})"
                told = f"is no longer finite, or its Q beyond {EXPLODED:.0e}, at step {record['step']:,}"
                bar.write(f"rewind: {name} {told}: it stays as it was before")
            self._watch(record, bar)
        written = [sink.write(records) for sink in self.sinks]
        scores = [record["score"] for record in records if record.get("score") is not None]
        if scores:
            bar.set_postfix_str(f"score {np.mean(scores):.1f}")
        return all(written)

    def _watch(self, record: Record, bar: Any) -> None:
        """Say once of a run that its Q is beyond what rewards can add up to: no simulator is needed to see that."""
        if record.get("q_excess", 0.0) > SLACK and record["run"] not in self.diverged:
            self.diverged.add(record["run"])
            low, high = self.group.possible[self.group.numbers.index(record["run"])]
            name, step, q = f"run {record['run']} ({record['name']})", f"{record['step']:,}", record["q"]
            rewards = f"its rewards add up to between {low:,.0f} and {high:,.0f}"
            bounds = self.session.runs[record["run"]].agent.bounds
            free = bounds is not None and np.isinf(bounds[1])
            told = " (`rewind train --bounded`, or `bound_targets`, would hold it)" if free else ""
            bar.write(f"rewind: {name} has a Q of {q:,.0f} at step {step}, but {rewards}: its critic diverges{told}")

    def _asked_to_stop(self) -> bool:
        """By a signal, or by whoever set us to work, who has nothing to stop once all is done."""
        stop = self.options.stop
        return bool(self.session.stop) or (stop is not None and self.group.step < self.options.steps and stop())

    def _checkpoint_due(self) -> bool:
        """It is put off, up to twice as long, while it would have to wait for evaluations that are not kept."""
        if self.folder is None:
            return False
        minutes = self.options.checkpoint_minutes * (2 if self.evaluations.unkept else 1)
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
