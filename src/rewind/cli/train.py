"""`rewind train`. What it does is in `train_job`, which needs JAX."""

from dataclasses import dataclass

from rewind.cli.train_options import TrainOptions
from rewind.errors import require_training
from rewind.signals import stop_signals


@dataclass(frozen=True)
class Train(TrainOptions):
    """Train agents on a data set, evaluate them, and save their policies.

    Several samplers, betas, seeds or numbers (--set) give one run for each combination.
    The score is the mean of the last five evaluations.

    Example: rewind train --dataset log.npz --samplers baseline tr --hold-out 0.1 --steps 100000
    """

    def run(self) -> None:
        with stop_signals(end=True) as signals:  # before JAX is imported, in which an interrupt is lost
            require_training()
            from rewind.cli.train_job import run_job

            run_job(self, signals)
