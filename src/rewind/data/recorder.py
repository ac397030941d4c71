"""A Gymnasium wrapper that records episodes as Trajectories."""

from collections.abc import Sequence
from typing import Any

from rewind.data.episodes import OpenEpisode, check_keys, from_episodes, only_keys, with_keys
from rewind.data.trajectories import Trajectories
from rewind.errors import UsageError, require

Wrapper: Any = require("gymnasium", "gym").Wrapper


class RecordEpisodes(Wrapper):  # type: ignore[misc]  # Gymnasium is optional, so its classes are Any here
    """Record every step of the wrapped environment.

        env = RecordEpisodes(gymnasium.make("Hopper-v4"))
        ...                                  # any loop
        data = env.trajectories()

    A reset in the middle of an episode cuts it, like a time-out with a known final observation.

    keys: for dict observations, the keys to concatenate in the record, in this order; by default they stay dicts
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
        self._open = OpenEpisode(only_keys(observation, self._keys))
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self._open is None:
            raise UsageError("step() after the end of the episode: call reset() first")
        self._open.add(action, reward, only_keys(observation, self._keys), terminated)
        if terminated or truncated:
            self._close()
        return observation, reward, terminated, truncated, info

    def _close(self) -> None:
        if self._open:  # has steps
            self._finished.append(self._open.episode())
        self._open = None

    def trajectories(self, name: str | None = None) -> Trajectories:
        """All episodes so far; the current one is cut here."""
        current = [self._open.episode()] if self._open else []
        data = from_episodes([*self._finished, *current], name=name)
        return data if self._keys is None else with_keys(data, self._keys)
