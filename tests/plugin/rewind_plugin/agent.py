"""An agent that imitates the mean action of each batch."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from rewind.agents import Agent, number, shape
from rewind.agents.networks import MLP, Learner, learner, step


class MeanState(NamedTuple):
    actor: Learner


class MeanAction(Agent):
    hidden: tuple[int, ...] = shape((4,))
    rate: float = number(1e-2)

    def init(self, key, batch_size):
        return MeanState(learner(MLP(key, [self.observation_size, *self.hidden, self.action_size])))

    def update(self, state, batch):
        disagreement = jnp.abs(batch.rewards)
        (batch,) = batch.split(self.period)
        loss, gradients = jax.value_and_grad(self.loss)(state.actor.params, batch)
        return MeanState(step(state.actor, gradients, self.rate)), {"actor_loss": loss}, disagreement

    def loss(self, actor, batch):
        return ((self.act(actor, batch.observations) - batch.actions.mean(0)) ** 2).mean()

    def policy(self, state):
        return state.actor.params
