"""An ant that walks to waypoints: the controller of D4RL's AntMaze data, and the task to train such a walker."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from rewind.arrays import Array
from rewind.envs.ant_model import CELL, uprightness
from rewind.envs.antmaze import REACHED, AntMaze
from rewind.envs.mazes import MAZES, Maze, find_maze
from rewind.envs.vector import unbounded
from rewind.rebuilt.waypoints import NEIGHBOURS, distances

WAYPOINT_SCALE = 10.0  # length of the vector to the waypoint that the walker observes
NOISE = 0.2  # standard deviation of the noise added to each action, in training and in the recipe
CRUISE = 1.5  # maximum rewarded speed in metres per second: a faster ant falls over more often


class AntNavigator:
    """D4RL's waypoint rule, applied at every step.

    A waypoint is the centre of the next cell on the shortest path, plus uniform(0, 1) on each axis; or the goal, once
    that cell is the goal's. D4RL's cells run from centre to centre, so an ant's cell may be a wall: the path then
    leads through a free neighbour.
    """

    def __init__(self, maze: str | Maze) -> None:
        self.maze = find_maze(maze)

    @cached_property
    def _next(self) -> Array:
        """(rows, columns of the goal, rows, columns of the ant, 2): the next cell."""
        rows, columns = self.maze.walls.shape
        table = np.zeros((rows, columns, rows, columns, 2), np.int64)
        for goal in self.maze.passable:
            away = distances(self.maze, tuple(goal))
            for here in np.ndindex(rows, columns):
                around = [(here[0] + row, here[1] + column) for row, column in NEIGHBOURS]
                inside = [cell for cell in around if 0 <= cell[0] < rows and 0 <= cell[1] < columns]
                best = min(inside, key=lambda cell: away[cell])
                table[tuple(goal)][here] = best if away[best] < away[here] else here
        return table

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
        here, goal = self.cells(positions), self.cells(goals)
        ahead = self._next[goal[:, 0], goal[:, 1], here[:, 0], here[:, 1]]
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


OPEN = Maze("open", ("#" * 10, "#R" + "." * 7 + "#", *(["#" + "." * 8 + "#"] * 6), "#" + "." * 7 + "G#", "#" * 10))


@dataclass(frozen=True)
class Walk:
    """How a walker is trained.

    maze: where; "open" is a hall of 32 x 32 m without inner walls
    noise: standard deviation of the noise added to each action
    cruise: maximum rewarded speed in metres per second
    ends: whether an episode ends when the ant is on its back; otherwise it must get up or wait for the time-out
    """

    maze: str = "large-data"
    noise: float = NOISE
    cruise: float = CRUISE
    ends: bool = True


class AntWalk(AntMaze):
    """The walker's training task: walk from goal to goal through a maze.

    Reward: speed towards the waypoint in m/s, up to `walk.cruise`.
    counts: (3, num_envs) steps, steps that ended on the back, goals reached, since they were last set to 0
    """

    def __init__(self, num_envs: int = 1, walk: Walk = Walk(), max_episode_steps: int = 1000, **options: Any):  # noqa: B008
        self.walk = walk
        self.navigator = AntNavigator(OPEN if walk.maze == "open" else MAZES[walk.maze])
        super().__init__(
            num_envs, self.navigator.maze, start="anywhere", max_episode_steps=max_episode_steps,
            autoreset_mode=AutoresetMode.DISABLED, **options,
        )  # fmt: skip
        self.single_observation_space = unbounded(29)
        self._waypoints = np.zeros((num_envs, 2))
        self.counts = np.zeros((3, num_envs))

    def _begin(self, ids: Array, seeded: Array) -> None:
        super()._begin(ids, seeded)
        self._new_goals(ids)
        self._head(ids)

    def _advance(self, actions: Array, ids: Array | None) -> tuple[Array, Array]:
        before = self.qpos[:, :2].copy()
        towards = self._waypoints - before
        towards /= np.maximum(np.linalg.norm(towards, axis=1, keepdims=True), 1e-8)
        noise = self.walk.noise * self.streams[0].standard_normal(actions.shape)
        super()._advance(np.clip(actions + noise, -1.0, 1.0), ids)
        speed = ((self.qpos[:, :2] - before) * towards).sum(axis=1) / self.dt
        arrived = np.linalg.norm(self.qpos[:, :2] - self.goals, axis=1) <= REACHED
        self._new_goals(np.flatnonzero(arrived))
        self._head(np.arange(self.num_envs))
        on_back = uprightness(self.qpos) < 0.0
        self.counts += np.stack((np.ones(self.num_envs), on_back, arrived))
        return np.minimum(speed, self.walk.cruise), on_back & self.walk.ends

    def _new_goals(self, ids: Array) -> None:
        for index in ids:
            cell = self.maze.passable[self.streams[index].integers(len(self.maze.passable))]
            offset = self.streams[index].uniform(0.0, 1.0, 2)
            self.goals[index] = np.maximum(self.maze.centres(cell, CELL) + offset, 0.0)

    def _head(self, ids: Array) -> None:
        jitter = self.streams[0].uniform(0.0, 1.0, (len(ids), 2))
        self._waypoints[ids] = self.navigator.waypoints(self.qpos[ids, :2], self.goals[ids], jitter)

    def _observe(self) -> Array:
        return walker_observations(super()._observe(), self._waypoints)
