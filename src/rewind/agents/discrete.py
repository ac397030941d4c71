"""IQL and behaviour cloning for discrete actions, which are one-hot: the same agents with a softmax policy.

actor        IQL  -mean min(exp(temperature * u), 100) log pi(a | s)
             BC   -mean log pi(a | s)
policy       argmax_a pi(a | s)
"""

from typing import ClassVar

import jax

from rewind.agents.agent import Transitions
from rewind.agents.bc import BC
from rewind.agents.iql import IQL
from rewind.agents.networks import MLP, Array


class SoftmaxPolicy(MLP):
    """log pi(a | s) is the log-softmax of the network."""

    @property
    def mean(self) -> MLP:
        """What acts: the network itself."""
        return self

    def log_prob(self, observations: Array, actions: Array) -> Array:
        """log pi(a | s), (rows,)"""
        return (jax.nn.log_softmax(self(observations)) * actions).sum(-1)


class DiscreteIQL(IQL):
    discrete: ClassVar[bool] = True
    actor_kind: ClassVar[type] = SoftmaxPolicy


class DiscreteBC(BC):
    discrete: ClassVar[bool] = True

    def actor_loss(self, actor: MLP, batch: Transitions) -> Array:
        return -(jax.nn.log_softmax(actor(batch.observations)) * batch.actions).sum(-1).mean()
