"""Small data sets of discrete actions, made in seconds: mixed logs of controllers from very noisy to nearly clean.

An episode's share of random actions is drawn from 0 to 1. In the rest a controller acts: a linear one for CartPole, one
that pushes with the second joint's velocity for Acrobot, and in the grid world one that takes the shortest path to a
cell drawn for the episode.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories
from rewind.errors import require
from rewind.rebuilt.recipes import Recipe

Controller = Callable[[Array], int]
ENVIRONMENTS = {
    "rewind/cartpole-mixed-v0": "CartPole-v1",
    "rewind/acrobot-mixed-v0": "Acrobot-v1",
    "rewind/gridworld-mixed-v0": "rewind/GridWorld-large-v0",
}
ROWS = 50_000
HORIZONS = {
    "CartPole-v1": 500,
    "Acrobot-v1": 500,
    "rewind/GridWorld-large-v0": 100,
}  # steps, as Gymnasium registers them
QUICK = {
    name: Recipe(name, environment, HORIZONS[environment], ROWS, ("controllers",))
    for name, environment in ENVIRONMENTS.items()
}
CART = np.array([0.05, 0.1, 1.0, 0.3])  # position, velocity, angle, angular velocity


def quick(name: str, rows: int = ROWS, seed: int = 0) -> Trajectories:
    """A data set of ENVIRONMENTS with at least so many rows."""
    gymnasium = require("gymnasium", "envs")
    import rewind.envs  # noqa: F401  registers the grid world
    from rewind.data.recorder import RecordEpisodes

    env = RecordEpisodes(gymnasium.make(ENVIRONMENTS[name]))
    stream, count = np.random.default_rng(seed), 0
    while count < rows:
        count += _play(env, name, stream)
    data = env.trajectories(name)
    return replace(data, notes={**data.notes, "made": {"rows": rows, "seed": seed}, "environment": ENVIRONMENTS[name]})


def _play(env: Any, name: str, stream: np.random.Generator) -> int:
    """Play one episode; returns its number of steps."""
    observation, _ = env.reset(seed=int(stream.integers(2**31)))
    noise, controller = stream.random(), _controller(env, name, stream)
    over, steps = False, 0
    while not over:
        random = stream.random() < noise
        action = int(stream.integers(env.action_space.n)) if random else controller(observation)
        observation, _, terminated, truncated, _ = env.step(action)
        over, steps = terminated or truncated, steps + 1
    return steps


def _controller(env: Any, name: str, stream: np.random.Generator) -> Controller:
    if "cartpole" in name:
        return lambda observation: int(observation @ CART > 0)
    if "acrobot" in name:
        return lambda observation: 2 if observation[5] > 0 else 0
    from rewind.envs.gridworld import MOVES
    from rewind.rebuilt.point import distances

    maze, world = env.unwrapped.maze, env.unwrapped
    steps = distances(maze, tuple(maze.passable[stream.integers(len(maze.passable))]))
    return lambda _: min(range(len(MOVES)), key=lambda move: steps[tuple(np.add(world.cell, MOVES[move]))])
