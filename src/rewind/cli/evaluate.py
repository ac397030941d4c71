"""`rewind evaluate --offline`: what trained policies are worth by the log alone."""

from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional, Rare
from rewind.errors import UsageError, require_training


@dataclass
class Evaluate:
    """Rank trained policies by fitted Q evaluation on the data, without a simulator; writes offline.json.

    Example: rewind evaluate runs/log --offline
    """

    policies: Positional[tuple[Path, ...]]
    """Folders of `rewind train`, or of single policies such as runs/hopper/policies/000."""
    offline: bool = False
    """From the data alone. Required: `rewind train --env` evaluates in a simulator."""
    dataset: str | None = None
    """Where the data is now; default: where it was when the policies were trained."""
    discount: Rare[float | None] = None
    """Of the values; default: the one the policies were trained with."""
    steps: int = 5_000
    """Updates of each network."""
    members: Rare[int] = 6
    """Networks of each policy: each is fitted to its own resample of the trajectories."""
    batch_size: Rare[int] = 128
    """Transitions per update."""
    hidden: Rare[tuple[int, ...]] = (64, 64)
    """Sizes of the hidden layers."""
    order: Rare[str] = "uniform"
    """Of the rows: uniform, or tr (Trajectory Replay)."""
    beta: Rare[float] = 1.0
    """With --order tr: the weight of the bootstrap in the weighted target."""
    seed: Rare[int] = 0
    """Of resamples, networks and the order of rows."""
    out: Path | None = None
    """Folder for offline.json; default: the first folder given. `rewind report` reads it there."""

    def run(self) -> None:
        if not self.policies:
            raise UsageError(
                "no policies to evaluate: rewind evaluate FOLDER --offline, which `rewind train` has written"
            )
        if not self.offline:
            raise UsageError(
                "--offline is missing: add it to rank policies by the data alone; `rewind train --env` uses a simulator"
            )
        require_training()
        from rewind.evaluation.fqe import FitSettings
        from rewind.evaluation.offline_record import write_offline
        from rewind.evaluation.offline_table import OFFLINE, offline_table, steps_of

        settings = FitSettings(
            self.steps, self.members, self.batch_size, self.hidden, order=self.order, beta=self.beta, seed=self.seed
        )
        folder = self.out or self.policies[0]
        before = steps_of(folder)
        record = write_offline(folder, self.policies, None, self.dataset, self.discount, settings)
        print(offline_table(record))
        replaced = f", in place of a longer fit of {before:,} steps: --out keeps both" if before > self.steps else ""
        print(f"wrote {folder / OFFLINE}{replaced}")
