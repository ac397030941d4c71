"""A task small enough to embed: a point on a square walks to its middle. Data in D4RL's form, and a score.

observation: (2,) where the point is, in [-1, 1]; action: (2,) its step, in [-1, 1], times 0.1
reward: minus the distance to the middle; terminal: within 0.1 of it; time-out: after 40 steps
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

HORIZON, REACH, STRIDE = 40, 0.1, 0.1


def step(positions: Array, actions: Array) -> tuple[Array, Array, Array]:
    """Many points at once: (n, 2) positions and actions to next positions, rewards and terminals."""
    following = np.clip(positions + STRIDE * np.clip(actions, -1, 1), -1, 1).astype(np.float32)
    distance = np.linalg.norm(following, axis=1)
    return following, -distance.astype(np.float32), distance < REACH


def starts(count: int, rng: np.random.Generator) -> Array:
    return (rng.choice([-1, 1], (count, 2)) * rng.uniform(0.4, 1.0, (count, 2))).astype(np.float32)


def point_data(episodes: int = 200, seed: int = 0) -> dict[str, Array]:
    """Walks of all qualities: each leans towards the middle as much as its own skill, from not at all to quite."""
    rng = np.random.default_rng(seed)
    keys = ("observations", "actions", "rewards", "next_observations", "terminals", "timeouts")
    data: dict[str, list[Any]] = {key: [] for key in keys}
    for skill in rng.uniform(0.0, 0.7, episodes):
        position = starts(1, rng)
        for time in range(HORIZON):
            towards = -position / max(float(np.linalg.norm(position)), 1e-6)
            action = np.clip(skill * towards + rng.normal(0, 0.6, (1, 2)), -1, 1).astype(np.float32)
            following, reward, terminal = step(position, action)
            timeout = time == HORIZON - 1 and not terminal[0]
            row = (position[0], action[0], reward[0], following[0], terminal[0], timeout)
            for key, value in zip(keys, row, strict=True):
                data[key].append(value)
            position = following
            if terminal[0]:
                break
    return {key: np.array(values) for key, values in data.items()}


def score(policy: Callable[[Array], Array], episodes: int = 64, seed: int = 1) -> float:
    """The mean return of a policy, (n, 2) observations to (n, 2) actions, from starts it has not seen."""
    positions = starts(episodes, np.random.default_rng(seed))
    returns, walking = np.zeros(episodes), np.ones(episodes, bool)
    for _ in range(HORIZON):
        positions, rewards, terminals = step(positions, policy(positions))
        returns += np.where(walking, rewards, 0.0)
        walking &= ~terminals
    return float(returns.mean())


def data_score(data: dict[str, Array]) -> float:
    """The mean return of the walks in the data."""
    return float(data["rewards"].sum() / (data["terminals"] | data["timeouts"]).sum())
