"""ReBRAC (Tarasov et al., 2023): TD3+BC with layer norm, a penalty for the actor and one for the critics.

    bootstrap    min_i Q'_i(s', a') - critic_penalty * |a' - a_next|^2,  a' = clip(pi'(s') + clip(noise, -c, c), -1, 1)
    critics      sum_i mean (Q_i(s, a) - y)^2                  y: rewind.targets
    actor        -lambda * mean min_i Q_i(s, pi(s)) + actor_penalty * mean |pi(s) - a|^2
                 lambda = 1 / mean |min_i Q_i(s, pi(s))|

a_next is the action that the data took in s'. Where it is unknown, because the trajectory was cut there, the bootstrap
has no penalty; a terminal has no bootstrap. As in TD3+BC, the actor and all targets are updated after every `period`
critic steps.
"""

import math
from typing import ClassVar

import jax
import jax.numpy as jnp

from rewind.agents.agent import Agent, Metrics, Transitions, number, shape
from rewind.agents.networks import MLP, Array, Scalar, copy, draw_noise, follow, learner, step, value
from rewind.agents.td3_bc import TD3BCState


class ReBRAC(Agent[TD3BCState]):
    """ReBRAC, with the networks of its paper; its numbers differ from suite to suite."""

    hidden: tuple[int, ...] = shape((256, 256, 256), low=1)
    max_action: float = shape(1.0, low=1e-6)
    layer_norm: bool = shape(True)  # in the critics
    window: int = shape(1, low=1)  # rows over which targets are recomputed; 1: they are carried
    period: int = shape(2, low=1)  # critic steps per step of the actor and the targets
    next_actions: ClassVar[bool] = True

    discount: Scalar = number(0.99, 0, 1)
    beta: Scalar = number(1.0, 0, 1)  # of the weighted target: 1 one-step, 0 SARSA
    actor_penalty: Scalar = number(0.01, 0)
    critic_penalty: Scalar = number(0.01, 0)
    actor_rate: Scalar = number(3e-4, 0)
    critic_rate: Scalar = number(3e-4, 0)
    target_rate: Scalar = number(0.005, 0, 1)
    policy_noise: Scalar = number(0.2, 0)  # of the target policy, in units of max_action
    noise_clip: Scalar = number(0.5, 0)  # in units of max_action
    target_low: Scalar = number(-math.inf)  # bounds of the critics' targets
    target_high: Scalar = number(math.inf)

    @property
    def largest_penalty(self) -> Scalar:
        return self.critic_penalty * self.action_size * (2 * self.max_action) ** 2

    def init(self, key: Array, batch_size: int) -> TD3BCState:
        actor_key, critic_key, key = jax.random.split(key, 3)
        sizes = [self.observation_size + self.action_size, *self.hidden, 1]
        actor_sizes = [self.observation_size, *self.hidden, self.action_size]
        actor = MLP(actor_key, actor_sizes, hidden_bias=0.1, head_bound=1e-3)
        critics = MLP(critic_key, sizes, ensemble=2, hidden_bias=0.1, head_bound=3e-3, layer_norm=self.layer_norm)
        carry = jnp.zeros(batch_size)
        return TD3BCState(learner(actor), learner(critics), copy(actor), copy(critics), carry, key)

    def update(self, state: TD3BCState, batch: Transitions) -> tuple[TD3BCState, Metrics, Array]:
        key, noise = draw_noise(state.key, (*batch.successors.shape[:-1], self.action_size))
        bootstraps, penalties = self.bootstrap(state, batch, noise)

        critics, carry, steps = state.critics, state.carry, []
        for now, bootstrap in zip(batch.split(self.period), bootstraps, strict=True):
            target, carry = self.target(carry, now, bootstrap)
            (loss, q), gradients = jax.value_and_grad(self.critic_loss, has_aux=True)(critics.params, now, target)
            critics = step(critics, gradients, self.critic_rate)
            steps.append((loss, q, target))
        losses, q, targets = (jnp.stack(part) for part in zip(*steps, strict=True))

        actor_loss, gradients = jax.value_and_grad(self.actor_loss)(state.actor.params, critics.params, now)
        actor = step(state.actor, gradients, self.actor_rate)

        metrics = {
            "critic_loss": losses.mean(),
            "actor_loss": actor_loss,
            "q": q.mean(),
            "target": targets.mean(),
            "penalty": penalties.mean(),
        }
        target_actor = follow(state.target_actor, actor.params, self.target_rate)
        target_critics = follow(state.target_critics, critics.params, self.target_rate)
        return TD3BCState(actor, critics, target_actor, target_critics, carry, key), metrics, q.std(1)

    def bootstrap(self, state: TD3BCState, batch: Transitions, noise: Array) -> tuple[Array, Array]:
        """(period, batch[, window]): the smaller target Q at the smoothed action less the penalty; the penalty."""
        assert batch.next_actions is not None and batch.next_known is not None
        rows = batch.successors.shape[:-1]
        observations = batch.successors.reshape(-1, self.observation_size)
        noise = jnp.clip(self.policy_noise * noise, -self.noise_clip, self.noise_clip)
        policy = jnp.tanh(state.target_actor(observations))
        actions = jnp.clip(policy + noise.reshape(policy.shape), -1.0, 1.0) * self.max_action
        q = value(state.target_critics, observations, actions).min(0).reshape(rows)
        distance = ((actions.reshape(batch.next_actions.shape) - batch.next_actions) ** 2).sum(-1)
        penalty = self.critic_penalty * jnp.where(batch.next_known, distance, 0.0)
        return q - penalty, penalty

    def critic_loss(self, critics: MLP, batch: Transitions, target: Array) -> tuple[Array, Array]:
        q = value(critics, batch.observations, batch.actions)  # (2, batch)
        return ((q - target) ** 2).mean(1).sum(), q

    def actor_loss(self, actor: MLP, critics: MLP, batch: Transitions) -> Array:
        actions = self.act(actor, batch.observations)
        q = value(critics, batch.observations, actions).min(0)
        weight = 1 / jax.lax.stop_gradient(jnp.abs(q).mean())
        return -weight * q.mean() + self.actor_penalty * ((actions - batch.actions) ** 2).sum(-1).mean()

    def q_values(self, state: TD3BCState, observations: Array, actions: Array) -> Array:
        return value(state.critics.params, observations, actions).mean(0)

    def policy(self, state: TD3BCState) -> MLP:
        return state.actor.params
