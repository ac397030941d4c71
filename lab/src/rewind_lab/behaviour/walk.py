"""The task that the ant of AntMaze's data is trained on: walk from goal to goal."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from rewind.arrays import Array
from rewind.envs.ant_model import CELL, uprightness
from rewind.envs.antmaze import REACHED, AntMaze
from rewind.envs.mazes import MAZES, Maze
from rewind.envs.vector import unbounded
from rewind.rebuilt.ant import AntNavigator, walker_observations

NOISE = 0.2  # standard deviation of the noise added to each action, as in the recipe
CRUISE = 1.5  # maximum rewarded speed in metres per second: a faster ant falls over more often
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

    def __init__(self, num_envs: int = 1, walk: Walk = Walk(), max_episode_steps: int = 1000, **options: Any):
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
