"""Data of a point mass that wanders through a maze: from anywhere to anywhere, steered by waypoints, with noise.

It is made like D4RL's `diverse` sets of AntMaze: goals are drawn, and episodes end there. Rewards are assigned
afterwards: 1, and the end, where the next state is at the goal of the evaluation. Few episodes reach that goal, and
fewer cross the whole maze, so that an agent must combine pieces of several.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, from_episodes
from rewind.envs.mazes import Maze, find_maze
from rewind.rebuilt.waypoints import Waypoints

PUSH, BRAKE = 2.0, 0.6  # per metre to the waypoint, per metre per second


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
