"""`rewind train`. What it does is in `train_job`, which needs JAX."""

from dataclasses import dataclass

from rewind.cli.train_options import TrainOptions
from rewind.errors import require


@dataclass(frozen=True)
class Train(TrainOptions):
    """Train agents on a data set, score them, and keep their policies."""

    def run(self) -> None:
        for package in ("jax", "equinox", "optax"):
            require(package, "train")
        from rewind.cli.train_job import run_job

        run_job(self)
