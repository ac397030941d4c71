"""The players of a recipe's episodes: an environment, and what acts in it.

All random numbers of an episode are drawn from its own stream before its first step, so that an episode does not
depend on those played beside it.
"""

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
        """Draw the random numbers of the episodes, after the environment was reset."""

    def act(self, step: int, observations: Array) -> Array:
        """(width, observation) -> (width, action) float32."""


def find_player(recipe: Recipe, policy: str | None) -> Player:
    """The player of one of a recipe's policies.

    policy: its file, None if the recipe needs none
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
    """`width` copies of the recipe's environment, on one thread."""
    from rewind.envs.make import FAST, make

    options: dict[str, Any] = {"autoreset_mode": "Disabled", "threads": 1} if recipe.environment in FAST else {}
    return make(recipe.environment, recipe.width, max_episode_steps=recipe.horizon, **options)


def _check_sizes(recipe: Recipe, policy: BehaviourPolicy, observations: int, actions: int) -> None:
    if (policy.observation_size, policy.action_size) != (observations, actions):
        raise DataError(
            f"the policy takes {policy.observation_size} numbers and returns {policy.action_size}; {recipe.name} needs "
            f"one that takes {observations} and returns {actions}"
        )


class UniformPlayer:
    def __init__(self, env: Any) -> None:
        self.env = env

    def prepare(self, streams: Streams, horizon: int) -> None:
        space = self.env.single_action_space
        self._actions = _drawn(streams, lambda stream: stream.uniform(space.low, space.high, (horizon, *space.shape)))

    def act(self, step: int, observations: Array) -> Array:
        return np.asarray(self._actions[step])


class PolicyPlayer:
    def __init__(self, env: Any, policy: BehaviourPolicy) -> None:
        self.env, self.policy = env, policy

    def prepare(self, streams: Streams, horizon: int) -> None:
        self._noise = _normal(streams, horizon, self.policy.action_size)

    def act(self, step: int, observations: Array) -> Array:
        return self.policy.sample(observations, self._noise[step])


class AntPlayer:
    """An ant that follows waypoints to the episode's own goal, with noise, as in D4RL's AntMaze."""

    def __init__(self, recipe: Recipe, maze: MazeRecipe, policy: BehaviourPolicy) -> None:
        from rewind.envs.ant_model import CELL
        from rewind.rebuilt.ant import AntNavigator, LingeringAnt

        self.maze, self.policy, self.cell = maze, policy, CELL
        self.navigator = AntNavigator(maze.maze)
        self.env = LingeringAnt(
            recipe.width, maze.maze, start=maze.starts, max_episode_steps=recipe.horizon,
            autoreset_mode="Disabled", threads=1,
        )  # fmt: skip
        _check_sizes(recipe, policy, 29, 8)

    def prepare(self, streams: Streams, horizon: int) -> None:
        self.goals = self.env.goals.copy()
        if self.maze.goals == "anywhere":
            free = self.navigator.maze.passable
            cells = np.stack([free[stream.integers(len(free))] for stream in streams])
            offsets = np.stack([stream.uniform(0.0, 1.0, 2) + stream.uniform(0.0, 0.5, 2) for stream in streams])
            self.goals = np.maximum(self.navigator.maze.centres(cells, self.cell) + offsets, 0.0)
        self.env.goals[:] = self.goals
        self._jitter = _drawn(streams, lambda stream: stream.uniform(0.0, 1.0, (horizon, 2)))
        self._drawn = _normal(streams, horizon, self.policy.action_size)
        self._noise = np.float32(self.maze.noise) * _normal(streams, horizon, self.policy.action_size)
        if isinstance(self.maze.stop, bool):
            self.env.linger[:] = 0 if self.maze.stop else horizon
        else:
            low, high = self.maze.stop
            self.env.linger[:] = [stream.integers(low, high + 1) for stream in streams]

    def act(self, step: int, observations: Array) -> Array:
        from rewind.rebuilt.ant import walker_observations

        waypoints = self.navigator.waypoints(observations[:, :2], self.goals, self._jitter[step])
        actions = self.policy.sample(walker_observations(observations, waypoints), self._drawn[step])
        return np.asarray(np.clip(actions + self._noise[step], -1.0, 1.0))


class PointPlayer:
    """A point that is steered to the episode's own goal, with noise."""

    def __init__(self, recipe: Recipe, maze: MazeRecipe) -> None:
        from rewind.envs.pointmaze import CELL, PointMaze
        from rewind.rebuilt.point import Waypoints

        if maze.goals != "anywhere":
            raise UsageError(f"{recipe.name}: expected goals 'anywhere' for a point")
        self.maze, self.waypoints, self.cell = maze, Waypoints(PointMaze(1, maze.maze).maze, CELL), CELL
        self.env = PointMaze(
            recipe.width, maze.maze, start=maze.starts, max_episode_steps=recipe.horizon, autoreset_mode="Disabled"
        )

    def prepare(self, streams: Streams, horizon: int) -> None:
        free = self.waypoints.maze.passable
        self.cells = np.stack([free[stream.integers(len(free))] for stream in streams])
        self.goals = self.waypoints.maze.centres(self.cells, self.cell)
        self.env.goals[:] = self.goals if self.maze.stop else np.inf
        self._noise = np.float32(self.maze.noise) * _normal(streams, horizon, 2)

    def act(self, step: int, observations: Array) -> Array:
        from rewind.rebuilt.point import steer

        pushes = steer(self.waypoints.next(observations[:, :2], self.cells), observations)
        return np.asarray(np.clip(pushes + self._noise[step], -1.0, 1.0), np.float32)


def _drawn(streams: Streams, draw: Callable[[np.random.Generator], Array]) -> Array:
    """(horizon, width, ...) float32."""
    return np.stack([draw(stream).astype(np.float32) for stream in streams], axis=1)


def _normal(streams: Streams, horizon: int, size: int) -> Array:
    return np.stack([stream.standard_normal((horizon, size), np.float32) for stream in streams], axis=1)
