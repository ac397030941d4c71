"""The data on the device: one row per transition, whatever the number of runs; several data sets one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from rewind.agents import Transitions
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


class Source(NamedTuple):
    """A data set as some runs see it, and where its rows begin in the table."""

    data: Trajectories
    normaliser: Normaliser
    first: int = 0


class DeviceTable(NamedTuple):
    """Rows of (observation, next observation, action, reward, terminal) side by side: one gather brings a batch."""

    rows: jax.Array  # (rows, 2 * observation + action + 2)

    def batch(self, indices: jax.Array, fresh: jax.Array, observation: int, action: int) -> Transitions:
        """The transitions at `indices`, of any shape."""
        found = self.rows[indices]
        ends = np.cumsum([observation, observation, action])
        observations, successors, actions, rest = jnp.split(found, ends, axis=-1)
        return Transitions(observations, actions, rest[..., 0], successors, rest[..., 1] > 0.5, fresh)


def make_table(sources: Sequence[Source]) -> DeviceTable:
    """Put data on the device. Steps that are no transitions get a row too; nobody plans it."""
    first = sources[0].data
    width = 2 * first.observations.shape[1] + first.actions.shape[1] + 2
    table = np.empty((sum(source.data.rows for source in sources), width), np.float32)
    for data, normaliser, begin in sources:
        _fill(table[begin : begin + data.rows], data, normaliser)
    return DeviceTable(jnp.asarray(table))


def _fill(table: NDArray[Any], data: Trajectories, normaliser: Normaliser) -> None:
    """A piece at a time: normalised copies are large."""
    observation = data.observations.shape[1]
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
