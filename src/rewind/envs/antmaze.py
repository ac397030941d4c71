"""AntMaze as D4RL defines it: an ant in a maze, with a reward of 1 at the goal. Differences: docs/environments.md."""

from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from rewind.arrays import Array
from rewind.envs.ant_model import CELL, STRENGTH, ant_maze_xml
from rewind.envs.batched import MujocoEnv, mujoco
from rewind.envs.mazes import Maze, find_maze
from rewind.envs.vector import SingleEnv, unbounded

FRAME_SKIP = 5
REACHED = 0.5  # metres from the goal
POSITIONS, VELOCITIES = 15, 14


class AntMaze(MujocoEnv):
    """Observation (29): x, y, z, quaternion (w first), 8 joints; 14 velocities. The goal is not observed.

    maze: a name of `MAZES`, or a `Maze`
    goal: drawn once per environment, when it is seeded (-v0), or at each reset (-v2)
    start: at the origin, or on any free cell without a goal, as in the "diverse" data
    corrected: see `ant_maze_xml`
    options: see `MujocoEnv`
    goals: (num_envs, 2) positions; you may change them
    """

    camera = "above"
    reference_scores = (0.0, 1.0)

    def __init__(
        self,
        num_envs: int = 1,
        maze: str | Maze = "umaze",
        *,
        goal: Literal["environment", "reset"] = "reset",
        start: Literal["origin", "anywhere"] = "origin",
        corrected: bool = True,
        **options: Any,
    ) -> None:
        self.maze = find_maze(maze)
        self.goal, self.start = goal, start
        model = mujoco.MjModel.from_xml_string(ant_maze_xml(self.maze, corrected))
        action_space = gymnasium.spaces.Box(-1.0, 1.0, (model.nu,), np.float32)
        options.setdefault("max_episode_steps", 1000)
        super().__init__(model, num_envs, unbounded(POSITIONS + VELOCITIES), action_space, FRAME_SKIP, **options)
        self.goals = np.zeros((num_envs, 2))

    def _begin(self, ids: Array, seeded: Array) -> None:
        qpos, qvel = np.tile(self.model.qpos0, (len(ids), 1)), np.empty((len(ids), VELOCITIES))
        for row, index in enumerate(ids):
            stream = self.streams[index]
            if self.goal == "reset" or seeded[index]:
                self.goals[index] = draw_goal(self.maze, stream)
            qpos[row] += stream.uniform(-0.1, 0.1, POSITIONS)
            qvel[row] = 0.1 * stream.standard_normal(VELOCITIES)
            if self.start == "anywhere":
                qpos[row, :2] = draw_start(self.maze, stream)
        qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)  # MuJoCo 2.0 did this itself
        self.set_state(ids, qpos, qvel)

    def _advance(self, actions: Array, ids: Array | None) -> tuple[Array, Array]:
        self.simulate(STRENGTH * actions.astype(np.float64), ids)
        reached = np.linalg.norm(self.qpos[:, :2] - self.goals, axis=1) <= REACHED
        return reached.astype(np.float64), reached

    def _observe(self) -> Array:
        return np.concatenate((self.qpos, self.qvel), axis=1)

    def _decorate(self, scene: Any, index: int) -> None:
        """Draw the goal as a disc, with the radius in which it counts as reached."""
        size, place = np.array([REACHED, 0.01, 0.0]), np.array([*self.goals[index], 0.02])
        cylinder, colour = mujoco.mjtGeom.mjGEOM_CYLINDER, np.array([0.0, 0.62, 0.45, 0.8], np.float32)
        mujoco.mjv_initGeom(scene.geoms[scene.ngeom], cylinder, size, place, np.eye(3).ravel(), colour)
        scene.ngeom += 1


def draw_goal(maze: Maze, stream: np.random.Generator) -> Array:
    """(2,) a point near the centre of one of the maze's goal cells; like D4RL, with noise added twice."""
    centre = maze.centres(maze.goals[stream.integers(len(maze.goals))], CELL)
    return np.maximum(centre + stream.uniform(0.0, 1.0, 2) + stream.uniform(0.0, 0.5, 2), 0.0)


def draw_start(maze: Maze, stream: np.random.Generator) -> Array:
    """(2,) a point near the centre of a free cell without a goal."""
    return maze.centres(maze.free[stream.integers(len(maze.free))], CELL) + stream.uniform(0.0, 1.0, 2)


def single(**options: Any) -> SingleEnv:
    """One ant for `gymnasium.make`, which counts the steps."""
    return SingleEnv(AntMaze(1, max_episode_steps=None, autoreset_mode=AutoresetMode.DISABLED, threads=1, **options))
