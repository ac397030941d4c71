"""SAC (Haarnoja et al., 2018) for behaviour policies: Rewind's EDAC with two critics and no diversity, online.

Many runs learn in one program, each from a ring buffer of its transitions that stays on the device.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from rewind.agents.agent import Transitions, shape
from rewind.agents.edac import EDAC
from rewind.agents.networks import MLP, Array, value
from rewind.training.engine import seed_key

Host = NDArray[Any]


class SAC(EDAC):
    """EDAC with N = 2 and eta = 0, without computing the diversity term."""

    hidden: tuple[int, ...] = shape((256, 256), low=1)
    ensemble: int = shape(2, low=1)

    def critic_loss(self, critics: MLP, batch: Transitions, target: Array) -> tuple[Array, tuple[Array, Array]]:
        q = value(critics, batch.observations, batch.actions)
        return ((q - target) ** 2).mean(1).sum(), (q, jnp.zeros(()))


class Ring(NamedTuple):
    """The transitions of one run; new ones overwrite the oldest.

    A row is an observation, an action, the next observation, a reward, and 1 if the episode terminated there.
    """

    rows: Array  # (capacity, width)
    position: Array  # index of the next row to write
    size: Array  # number of rows


def make_ring(capacity: int, width: int) -> Ring:
    return Ring(jnp.zeros((capacity, width)), jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))


def grown(rings: Ring, capacity: int) -> Ring:
    """The rings of all runs, (runs, ...) each field, with space for at least `capacity` rows."""
    more = capacity - rings.rows.shape[1]
    if more <= 0:
        return rings
    return Ring(jnp.pad(rings.rows, ((0, 0), (0, more), (0, 0))), jnp.copy(rings.size), rings.size)


def pack(observations: Host, actions: Host, next_observations: Host, rewards: Host, terminals: Host) -> Host:
    """(..., width) rows of a ring."""
    flags = (rewards[..., None], terminals[..., None])
    return np.concatenate((observations, actions, next_observations, *flags), axis=-1).astype(np.float32)


def insert(ring: Ring, rows: Array) -> Ring:
    """rows: (n, width), where n divides the capacity"""
    kept = jax.lax.dynamic_update_slice(ring.rows, rows, (ring.position, 0))
    capacity, count = len(ring.rows), len(rows)
    return Ring(kept, (ring.position + count) % capacity, jnp.minimum(ring.size + count, capacity))


def unpack(agent: SAC, rows: Array) -> Transitions:
    """(..., width) -> the fields of a batch."""
    seen, done = agent.observation_size, agent.action_size
    observations, actions, following, rewards, terminals = jnp.split(
        rows, [seen, seen + done, 2 * seen + done, 2 * seen + done + 1], axis=-1
    )
    fresh = jnp.ones(rows.shape[:-1], bool)
    return Transitions(observations, actions, rewards[..., 0], following, terminals[..., 0] > 0.5, fresh)


def learn(
    agent: SAC, state: Any, ring: Ring, rows: Array, key: Array, *, updates: int, batch_size: int
) -> tuple[Any, Ring, dict[str, Array]]:
    """One run: store new transitions, then learn from uniform draws of all stored ones."""
    ring = insert(ring, rows)
    chosen = jax.random.randint(key, (updates, 1, batch_size), 0, ring.size)

    def update(state: Any, index: Array) -> tuple[Any, dict[str, Array]]:
        state, metrics, _ = agent.update(state, unpack(agent, ring.rows[index]))
        return state, {name: metrics[name] for name in ("alpha", "q", "critic_loss")}

    state, metrics = jax.lax.scan(update, state, chosen, unroll=2)
    return state, ring, {name: values.mean() for name, values in metrics.items()}


class Learners:
    """The runs' agents and rings on the device.

    new: transitions of each run per call; the capacity is rounded up to a multiple of it
    """

    def __init__(self, agent: SAC, seeds: list[int], capacity: int, new: int, updates: int, batch_size: int) -> None:
        self.agent, self.new = agent, new
        width = 2 * agent.observation_size + agent.action_size + 2
        capacity += -capacity % new
        keys = jnp.stack([seed_key(seed) for seed in seeds])
        self.state = jax.jit(jax.vmap(partial(agent.init, batch_size=batch_size)))(keys)
        self.rings = jax.jit(jax.vmap(lambda _: make_ring(capacity, width)))(keys)
        self.keys = jax.jit(jax.vmap(lambda key: jax.random.fold_in(key, 1)))(keys)
        self.calls = 0
        self._insert = jax.jit(jax.vmap(insert), donate_argnums=0)
        block = partial(learn, agent, updates=updates, batch_size=batch_size)
        self._learn = jax.jit(jax.vmap(block), donate_argnums=(0, 1))
        self._fold = jax.jit(jax.vmap(jax.random.fold_in, in_axes=(0, None)))

    def keep(self, rows: Host) -> None:
        """rows: (runs, new, width)"""
        self.rings = self._insert(self.rings, rows)

    def learn(self, rows: Host) -> dict[str, Array]:
        """Store rows and learn. Returns at once, while the device works."""
        self.calls += 1
        keys = self._fold(self.keys, self.calls)
        metrics: dict[str, Array]
        self.state, self.rings, metrics = self._learn(self.state, self.rings, rows, keys)
        return metrics

    def actors(self) -> tuple[list[Host], list[Host]]:
        """Weights and biases of all runs' policies, layer by layer, (runs, in, out) and (runs, out)."""
        heads = self.state.actor.params.heads
        weights, biases = jax.device_get((heads.weights, heads.biases))
        return list(weights), list(biases)


def draw(weights: list[Host], biases: list[Host], observations: Host, noise: Host) -> Host:
    """(runs, rows, action) actions of the policies, computed on the host and drawn with standard normal `noise`."""
    x = observations.astype(np.float32)
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        x = np.maximum(x @ weight + bias[:, None], 0.0)
    mean, log_std = np.split(x @ weights[-1] + biases[-1][:, None], 2, axis=-1)
    actions: Host = np.tanh(mean + np.exp(np.clip(log_std, -5.0, 2.0)) * noise)
    return actions
