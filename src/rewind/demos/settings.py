"""The settings of `rewind demo`, apart from the demo, which needs JAX: so `rewind --help` is fast."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class DemoSettings:
    """The data, the runs and the folder of one demo."""

    out: Path = Path("demo")
    """Folder for pictures, results, data and policies."""
    maze: Literal["umaze", "medium", "large"] = "large"
    """One of AntMaze's mazes, with smaller cells."""
    trajectories: int = 1000
    """Trajectories in the data: a point mass from anywhere to anywhere, rewarded only at the goal."""
    noise: float = 1.0
    """Standard deviation of the noise added to the behaviour's pushes, which go up to 1."""
    seeds: int = 5
    """Runs of each variant, all trained together."""
    steps: int = 60_000
    """Updates of each run."""
    batch_size: int = 64
    """Transitions per update."""
    hidden: tuple[int, ...] = (64, 64)
    """Sizes of the hidden layers."""
    episodes: int = 20
    """Episodes per evaluation and run."""
    data_seed: int = 0
    """Seed of the data."""
    json: Path | None = None
    """Also write all figures to this file."""
