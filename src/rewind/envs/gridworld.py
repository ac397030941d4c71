"""A maze of cells with four actions: the smallest environment of discrete actions.

The observation is one-hot, with a number for each cell that is no wall. A step into a wall stays. Reaching the maze's
first goal gives a reward of 1 and ends the episode. Episodes start on any cell without a goal.
"""

from typing import Any

import gymnasium
import numpy as np

from rewind.arrays import Array
from rewind.envs.mazes import Maze, find_maze

MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))  # rows and columns


class GridWorld(gymnasium.Env[Any, Any]):
    def __init__(self, maze: str | Maze = "large") -> None:
        self.maze = find_maze(maze)
        self.goal = tuple(self.maze.goals[0])
        self.numbers = {tuple(cell): number for number, cell in enumerate(self.maze.passable)}
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (len(self.numbers),), np.float32)
        self.action_space = gymnasium.spaces.Discrete(len(MOVES))
        self.cell = self.goal

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = tuple(self.maze.free[self.np_random.integers(len(self.maze.free))])
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        row, column = MOVES[int(action)]
        ahead = (self.cell[0] + row, self.cell[1] + column)
        self.cell = self.cell if self.maze.walls[ahead] else ahead
        reached = self.cell == self.goal
        return self._observation(), float(reached), reached, False, {}

    def _observation(self) -> Array:
        observation = np.zeros(len(self.numbers), np.float32)
        observation[self.numbers[self.cell]] = 1.0
        return observation
