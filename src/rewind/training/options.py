"""What a training takes apart from its data and runs, and how it may end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from rewind.errors import RewindError, UsageError
from rewind.training.log import Record
from rewind.training.spec import Run
from rewind.training.table import Normaliser


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
