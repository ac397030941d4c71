"""Where memory and agents meet: many runs, planned on the host, trained in one program on the device."""

from rewind.training.determinism import make_deterministic
from rewind.training.options import Options, Stopped, Trained
from rewind.training.spec import Run, Sampler, bound_targets, engine_run, make_runs
from rewind.training.trainer import Trainer, train
from rewind.training.view import View

__all__ = [
    "Options",
    "Run",
    "Sampler",
    "Stopped",
    "Trained",
    "Trainer",
    "View",
    "bound_targets",
    "engine_run",
    "make_deterministic",
    "make_runs",
    "train",
]
