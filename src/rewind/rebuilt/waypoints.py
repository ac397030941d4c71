"""Waypoint navigation: the shortest path through a maze, cell by cell."""

from functools import cache

import numpy as np

from rewind.arrays import Array
from rewind.envs.mazes import Maze
from rewind.errors import UsageError

NEIGHBOURS = ((0, 1), (1, 0), (0, -1), (-1, 0))


class Waypoints:
    """The next waypoint from anywhere in a maze to any of its free cells.

    cell: width of a cell in metres
    """

    def __init__(self, maze: Maze, cell: float) -> None:
        self.maze, self.cell = maze, cell

    def cells(self, positions: Array) -> Array:
        """(n, 2) x and y -> (n, 2) rows and columns."""
        return np.floor(positions / self.cell + 0.5).astype(np.int64)[:, ::-1] + self.maze.start

    def ahead(self, positions: Array, goals: Array) -> Array:
        """(n, 2) the next cell on the shortest path; in the goal's cell, that cell.

        positions: (n, 2) x and y
        goals: (n, 2) rows and columns of free cells
        """
        ahead: Array = _next_cells(self.maze)[(*goals.T, *self.cells(positions).T)]
        return ahead

    def next(self, positions: Array, goals: Array) -> Array:
        """(n, 2) the centres of those cells."""
        if (walls := self.maze.walls[tuple(goals.T)]).any():
            row, column = goals[walls][0]
            raise UsageError(f"row {row}, column {column} of maze {self.maze.name} is a wall, not a goal")
        return self.maze.centres(self.ahead(positions, goals), self.cell)


@cache
def _next_cells(maze: Maze) -> Array:
    """(rows, columns of the goal, rows, columns of the place, 2): the neighbour that is nearest to the goal."""
    rows, columns = maze.walls.shape
    table = np.zeros((rows, columns, rows, columns, 2), np.int64)
    for goal in maze.passable:
        away = distances(maze, tuple(goal))
        for here in np.ndindex(rows, columns):
            around = [(here[0] + row, here[1] + column) for row, column in NEIGHBOURS]
            inside = [cell for cell in around if 0 <= cell[0] < rows and 0 <= cell[1] < columns]
            table[tuple(goal)][here] = min([here, *inside], key=lambda cell: away[cell])
    return table


def distances(maze: Maze, goal: tuple[int, int]) -> Array:
    """(rows, columns) distance to `goal` in cells; infinite in walls and without a path."""
    steps = np.full(maze.walls.shape, np.inf)
    steps[goal] = 0.0
    front = [goal]
    while front:
        around = [(cell, (cell[0] + row, cell[1] + column)) for cell in front for row, column in NEIGHBOURS]
        front = []
        for cell, neighbour in around:
            if not maze.walls[neighbour] and np.isinf(steps[neighbour]):
                steps[neighbour] = steps[cell] + 1.0
                front.append(neighbour)
    return steps
