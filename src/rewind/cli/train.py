"""`rewind train`. What it does is in `train_job`, which needs JAX."""

from dataclasses import dataclass

from rewind.cli.train_options import TrainOptions
from rewind.errors import require
from rewind.signals import stop_signals


@dataclass(frozen=True)
class Train(TrainOptions):
    """Train agents on a data set, score them, and keep their policies."""

    def run(self) -> None:
        with stop_signals(end=True) as signals:  # before JAX is imported, in which an interrupt is lost
            for package in ("jax", "equinox", "optax"):
                require(package, "train")
            from rewind.cli.train_job import run_job

            run_job(self, signals)
