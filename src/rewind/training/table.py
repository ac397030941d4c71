"""The data set on the device: one row per transition, whatever the number of runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from rewind.agents import Batch
from rewind.data import Trajectories

ROWS_AT_A_TIME = 65_536


class Normaliser(NamedTuple):
    """What was subtracted from the observations, and what they were divided by."""

    mean: NDArray[Any]
    scale: NDArray[Any]

    def __call__(self, observations: NDArray[Any]) -> NDArray[Any]:
        return np.asarray((observations - self.mean) / self.scale)


def make_normaliser(data: Trajectories, normalise: bool) -> Normaliser:
    width = data.observations.shape[1]
    if not normalise:
        return Normaliser(np.zeros(width, np.float32), np.ones(width, np.float32))
    mean = data.observations.mean(0, dtype=np.float64)
    scale = data.observations.std(0, dtype=np.float64) + 1e-3
    return Normaliser(mean.astype(np.float32), scale.astype(np.float32))


class Table(NamedTuple):
    """Rows of (observation, next observation, action, reward, terminal) side by side: one gather brings a batch."""

    rows: jax.Array  # (rows, 2 * observation + action + 2)

    def batch(self, indices: jax.Array, fresh: jax.Array, observation: int, action: int) -> Batch:
        """The transitions at `indices`, of any shape."""
        found = self.rows[indices]
        ends = np.cumsum([observation, observation, action])
        observations, successors, actions, rest = jnp.split(found, ends, axis=-1)
        return Batch(observations, actions, rest[..., 0], successors, rest[..., 1] > 0.5, fresh)


def make_table(data: Trajectories, normaliser: Normaliser) -> Table:
    """Put a data set on the device, a piece at a time. Steps that are no transitions get a row too; nobody plans it."""
    observation, action = data.observations.shape[1], data.actions.shape[1]
    table = np.empty((data.rows, 2 * observation + action + 2), np.float32)
    last = data.starts + data.lengths - 1
    for begin in range(0, data.rows, ROWS_AT_A_TIME):
        rows = slice(begin, min(begin + ROWS_AT_A_TIME, data.rows))
        piece = table[rows]
        piece[:, :observation] = normaliser(data.observations[rows])
        after = data.observations[np.minimum(np.arange(rows.start + 1, rows.stop + 1), data.rows - 1)]
        piece[:, observation : 2 * observation] = normaliser(after)
        piece[:, 2 * observation : -2] = data.actions[rows]
        piece[:, -2] = data.rewards[rows]
    table[last, observation : 2 * observation] = normaliser(data.final_observations)
    table[:, -1] = data.terminals
    return Table(jnp.asarray(table))
