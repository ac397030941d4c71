"""A sparse PointMaze: a point mass in the mazes of AntMaze, written in NumPy. For tests and demonstrations.

    v' = v + DT (FORCE a - DRAG v)        a in [-1, 1]^2, clipped; a constant push reaches 2 m/s on its axis
    x' = x + DT v'                        a wall stops it, and sets v' = 0, on that axis

Cells are 1 m wide. The body is a square of side 2 RADIUS, moved along x and then along y. A step is at most 0.2 m on
each axis, so nothing passes through a wall. This is neither D4RL's maze2d nor Gymnasium-Robotics' PointMaze: steps are
ten times as long, so that episodes are short.
"""

from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from rewind.arrays import Array
from rewind.envs.mazes import Maze, find_maze
from rewind.envs.vector import ArrayEnv, SingleEnv, unbounded

CELL, RADIUS = 1.0, 0.1
DT, FORCE, DRAG = 0.1, 5.0, 2.5
REACHED = 0.5  # metres from the goal
START_NOISE = 0.1
GAP = 1e-9  # between the body and a wall it touches, so that rounding never puts it inside


class PointMaze(ArrayEnv):
    """Observation (4): x, y and their velocities. Within 0.5 m of the goal: reward 1, and the episode ends.

    maze: a name of `MAZES`, or a `Maze`; if it has several goals, one is drawn at each reset
    start: near the origin, or anywhere on a free cell without a goal; at rest
    options: see `ArrayEnv`
    goals: (num_envs, 2) positions; you may change them
    """

    reference_scores = (0.0, 1.0)

    def __init__(
        self,
        num_envs: int = 1,
        maze: str | Maze = "umaze",
        *,
        start: Literal["origin", "anywhere"] = "origin",
        **options: Any,
    ) -> None:
        options.setdefault("max_episode_steps", 400)
        super().__init__(num_envs, unbounded(4), gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32), **options)
        self.maze, self.start = find_maze(maze), start
        self.goals, self.positions, self.velocities = np.zeros((3, num_envs, 2))

    def _begin(self, ids: Array, seeded: Array) -> None:
        maze = self.maze
        for index in ids:
            stream = self.streams[index]
            cell, spread = maze.start, START_NOISE
            if self.start == "anywhere":
                cell, spread = maze.free[stream.integers(len(maze.free))], CELL / 2 - RADIUS - GAP
            self.positions[index] = maze.centres(cell, CELL) + stream.uniform(-spread, spread, 2)
            self.goals[index] = maze.centres(maze.goals[stream.integers(len(maze.goals))], CELL)
        self.velocities[ids] = 0.0

    def _advance(self, actions: Array, ids: Array | None) -> tuple[Array, Array]:
        moving: Any = slice(None) if ids is None else ids
        push = np.clip(actions[moving].astype(np.float64), -1.0, 1.0)
        positions, velocities = self.positions[moving], self.velocities[moving]
        velocities = velocities + DT * (FORCE * push - DRAG * velocities)
        for axis in range(2):
            positions, velocities = self._move(positions, velocities, axis)
        self.positions[moving], self.velocities[moving] = positions, velocities
        reached = np.linalg.norm(self.positions - self.goals, axis=1) <= REACHED
        return reached.astype(np.float64), reached

    def _move(self, positions: Array, velocities: Array, axis: int) -> tuple[Array, Array]:
        """Move along one axis, up to the first wall that the body's leading face meets."""
        positions, velocities = positions.copy(), velocities.copy()
        positions[:, axis] += DT * velocities[:, axis]
        ahead = np.where(velocities[:, axis] < 0.0, -1.0, 1.0)
        corners = np.repeat(positions[:, None], 2, axis=1)  # (moving, 2, xy)
        corners[:, :, axis] += ahead[:, None] * RADIUS
        corners[:, :, 1 - axis] += [-RADIUS, RADIUS]
        cells = np.floor(corners / CELL + 0.5).astype(np.int64)[..., ::-1] + self.maze.start
        blocked = self.maze.walls[cells[..., 0], cells[..., 1]].any(axis=1)
        face = (cells[:, 0, 1 - axis] - self.maze.start[1 - axis] - 0.5 * ahead) * CELL
        positions[:, axis] = np.where(blocked, face - ahead * (RADIUS + GAP), positions[:, axis])
        velocities[:, axis] = np.where(blocked, 0.0, velocities[:, axis])
        return positions, velocities

    def _observe(self) -> Array:
        return np.concatenate((self.positions, self.velocities), axis=1)


def single(**options: Any) -> SingleEnv:
    """One point for `gymnasium.make`, which counts the steps."""
    return SingleEnv(PointMaze(1, max_episode_steps=None, autoreset_mode=AutoresetMode.DISABLED, **options))
