"""A Gymnasium wrapper that keeps what happens as Trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewind.data.episodes import from_episodes
from rewind.data.flatten import check_keys, flatten
from rewind.data.steps import OpenEpisode
from rewind.data.trajectories import Trajectories
from rewind.errors import UsageError, require

Wrapper: Any = require("gymnasium", "gym").Wrapper


class RecordEpisodes(Wrapper):  # type: ignore[misc]  # Gymnasium is optional, so its classes are Any here
    """Passes everything through, and remembers it.

        env = RecordEpisodes(gymnasium.make("Hopper-v4"))
        ...                                  # any loop
        data = env.trajectories()

    A reset in the middle of an episode cuts it there, like a time-out: the state after its last step is known.

    keys: for dict observations, the keys to put side by side, in this order; what passes through stays a dict
    """

    def __init__(self, env: Any, keys: Sequence[str] | None = None) -> None:
        super().__init__(env)
        spaces = getattr(env.observation_space, "spaces", None)
        check_keys(keys, None if spaces is None else list(spaces))
        self._keys = keys
        self._finished: list[dict[str, Any]] = []
        self._open: OpenEpisode | None = None

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**options)
        self._close()
        self._open = OpenEpisode(flatten(observation, self._keys, single=True))
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self._open is None:
            raise UsageError("a step after the episode's end: call reset() first")
        self._open.add(action, reward, flatten(observation, self._keys, single=True), terminated)
        if terminated or truncated:
            self._close()
        return observation, reward, terminated, truncated, info

    def _close(self) -> None:
        if self._open:  # has steps
            self._finished.append(self._open.episode())
        self._open = None

    def trajectories(self, name: str | None = None) -> Trajectories:
        """All episodes so far, the one under way as if it were cut now."""
        under_way = [self._open.episode()] if self._open else []
        return from_episodes([*self._finished, *under_way], name=name)
