"""What a training takes apart from its data and runs, and how it may end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from rewind.agents import AGENTS
from rewind.agents.settings import paper_batch_size
from rewind.checked_log import Record
from rewind.data import Trajectories
from rewind.errors import RewindError, UsageError, unknown_name
from rewind.training.spec import Run
from rewind.training.view import AS_THEY_ARE, Normaliser


class CannotResume(UsageError):
    """The training in a folder cannot be resumed: another configuration, or no checkpoint that is whole."""


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
    actions: Normaliser = AS_THEY_ARE
    data: Trajectories | None = None  # as it saw them; None: not known
    block: int | None = None  # steps that were planned at once; None: not known

    def act(self, observations: Any) -> Any:
        """(rows, observation) -> (rows, action): the deterministic policy on raw observations."""
        acted = self.run.agent.act(self.policy, jnp.asarray(self.normaliser(np.asarray(observations))))
        return self.actions.undo(np.asarray(acted))


@dataclass(frozen=True)
class Options:
    """How to train, apart from what."""

    steps: int = 1_000_000
    batch_size: int = 0  # 0: the papers' for the agents and the data, mostly 256
    block: int | None = None  # steps planned at once; None: 1000, or 100 where ranks follow the critics
    log_every: int = 1000  # or the next whole period of the agent
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
    on_evaluation: Callable[[list[Record]], None] | None = None  # is given the records of each evaluation

    def __post_init__(self) -> None:
        for name in ("steps", "log_every"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; expected at least 1")
        if self.block is not None and self.block < 1:
            raise UsageError(f"block is {self.block}; expected at least 1, or None")
        for name in ("batch_size", "evaluate_every", "checkpoint_minutes"):
            if not 0 <= getattr(self, name) < np.inf:
                raise UsageError(f"{name} is {getattr(self, name)}; expected 0 or more")
        if self.resume and self.out is None:
            raise UsageError("resume needs the folder to resume from: out=...")
        if self.out is not None:
            object.__setattr__(self, "out", Path(self.out))

    def evaluation_steps(self, period: int) -> list[int]:
        """When to evaluate: as asked, at whole periods of the agent, and at the end."""
        every = self.evaluate_every
        grid = range(every, self.steps, every) if every > 0 else ()
        wanted = {step for step in (*grid, *self.evaluate_at) if 0 < step < self.steps}
        return sorted({whole(step, period) for step in wanted} | {self.steps})

    def described(self) -> dict[str, Any]:
        """What is saved of them for whoever wants to know."""
        elsewhere = ("out", "resume", "record", "about", "stop", "on_evaluation")
        return {name: value for name, value in vars(self).items() if name not in elsewhere}


def whole(steps: int, period: int) -> int:
    """So many steps, or more: whole periods of an agent."""
    return steps + -steps % period


def combined(options: Options | None, settings: Mapping[str, Any]) -> Options:
    """Options with some of them set anew."""
    names = [field.name for field in fields(Options)]
    for name in settings:
        if name not in names:
            raise unknown_name("option", name, names)
    return replace(options or Options(), **settings)


def with_batch_size(options: Options, runs: Sequence[Run], datasets: Sequence[str | None]) -> Options:
    """The options with the papers' batch size for these runs on these data sets, where they have none."""
    if options.batch_size:
        return options
    names = {AGENTS[name]: name for name in AGENTS if AGENTS.is_own(name)}
    pairs = zip(runs, datasets, strict=True)
    sizes = {paper_batch_size(names.get(type(run.agent), ""), dataset) for run, dataset in pairs}
    if len(sizes) > 1:
        raise UsageError(f"the papers have batches of {' and '.join(map(str, sorted(sizes)))} here: give a batch_size")
    return replace(options, batch_size=sizes.pop())
