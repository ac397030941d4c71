"""The mazes of AntMaze and PointMaze."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError, unknown_name


@dataclass(frozen=True)
class Maze:
    """A grid of cells: `#` wall, `R` start, `G` goal, `.` free. The start's centre is the world's origin.

    column  0 1 2 3 4
    row 0   # # # # #
    row 1   # R . . #     x grows with the column, y with the row: R is at (0, 0),
    row 2   # # # . #     and with cells of 4 m G is at (0, 8)
    row 3   # G . . #
    row 4   # # # # #
    """

    name: str
    rows: tuple[str, ...]

    def __post_init__(self) -> None:
        letters = {letter for row in self.rows for letter in row}
        if letters - set("#RG.") or len({len(row) for row in self.rows}) != 1:
            raise DataError(f"maze {self.name}: expected rows of equal length made of '#', 'R', 'G' and '.'")
        if sum(row.count("R") for row in self.rows) != 1 or "G" not in letters:
            raise DataError(f"maze {self.name}: expected one start 'R' and at least one goal 'G'")
        if not (self.walls[[0, -1]].all() and self.walls[:, [0, -1]].all()):
            raise DataError(f"maze {self.name}: expected a border of walls")

    @cached_property
    def grid(self) -> Array:
        """(rows, columns) letters."""
        return np.array([list(row) for row in self.rows])

    @property
    def walls(self) -> Array:
        """(rows, columns) bool."""
        walls: Array = self.grid == "#"
        return walls

    @cached_property
    def start(self) -> Array:
        """(2,) row and column."""
        start: Array = np.argwhere(self.grid == "R")[0]
        return start

    @cached_property
    def goals(self) -> Array:
        """(goals, 2) rows and columns."""
        return np.argwhere(self.grid == "G")

    @cached_property
    def free(self) -> Array:
        """(cells, 2) cells where an episode may start: all but walls and goals."""
        return np.argwhere((self.grid == ".") | (self.grid == "R"))

    @cached_property
    def passable(self) -> Array:
        """(cells, 2) all cells but walls."""
        return np.argwhere(~self.walls)

    def centres(self, cells: Array, size: float) -> Array:
        """(..., 2) rows and columns -> (..., 2) x and y, in cells of `size` metres."""
        return (np.asarray(cells) - self.start)[..., ::-1] * float(size)

    def bounds(self, size: float) -> tuple[float, float, float, float]:
        """left, right, bottom, top of the outer walls."""
        (left, bottom), (right, top) = self.centres(np.array([[0, 0], np.array(self.grid.shape) - 1]), size)
        return left - size / 2, right + size / 2, bottom - size / 2, top + size / 2


UMAZE = """
#####
#R..#
###.#
#G..#
#####
"""

MEDIUM = """
########
#R.##..#
#..#...#
##...###
#..#...#
#.#..#.#
#...#.G#
########
"""

MEDIUM_DATA = """
########
#R.##..#
#..#..G#
##...###
#..#...#
#G#..#.#
#...#G.#
########
"""

LARGE = """
############
#R...#.....#
#.##.#.#.#.#
#......#...#
#.####.###.#
#..#.#.....#
##.#.#.#.###
#..#...#.G.#
############
"""

LARGE_DATA = """
############
#R...#G....#
#.##.#.#.#.#
#....G.#..G#
#.####.###.#
#.G#.#.....#
##.#.#.#.###
#..#G.G#.G.#
############
"""

# Policies are evaluated with one goal; data was collected with several.
_DRAWINGS = {"umaze": UMAZE, "medium": MEDIUM, "large": LARGE, "medium-data": MEDIUM_DATA, "large-data": LARGE_DATA}
MAZES = {name: Maze(name, tuple(drawing.split())) for name, drawing in _DRAWINGS.items()}


def find_maze(maze: str | Maze) -> Maze:
    """The maze of that name; a `Maze` is returned unchanged."""
    if not isinstance(maze, str):
        return maze
    if maze not in MAZES:
        raise unknown_name("maze", maze, MAZES)
    return MAZES[maze]
