"""The shortest path through a maze, cell by cell, and data of a point mass that wanders along such paths, with noise.

The data is made like D4RL's `diverse` sets of AntMaze: goals are drawn, and episodes end there. Rewards are assigned
afterwards: 1, and the end, where the next state is at the goal of the evaluation. Few episodes reach that goal, and
fewer cross the whole maze, so that an agent must combine pieces of several.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, from_episodes
from rewind.envs.mazes import Maze, find_maze
from rewind.errors import UsageError

NEIGHBOURS = ((0, 1), (1, 0), (0, -1), (-1, 0))
PUSH, BRAKE = 2.0, 0.6  # per metre to the waypoint, per metre per second


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


def steer(waypoints: Array, observations: Array) -> Array:
    """(n, 2) pushes towards the waypoints, reduced by the current velocity."""
    return np.clip(PUSH * (waypoints - observations[:, :2]) - BRAKE * observations[:, 2:], -1.0, 1.0)


def wander(maze: str | Maze, episodes: int, noise: float = 0.5, horizon: int = 150, seed: int = 0) -> Trajectories:
    """Trajectories in a PointMaze, all played together.

    noise: standard deviation of the noise added to each push
    horizon: steps after which an episode is cut
    """
    from rewind.envs.pointmaze import CELL, PointMaze

    maze = find_maze(maze)
    env = PointMaze(episodes, maze, start="anywhere", max_episode_steps=horizon, autoreset_mode="Disabled")
    observations, _ = env.reset(seed=seed)
    stream, waypoints = np.random.default_rng(seed), Waypoints(maze, CELL)
    goals = maze.passable[stream.integers(len(maze.passable), size=episodes)]
    env.goals[:] = maze.centres(goals, CELL)
    all_states, all_actions, playing = [observations], [], [np.ones(episodes, bool)]
    while playing[-1].any():
        pushes = steer(waypoints.next(observations[:, :2], goals), observations)
        actions = np.clip(pushes + noise * stream.standard_normal(pushes.shape), -1.0, 1.0).astype(np.float32)
        observations, _, terminated, truncated, _ = env.step(actions)
        all_states.append(observations)
        all_actions.append(actions)
        playing.append(~(terminated | truncated))
    lengths = np.array(playing).sum(axis=0)
    parts = zip(np.stack(all_states, axis=1), np.stack(all_actions, axis=1), lengths, strict=True)
    target = maze.centres(maze.goals[0], CELL)
    data = from_episodes(
        (_episode(states[: length + 1], pushes[:length], target) for states, pushes, length in parts),
        name=f"rewind/point-{maze.name}-wander-v0",
    )
    made = {"episodes": episodes, "noise": noise, "horizon": horizon, "seed": seed}
    return replace(data, notes={**data.notes, "made": made, "environment": f"rewind/PointMaze-{maze.name}-v0"})


def _episode(states: Array, actions: Array, target: Array) -> dict[str, Any]:
    """One episode, with a reward and its end at the goal of the evaluation."""
    from rewind.envs.pointmaze import REACHED

    reached = np.linalg.norm(states[1:, :2] - target, axis=1) <= REACHED
    length = int(np.argmax(reached)) + 1 if reached.any() else len(actions)
    return {
        "observations": states[: length + 1],
        "actions": actions[:length],
        "rewards": reached[:length].astype(np.float32),
        "terminated": bool(reached.any()),
    }
