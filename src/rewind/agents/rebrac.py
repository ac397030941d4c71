"""ReBRAC (Tarasov et al., 2023): TD3+BC with layer norm, a penalty for the actor and one for the critics.

    bootstrap    min_i Q'_i(s', a') - critic_penalty * |a' - a_next|^2,  a' = clip(pi'(s') + clip(noise, -c, c), -1, 1)
    critics      sum_i mean (Q_i(s, a) - y)^2                  y: rewind.targets
    actor        -lambda * mean min_i Q_i(s, pi(s)) + actor_penalty * mean |pi(s) - a|^2
                 lambda = 1 / mean |min_i Q_i(s, pi(s))|

a_next is the action that the data took in s'. Where it is unknown, because the trajectory was cut there, the bootstrap
has no penalty; a terminal has no bootstrap. As in TD3+BC, the actor and all targets are updated after every `period`
critic steps.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from rewind.agents.agent import Metrics, Transitions, number, shape
from rewind.agents.networks import MLP, Array, Scalar, value
from rewind.agents.td3_bc import TD3, TD3BCState


class ReBRAC(TD3):
    """ReBRAC, with the networks of its paper; its numbers differ from suite to suite."""

    hidden: tuple[int, ...] = shape((256, 256, 256), low=1)
    layer_norm: bool = shape(True)  # in the critics
    next_actions: ClassVar[bool] = True

    actor_penalty: Scalar = number(0.01, 0)
    critic_penalty: Scalar = number(0.01, 0)

    @property
    def largest_penalty(self) -> Scalar:
        return self.critic_penalty * self.action_size * (2 * self.max_action) ** 2

    def first_networks(self, actor_key: Array, critic_key: Array) -> tuple[MLP, MLP]:
        sizes = [self.observation_size + self.action_size, *self.hidden, 1]
        actor_sizes = [self.observation_size, *self.hidden, self.action_size]
        actor = MLP(actor_key, actor_sizes, hidden_bias=0.1, head_bound=1e-3)
        critics = MLP(critic_key, sizes, ensemble=2, hidden_bias=0.1, head_bound=3e-3, layer_norm=self.layer_norm)
        return actor, critics

    def bootstrap(self, state: TD3BCState, batch: Transitions, noise: Array) -> tuple[Array, Metrics]:
        """(period, batch[, window]): the smaller target Q at the smoothed action less the penalty; the penalty."""
        assert batch.next_actions is not None and batch.next_known is not None
        q, actions = self.smoothed(state, batch, noise)
        distance = ((actions.reshape(batch.next_actions.shape) - batch.next_actions) ** 2).sum(-1)
        penalty = self.critic_penalty * jnp.where(batch.next_known, distance, 0.0)
        return q - penalty, {"penalty": penalty.mean()}

    def actor_loss(self, actor: MLP, critics: MLP, batch: Transitions) -> Array:
        actions = self.act(actor, batch.observations)
        q = value(critics, batch.observations, actions).min(0)
        weight = 1 / jax.lax.stop_gradient(jnp.abs(q).mean())
        return -weight * q.mean() + self.actor_penalty * ((actions - batch.actions) ** 2).sum(-1).mean()
