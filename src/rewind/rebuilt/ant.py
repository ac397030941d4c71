"""An ant that walks to waypoints: the controller of D4RL's AntMaze data."""

from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.envs.ant_model import CELL
from rewind.envs.antmaze import AntMaze
from rewind.envs.mazes import Maze, find_maze
from rewind.rebuilt.point import Waypoints

WAYPOINT_SCALE = 10.0  # length of the vector to the waypoint that the walker observes


class AntNavigator(Waypoints):
    """D4RL's waypoint rule, applied at every step.

    A waypoint is the centre of the next cell on the shortest path, plus uniform(0, 1) on each axis; or the goal, once
    that cell is the goal's. D4RL's cells run from centre to centre, so an ant's cell may be a wall: the path then
    leads through a free neighbour.
    """

    def __init__(self, maze: str | Maze) -> None:
        super().__init__(find_maze(maze), CELL)

    def cells(self, positions: Array) -> Array:
        """(n, 2) x and y -> (n, 2) rows and columns, within the maze."""
        cells = (1 + np.maximum(positions, 1e-4) / CELL).astype(np.int64)[:, ::-1]
        # D4RL counts from 1 because its mazes start at row 1, column 1
        within: Array = np.minimum(cells - 1 + self.maze.start, np.array(self.maze.walls.shape) - 1)
        return within

    def waypoints(self, positions: Array, goals: Array, jitter: Array) -> Array:
        """(n, 2) x and y of the waypoints.

        positions, goals: (n, 2) x and y
        jitter: (n, 2) from uniform(0, 1)
        """
        goal = self.cells(goals)
        ahead = self.ahead(positions, goal)
        arrived = (ahead == goal).all(axis=1, keepdims=True)
        return np.where(arrived, goals, self.maze.centres(ahead, CELL) + jitter)


def walker_observations(observations: Array, waypoints: Array) -> Array:
    """(n, 29) the walker's observations: those of AntMaze without x and y, and the direction of the waypoint."""
    towards = waypoints - observations[:, :2]
    unit = towards / np.maximum(np.linalg.norm(towards, axis=1, keepdims=True), 1e-8)
    return np.concatenate((observations[:, 2:], WAYPOINT_SCALE * unit), axis=1)


class LingeringAnt(AntMaze):
    """AntMaze, but an episode continues for some steps after it first reached its goal.

    linger: (num_envs,) how many
    """

    def __init__(self, num_envs: int = 1, *arguments: Any, **options: Any) -> None:
        super().__init__(num_envs, *arguments, **options)
        self.linger, self._since = np.zeros((2, num_envs), np.int64)  # _since: steps since then, -1 before

    def _begin(self, ids: Array, seeded: Array) -> None:
        super()._begin(ids, seeded)
        self._since[ids] = -1

    def _advance(self, actions: Array, ids: Array | None) -> tuple[Array, Array]:
        rewards, reached = super()._advance(actions, ids)
        self._since += reached | (self._since >= 0)
        return rewards, (self._since >= 0) & (self._since >= self.linger)
