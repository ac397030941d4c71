"""A maze of cells with four actions: the smallest environment of discrete actions.

The observation is one-hot, with a number for each cell that is no wall. A step into a wall stays. Reaching the maze's
first goal gives a reward of 1 and ends the episode. Episodes start on any cell without a goal.
"""

from typing import Any

import gymnasium
import numpy as np

from rewind.arrays import Array
from rewind.envs.mazes import Maze, find_maze
from rewind.errors import UsageError

MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))  # rows and columns
FLOOR, WALL, GOAL, AGENT = (255, 255, 255), (90, 90, 90), (70, 160, 90), (40, 90, 180)  # red, green, blue
PIXELS = 32  # a cell's width in a picture


class GridWorld(gymnasium.Env[Any, Any]):
    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012

    def __init__(self, maze: str | Maze = "large", render_mode: str | None = None) -> None:
        if render_mode not in (None, "rgb_array"):
            raise UsageError(f"unknown render_mode {render_mode!r}: expected None or 'rgb_array'")
        self.render_mode = render_mode
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

    def render(self) -> Any:
        """The maze from above, (height, width, 3) uint8; None without a render mode."""
        if self.render_mode is None:
            return None
        cells = np.where(self.maze.walls[..., None], WALL, FLOOR).astype(np.uint8)
        cells[self.goal] = GOAL
        cells[self.cell] = AGENT
        return cells.repeat(PIXELS, axis=0).repeat(PIXELS, axis=1)

    def _observation(self) -> Array:
        observation = np.zeros(len(self.numbers), np.float32)
        observation[self.numbers[self.cell]] = 1.0
        return observation
