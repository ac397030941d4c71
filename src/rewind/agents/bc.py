"""Behaviour cloning: the baseline that only imitates.

    actor        mean (pi(s) - a)^2

On the best trajectories alone (`View(top=0.1)`) it imitates those.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from rewind.agents.agent import Agent, Metrics, Transitions, number, shape
from rewind.agents.networks import MLP, Array, Learner, Scalar, learner, step


class BCState(NamedTuple):
    actor: Learner[MLP]


class BC(Agent[BCState]):
    """Behaviour cloning with the actor of TD3+BC."""

    hidden: tuple[int, ...] = shape((256, 256), low=1)
    max_action: float = shape(1.0, low=1e-6)

    actor_rate: Scalar = number(3e-4, 0)

    def init(self, key: Array, batch_size: int) -> BCState:
        return BCState(learner(MLP(key, [self.observation_size, *self.hidden, self.action_size])))

    def update(self, state: BCState, batch: Transitions) -> tuple[BCState, Metrics, Array]:
        no_critics = jnp.zeros_like(batch.rewards)
        (batch,) = batch.split(self.period)
        actor_loss, gradients = jax.value_and_grad(self.actor_loss)(state.actor.params, batch)
        actor = step(state.actor, gradients, self.actor_rate)
        return BCState(actor), {"actor_loss": actor_loss}, no_critics

    def actor_loss(self, actor: MLP, batch: Transitions) -> Array:
        return ((self.act(actor, batch.observations) - batch.actions) ** 2).mean()

    def policy(self, state: BCState) -> MLP:
        return state.actor.params
