"""Trajectories from single steps, as a training loop or an environment gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rewind.data.episodes import from_episodes
from rewind.data.flatten import flatten
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError


class OpenEpisode:
    """The steps of an episode so far."""

    def __init__(self, observation: Any) -> None:
        self.observations = [np.array(observation)]  # copies: environments write into the same array again
        self.actions: list[Any] = []
        self.rewards: list[float] = []
        self.terminated = False

    def add(self, action: Any, reward: Any, successor: Any, terminated: bool) -> None:
        self.actions.append(np.array(action))
        self.rewards.append(float(reward))
        self.observations.append(np.array(successor))
        self.terminated = bool(terminated)

    def __len__(self) -> int:
        return len(self.rewards)

    def episode(self) -> dict[str, Any]:
        return {
            "observations": np.stack(self.observations),
            "actions": np.stack(self.actions),
            "rewards": np.array(self.rewards, np.float32),
            "terminated": self.terminated,
        }


def from_steps(steps: Iterable[Any], name: str | None = None, keys: Sequence[str] | None = None) -> Trajectories:
    """Trajectories from a stream of (observation, action, reward, next observation, terminated, truncated).

    A trajectory ends at a step that is terminated or truncated, and where the next step does not go on from its next
    observation: there somebody reset the environment without a flag, which is a cut with a known final observation.

    keys: for dict observations, the keys to put side by side, in this order
    """
    return from_episodes(_episodes(steps, keys), name=name)


def _same(one: Any, other: Any) -> bool:
    """Equal as they will be stored: a loop may hand on an observation in single precision that came in double."""
    one, other = np.asarray(one), np.asarray(other)
    if "f" in (one.dtype.kind, other.dtype.kind):
        one, other = one.astype(np.float32), other.astype(np.float32)
        return np.array_equal(one, other, equal_nan=True)
    return np.array_equal(one, other)


def _episodes(steps: Iterable[Any], keys: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    under_way: OpenEpisode | None = None
    for index, step in enumerate(steps):
        try:
            observation, action, reward, successor, terminated, truncated = step
        except (TypeError, ValueError):
            raise DataError(
                f"step {index} is not (observation, action, reward, next observation, terminated, truncated)"
            ) from None
        observation, successor = flatten(observation, keys, single=True), flatten(successor, keys, single=True)
        if under_way is not None and not _same(under_way.observations[-1], observation):
            yield under_way.episode()
            under_way = None
        under_way = under_way or OpenEpisode(observation)
        under_way.add(action, reward, successor, terminated)
        if terminated or truncated:
            yield under_way.episode()
            under_way = None
    if under_way is not None:
        yield under_way.episode()
