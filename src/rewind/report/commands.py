"""`rewind sweeps` and `rewind mazes`: pictures for newcomers; `rewind data cards`: pages of the rebuilt data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewind.envs.mazes import MAZES
from rewind.errors import UsageError
from rewind.memory import TrajectoryReplay
from rewind.report.maze_plot import draw_mazes
from rewind.report.sweeps_plot import draw_sweeps, example


@dataclass
class Sweeps:
    """Draw backward sweeps: five small trajectories, and what a memory plays of them."""

    out: Path = Path("sweeps")
    """Folder for sweeps.png and sweeps.svg."""
    slots: int = 3
    """Slots of the batch."""
    steps: int = 12
    """Updates to draw."""
    priority: str = "uniform"
    """How the memory ranks trajectories: uniform, or one of the priorities by rewards, such as return."""
    seed: int = 3
    """Of the memory."""

    def run(self) -> None:
        memory = TrajectoryReplay(self.priority, seed=self.seed)
        memory.load_offline_dataset(example())
        if memory.dynamic:
            raise UsageError(f"priority {self.priority} ranks by the critics' uncertainty, and nothing is learned here")
        for path in draw_sweeps(memory, self.steps, self.slots, self.out):
            print(f"wrote {path}")


@dataclass
class Mazes:
    """Draw the mazes from above: for evaluation and for data, with AntMaze's goals."""

    out: Path = Path("mazes")
    """Folder for maze_umaze.png and the others."""

    def run(self) -> None:
        for path in draw_mazes(MAZES.values(), self.out):
            print(f"wrote {path}")


@dataclass
class DataCards:
    """Write a page for each rebuilt data set, beside D4RL's published figures; builds what is not there."""

    names: tuple[str, ...] = ()
    """The data sets, for example rewind/hopper-medium-v0; default: all."""
    out: Path = Path("docs/data_cards")
    """Folder for the pages, their pictures and cards.json."""

    def run(self) -> None:
        from rewind.report.cards import write_cards  # brings Numba

        for path in write_cards(self.names, self.out):
            print(f"wrote {path}")
