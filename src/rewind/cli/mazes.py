"""`rewind mazes`: pictures of the mazes."""

from dataclasses import dataclass
from pathlib import Path

from rewind.envs.mazes import MAZES
from rewind.report.maze_plot import draw_mazes


@dataclass
class Mazes:
    """Draw the mazes from above, with AntMaze's goals.

    Example: rewind mazes --out mazes
    """

    out: Path = Path("mazes")
    """Folder for maze_umaze.png and the others."""

    def run(self) -> None:
        for path in draw_mazes(MAZES.values(), self.out):
            print(f"wrote {path}")
