"""Who plays the episodes of a recipe: an environment, and what acts in it.

Everything random is drawn from the episode's own stream, before its first step and for all of its steps: so an episode
is the same whoever plays beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError, UsageError
from rewind.rebuilt.policy import BehaviourPolicy, load_behaviour
from rewind.rebuilt.recipes import STEER, MazeRecipe, Recipe

Streams = Sequence[np.random.Generator]


class Player(Protocol):
    """Acts in `env`, all episodes together."""

    env: Any

    def prepare(self, streams: Streams, horizon: int) -> None:
        """Draw what the episodes need; the environment has been reset."""

    def act(self, step: int, observations: Array) -> Array:
        """(width, observation) -> (width, action) float32."""


def find_player(recipe: Recipe, policy: str | None) -> Player:
    """The player of one of a recipe's policies.

    policy: the file, None where the recipe needs none
    """
    loaded = None if policy is None else load_behaviour(policy)
    if recipe.maze is not None and recipe.policies == (STEER,):
        return PointPlayer(recipe, recipe.maze)
    if loaded is not None and recipe.maze is not None:
        return AntPlayer(recipe, recipe.maze, loaded)
    env = _environment(recipe)
    if loaded is None:
        return UniformPlayer(env)
    _check_sizes(recipe, loaded, env.single_observation_space.shape[0], env.single_action_space.shape[0])
    return PolicyPlayer(env, loaded)


def _environment(recipe: Recipe) -> Any:
    """The recipe's environment, `width` times, on one thread."""
    from rewind.envs.make import FAST, make

    if recipe.environment not in FAST:
        return make(recipe.environment, recipe.width)
    return make(
        recipe.environment, recipe.width, max_episode_steps=recipe.horizon, autoreset_mode="Disabled", threads=1
    )


def _check_sizes(recipe: Recipe, policy: BehaviourPolicy, observations: int, actions: int) -> None:
    if (policy.observation_size, policy.action_size) != (observations, actions):
        raise DataError(
            f"the policy takes {policy.observation_size} numbers and gives {policy.action_size}; {recipe.name} needs "
            f"one that takes {observations} and gives {actions}"
        )


class UniformPlayer:
    """Any action is as likely as any other."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def prepare(self, streams: Streams, horizon: int) -> None:
        space = self.env.single_action_space
        self._actions = _drawn(streams, lambda stream: stream.uniform(space.low, space.high, (horizon, *space.shape)))

    def act(self, step: int, observations: Array) -> Array:
        actions: Array = self._actions[step]
        return actions


class PolicyPlayer:
    """A policy that draws its actions."""

    def __init__(self, env: Any, policy: BehaviourPolicy) -> None:
        self.env, self.policy = env, policy

    def prepare(self, streams: Streams, horizon: int) -> None:
        self._noise = _normal(streams, horizon, self.policy.action_size)

    def act(self, step: int, observations: Array) -> Array:
        return self.policy.sample(observations, self._noise[step])


class AntPlayer:
    """A walker that follows waypoints to a goal of its own, with noise: D4RL's AntMaze."""

    def __init__(self, recipe: Recipe, way: MazeRecipe, policy: BehaviourPolicy) -> None:
        from rewind.envs.ant_model import CELL
        from rewind.envs.antmaze import AntMaze
        from rewind.rebuilt.ant import AntNavigator

        self.way, self.policy, self.cell = way, policy, CELL
        self.navigator = AntNavigator(way.maze)
        self.env = AntMaze(
            recipe.width, way.maze, start=way.starts, max_episode_steps=recipe.horizon,
            autoreset_mode="Disabled", threads=1,
        )  # fmt: skip
        _check_sizes(recipe, policy, 29, 8)

    def prepare(self, streams: Streams, horizon: int) -> None:
        self.goals = self.env.goals.copy()
        if self.way.goals == "anywhere":
            free = self.navigator.maze.passable
            cells = np.stack([free[stream.integers(len(free))] for stream in streams])
            offsets = np.stack([stream.uniform(0.0, 1.0, 2) + stream.uniform(0.0, 0.5, 2) for stream in streams])
            self.goals = np.maximum(self.navigator.maze.centres(cells, self.cell) + offsets, 0.0)
        self.env.goals[:] = self.goals if self.way.stop else np.inf
        self._jitter = _drawn(streams, lambda stream: stream.uniform(0.0, 1.0, (horizon, 2)))
        self._drawn = _normal(streams, horizon, self.policy.action_size)
        self._noise = np.float32(self.way.noise) * _normal(streams, horizon, self.policy.action_size)

    def act(self, step: int, observations: Array) -> Array:
        from rewind.rebuilt.ant import walker_observations

        waypoints = self.navigator.waypoints(observations[:, :2], self.goals, self._jitter[step])
        actions = self.policy.sample(walker_observations(observations, waypoints), self._drawn[step])
        return np.asarray(np.clip(actions + self._noise[step], -1.0, 1.0))


class PointPlayer:
    """A point that is steered to a goal of its own, with noise."""

    def __init__(self, recipe: Recipe, way: MazeRecipe) -> None:
        from rewind.envs.pointmaze import CELL, PointMaze
        from rewind.rebuilt.waypoints import Waypoints

        if way.goals != "anywhere":
            raise UsageError(f"{recipe.name}: a point goes anywhere")
        self.way, self.waypoints, self.cell = way, Waypoints(PointMaze(1, way.maze).maze, CELL), CELL
        self.env = PointMaze(
            recipe.width, way.maze, start=way.starts, max_episode_steps=recipe.horizon, autoreset_mode="Disabled"
        )

    def prepare(self, streams: Streams, horizon: int) -> None:
        free = self.waypoints.maze.passable
        self.cells = np.stack([free[stream.integers(len(free))] for stream in streams])
        self.goals = self.waypoints.maze.centres(self.cells, self.cell)
        self.env.goals[:] = self.goals if self.way.stop else np.inf
        self._noise = np.float32(self.way.noise) * _normal(streams, horizon, 2)

    def act(self, step: int, observations: Array) -> Array:
        from rewind.rebuilt.point import steer

        pushes = steer(self.waypoints.next(observations[:, :2], self.cells), observations)
        return np.asarray(np.clip(pushes + self._noise[step], -1.0, 1.0), np.float32)


def _drawn(streams: Streams, draw: Callable[[np.random.Generator], Array]) -> Array:
    """(horizon, width, ...) float32."""
    return np.stack([draw(stream).astype(np.float32) for stream in streams], axis=1)


def _normal(streams: Streams, horizon: int, size: int) -> Array:
    return np.stack([stream.standard_normal((horizon, size), np.float32) for stream in streams], axis=1)
