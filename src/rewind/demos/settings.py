"""The settings of `rewind demo`, apart from the demo, which needs JAX: so `rewind --help` is fast."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

T = TypeVar("T")
Rare = Annotated[T, "rare"]  # as the command line marks them; this room does not know it


@dataclass(frozen=True)
class DemoSettings:
    """The data, the runs and the folder of one demo."""

    out: Path = Path("demo")
    """Folder for pictures, results, data and policies."""
    maze: Literal["umaze", "medium", "large"] = "large"
    """One of AntMaze's mazes, with smaller cells."""
    trajectories: Rare[int] = 1000
    """Trajectories in the data: a point mass from anywhere to anywhere, rewarded only at the goal."""
    noise: Rare[float] = 1.0
    """Standard deviation of the noise added to the behaviour's pushes, which go up to 1."""
    seeds: int = 5
    """Runs of each way to replay, trained together."""
    steps: int = 20_000
    """Updates of each run."""
    batch_size: Rare[int] = 64
    """Transitions per update."""
    hidden: Rare[tuple[int, ...]] = (64, 64)
    """Sizes of the hidden layers."""
    episodes: Rare[int] = 10
    """Episodes per evaluation and run."""
    data_seed: Rare[int] = 0
    """Seed of the data."""
    json: Rare[Path | None] = None
    """Also write all figures to this file."""
