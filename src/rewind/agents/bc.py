"""Behaviour cloning: the baseline that only imitates.

    actor        mean (pi(s) - a)^2

With `best_fraction` on the data's side it imitates the best trajectories only.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from rewind.agents.agent import Array, Batch, Metrics, Scalar, number, shape
from rewind.agents.networks import MLP, Learner, learner, step
from rewind.errors import UsageError


class State(NamedTuple):
    actor: Learner[MLP]


class BC(eqx.Module):
    """Behaviour cloning with the actor of TD3+BC."""

    observation_size: int = shape()
    action_size: int = shape()
    hidden: tuple[int, ...] = shape((256, 256))
    max_action: float = shape(1.0)
    period: ClassVar[int] = 1

    actor_rate: Scalar = number(3e-4)

    def init(self, key: Array, batch_size: int) -> State:
        return State(learner(MLP(key, [self.observation_size, *self.hidden, self.action_size])))

    def update(self, state: State, batch: Batch) -> tuple[State, Metrics, Array]:
        no_critics = jnp.zeros_like(batch.rewards)
        (batch,) = batch.split(self.period)
        actor_loss, gradients = jax.value_and_grad(self.actor_loss)(state.actor.params, batch)
        actor = step(state.actor, gradients, self.actor_rate)
        return State(actor), {"actor_loss": actor_loss}, no_critics

    def actor_loss(self, actor: MLP, batch: Batch) -> Array:
        return ((self.act(actor, batch.observations) - batch.actions) ** 2).mean()

    def policy(self, state: State) -> MLP:
        return state.actor.params

    def act(self, policy: MLP, observations: Array) -> Array:
        return jnp.tanh(policy(observations)) * self.max_action


def best_fraction(returns: np.ndarray[Any, Any], top: float) -> np.ndarray[Any, Any]:
    """Which trajectories have the highest returns: at least one, ties in the order of the data."""
    if not 0.0 < top <= 1.0:
        raise UsageError(f"top is {top}; expected a fraction above 0, at most 1")
    count = max(1, math.ceil(top * len(returns) - 1e-9))  # 0.1 * 30 is a little more than 3
    return np.sort(np.argsort(-np.asarray(returns), kind="stable")[:count])
