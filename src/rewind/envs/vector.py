"""The base of Rewind's environments: many copies as arrays, each with its random stream and step counter."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from rewind.arrays import Array
from rewind.errors import UsageError

Seed = int | Sequence[int | None] | None


class ArrayEnv(gymnasium.vector.VectorEnv[Array, Array, Array]):
    """Many copies of one environment, stepped together, each with its own random stream.

    After an episode has ended at step t:

        autoreset_mode       step t + 1                                          step t + 2
        NEXT_STEP (default)  action ignored, reward 0, the first observation     continues
        DISABLED             idle: reward 0, observation and flags stay          idle until it is reset

    NEXT_STEP is Gymnasium's default. With DISABLED, finished copies cost nothing: to play every copy to its end, step
    until all are done. Reset single copies with `options={"reset_mask": mask}`.

    Stream i of `reset(seed=s)` is that of Gymnasium's single environment after `reset(seed=s + i)`. A list has one
    seed per copy.

    max_episode_steps: length at which episodes are truncated, None for never
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012
    reference_scores: tuple[float, float] | None = None  # returns that score 0 and 100, if the catalogue has none
    threaded = False  # whether its constructor takes a number of `threads`

    def __init__(
        self,
        num_envs: int,
        observation_space: gymnasium.spaces.Box,
        action_space: gymnasium.spaces.Box,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        if num_envs < 1:
            raise UsageError(f"num_envs is {num_envs}; expected at least 1")
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            raise UsageError("autoreset_mode SAME_STEP is not supported: use NEXT_STEP or DISABLED")
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = observation_space, action_space
        self.observation_space = batch_space(observation_space, num_envs)
        self.action_space = batch_space(action_space, num_envs)
        self.max_episode_steps = max_episode_steps
        self.streams: list[np.random.Generator] = []
        self._steps = np.zeros(num_envs, np.int64)
        self._terminated, self._truncated = np.zeros((2, num_envs), bool)

    # What each environment implements.

    def _begin(self, ids: Array, seeded: Array) -> None:
        """Draw a first state for the copies `ids` from their streams; seeded: (num_envs,) whether a stream is new."""
        raise NotImplementedError

    def _advance(self, actions: Array, ids: Array | None) -> tuple[Array, Array]:
        """Move the copies `ids` (None: all) by one step; returns rewards and terminations of all, (num_envs,) each."""
        raise NotImplementedError

    def _observe(self) -> Array:
        """(num_envs, observation), a new array."""
        raise NotImplementedError

    # What is the same for all.

    def reset(self, *, seed: Seed = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        mask = np.ones(self.num_envs, bool)
        if options is not None and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"])
            if mask.shape != (self.num_envs,) or mask.dtype != bool:
                raise UsageError(f"reset_mask is {mask.dtype} {mask.shape}; expected {self.num_envs} booleans")
        self._reset(mask, self._seed(seed, mask))
        return self._observe(), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        if not self.streams:
            raise UsageError("step() before the first reset()")
        actions = np.asarray(actions)
        if actions.shape != self.action_space.shape:
            raise UsageError(f"actions have shape {actions.shape}; expected {self.action_space.shape}")
        over = self._terminated | self._truncated
        ids = np.flatnonzero(~over) if over.any() else None
        rewards, terminated = self._advance(actions, ids)
        self._steps += ~over
        truncated = np.zeros(self.num_envs, bool)
        if self.max_episode_steps is not None:
            truncated = self._steps >= self.max_episode_steps
        self._terminated = np.where(over, self._terminated, terminated)
        self._truncated = np.where(over, self._truncated, truncated)
        if ids is not None:
            rewards = np.where(over, 0.0, rewards)
            if self.autoreset_mode is AutoresetMode.NEXT_STEP:
                self._reset(over, np.zeros(self.num_envs, bool))
        return self._observe(), rewards, self._terminated.copy(), self._truncated.copy(), {}

    def _reset(self, mask: Array, seeded: Array) -> None:
        self._begin(np.flatnonzero(mask), seeded)
        for array in (self._steps, self._terminated, self._truncated):
            array[mask] = 0

    def _seed(self, seed: Seed, mask: Array) -> Array:
        """Start a new stream for each copy that has a seed or no stream yet; returns (num_envs,) which."""
        if seed is None or isinstance(seed, int):
            seeds = [None if seed is None else seed + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise UsageError(f"{len(seeds)} seeds for {self.num_envs} environments")
        first = not self.streams
        new = np.array([first or (chosen and one is not None) for one, chosen in zip(seeds, mask, strict=True)])
        if first:
            self.streams = [None] * self.num_envs  # type: ignore[list-item]
        for index in np.flatnonzero(new):
            self.streams[index] = seeding.np_random(seeds[index])[0]
        return new


class SingleEnv(gymnasium.Env[Array, Array]):
    """A vector environment of one copy as a single Gymnasium environment, so that both take the same steps."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, vector: ArrayEnv) -> None:
        self.vector = vector
        self.metadata = {key: value for key, value in vector.metadata.items() if key != "autoreset_mode"}
        self.render_mode = vector.render_mode
        self.observation_space, self.action_space = vector.single_observation_space, vector.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        observations, _ = self.vector.reset(seed=seed)
        self._np_random = self.vector.streams[0]  # the same stream for both
        return observations[0], {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        observations, rewards, terminated, truncated, _ = self.vector.step(np.asarray(action)[None])
        return observations[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), {}

    def render(self) -> Any:
        frames = self.vector.render()
        return frames[0] if frames else None

    def close(self) -> None:
        self.vector.close()


def unbounded(size: int) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)
