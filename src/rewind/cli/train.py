"""`rewind train`. What it does is in `train_job`, which needs JAX."""

from dataclasses import dataclass

from rewind.cli.train_options import TrainOptions
from rewind.errors import require
from rewind.signals import stop_signals


@dataclass(frozen=True)
class Train(TrainOptions):
    """Train agents on a data set, evaluate them, and save their policies.

    Several samplers, betas, seeds and numbers make all combinations, trained together.
    The score is the mean of the last five evaluations, 1,000 steps apart.

    Example: rewind train --dataset rewind/hopper-medium-replay-v1 --samplers baseline tr --seeds 0 1 2
    """

    def run(self) -> None:
        with stop_signals(end=True) as signals:  # before JAX is imported, in which an interrupt is lost
            for package in ("jax", "equinox", "optax"):
                require(package, "train")
            from rewind.cli.train_job import run_job

            run_job(self, signals)
