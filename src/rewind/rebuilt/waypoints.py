"""Waypoint navigation: the shortest path through a maze, cell by cell."""

from functools import cached_property

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

    @cached_property
    def steps(self) -> dict[tuple[int, int], Array]:
        """For each free cell, (rows, columns) distances to it in cells; infinite without a path."""
        return {(int(row), int(column)): distances(self.maze, (row, column)) for row, column in self.maze.passable}

    def cells(self, positions: Array) -> Array:
        """(n, 2) x and y -> (n, 2) rows and columns."""
        return np.floor(positions / self.cell + 0.5).astype(np.int64)[:, ::-1] + self.maze.start

    def next(self, positions: Array, goals: Array) -> Array:
        """(n, 2) the centre of the next cell on the shortest path; in the goal's cell, its centre.

        positions: (n, 2) x and y
        goals: (n, 2) rows and columns of free cells
        """
        ahead = np.empty_like(goals)
        for index, (here, goal) in enumerate(zip(self.cells(positions), goals, strict=True)):
            ahead[index] = self._step(here, goal)
        return self.maze.centres(ahead, self.cell)

    def _step(self, here: Array, goal: Array) -> Array:
        steps = self.steps.get((int(goal[0]), int(goal[1])))
        if steps is None:
            raise UsageError(f"row {goal[0]}, column {goal[1]} of maze {self.maze.name} is a wall, not a goal")
        choices = [here, *(here + step for step in NEIGHBOURS)]
        return np.asarray(min(choices, key=lambda cell: steps[tuple(cell)]))


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
