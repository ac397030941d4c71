"""`rewind demo`: what it takes. What it does is in `demo`, which needs JAX."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rewind.errors import require


@dataclass(frozen=True)
class Demo:
    """The main job in minutes: data made on the spot, four ways to replay it, scores, curves and learned paths."""

    out: Path = Path("demo")
    """Folder for pictures, results, data and policies."""
    maze: Literal["umaze", "medium", "large"] = "large"
    """AntMaze's, in small."""
    trajectories: int = 1000
    """How many the data has: a point mass from anywhere to anywhere, rewarded only where it crosses the goal."""
    noise: float = 1.0
    """Standard deviation of what is added to the behaviour's pushes, which go up to 1."""
    seeds: int = 5
    """Runs of each way, all trained together."""
    steps: int = 60_000
    """Updates of each run."""
    batch_size: int = 64
    """Transitions per update."""
    hidden: tuple[int, ...] = (64, 64)
    """Sizes of the hidden layers."""
    episodes: int = 20
    """Episodes per evaluation and run."""
    data_seed: int = 0
    """Of the data."""
    json: Path | None = None
    """Also write all figures to this file."""

    def run(self) -> None:
        for package, extra in (("jax", "train"), ("equinox", "train"), ("gymnasium", "envs"), ("matplotlib", "plot")):
            require(package, extra)
        from rewind.demos.demo import run_demo

        run_demo(self)
