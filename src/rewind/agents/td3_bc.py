"""TD3+BC (Fujimoto and Gu, 2021): TD3 whose policy is also pulled towards the actions of the data.

    bootstrap    min_i Q'_i(s', a'),  a' = clip(pi'(s') + clip(noise, -c, c), -1, 1)
    critics      sum_i mean (Q_i(s, a) - y)^2                  y: rewind.targets
    actor        -lambda * mean Q_1(s, pi(s)) + mean (pi(s) - a)^2,  lambda = alpha / mean |Q_1(s, pi(s))|

The actor and all targets are updated after every `period` critic steps. The targets stand still in between,
so that one forward pass serves the bootstraps of a whole period.
"""

import math
from abc import abstractmethod
from typing import NamedTuple

import jax
import jax.numpy as jnp

from rewind.agents.agent import Agent, Metrics, Transitions, number, shape
from rewind.agents.networks import MLP, Array, Learner, Scalar, copy, draw_noise, follow, learner, step, value


class TD3BCState(NamedTuple):
    actor: Learner[MLP]
    critics: Learner[MLP]  # (2, ...)
    target_actor: MLP
    target_critics: MLP
    carry: Array  # (batch,)
    key: Array


class TD3(Agent[TD3BCState]):
    """All but the actor's loss, which is what TD3+BC and ReBRAC add."""

    hidden: tuple[int, ...] = shape((256, 256), low=1)
    max_action: float = shape(1.0, low=1e-6)
    layer_norm: bool = shape(False)  # in the critics
    window: int = shape(1, low=1)  # rows over which targets are recomputed; 1: they are carried
    period: int = shape(2, low=1)  # critic steps per step of the actor and the targets

    discount: Scalar = number(0.99, 0, 1)
    beta: Scalar = number(1.0, 0, 1)  # of the weighted target: 1 one-step, 0 SARSA
    actor_rate: Scalar = number(3e-4, 0)
    critic_rate: Scalar = number(3e-4, 0)
    target_rate: Scalar = number(0.005, 0, 1)
    policy_noise: Scalar = number(0.2, 0)  # of the target policy, in units of max_action
    noise_clip: Scalar = number(0.5, 0)  # in units of max_action
    target_low: Scalar = number(-math.inf)  # bounds of the critics' targets
    target_high: Scalar = number(math.inf)

    def init(self, key: Array, batch_size: int) -> TD3BCState:
        actor_key, critic_key, key = jax.random.split(key, 3)
        actor, critics = self.first_networks(actor_key, critic_key)
        carry = jnp.zeros(batch_size)
        return TD3BCState(learner(actor), learner(critics), copy(actor), copy(critics), carry, key)

    def first_networks(self, actor_key: Array, critic_key: Array) -> tuple[MLP, MLP]:
        """The actor and the two critics before the first update."""
        actor = MLP(actor_key, [self.observation_size, *self.hidden, self.action_size])
        sizes = [self.observation_size + self.action_size, *self.hidden, 1]
        return actor, MLP(critic_key, sizes, ensemble=2, layer_norm=self.layer_norm)

    def update(self, state: TD3BCState, batch: Transitions) -> tuple[TD3BCState, Metrics, Array]:
        key, noise = draw_noise(state.key, (*batch.successors.shape[:-1], self.action_size))
        bootstraps, metrics = self.bootstrap(state, batch, noise)

        critics, carry, steps = state.critics, state.carry, []
        for now, bootstrap in zip(batch.split(self.period), bootstraps, strict=True):
            target, carry = self.target(carry, now, bootstrap)
            (loss, q), gradients = jax.value_and_grad(self.critic_loss, has_aux=True)(critics.params, now, target)
            critics = step(critics, gradients, self.critic_rate)
            steps.append((loss, q, target))
        losses, q, targets = (jnp.stack(part) for part in zip(*steps, strict=True))

        actor_loss, gradients = jax.value_and_grad(self.actor_loss)(state.actor.params, critics.params, now)
        actor = step(state.actor, gradients, self.actor_rate)

        means = {"critic_loss": losses.mean(), "actor_loss": actor_loss, "q": q.mean(), "target": targets.mean()}
        target_actor = follow(state.target_actor, actor.params, self.target_rate)
        target_critics = follow(state.target_critics, critics.params, self.target_rate)
        return TD3BCState(actor, critics, target_actor, target_critics, carry, key), means | metrics, q.std(1)

    def bootstrap(self, state: TD3BCState, batch: Transitions, noise: Array) -> tuple[Array, Metrics]:
        """(period, batch[, window]): the smaller target Q at the smoothed target action; what to log of it."""
        return self.smoothed(state, batch, noise)[0], {}

    def smoothed(self, state: TD3BCState, batch: Transitions, noise: Array) -> tuple[Array, Array]:
        """The smaller target Q, and the target policy's action with noise that it is taken at."""
        observations = batch.successors.reshape(-1, self.observation_size)
        noise = jnp.clip(self.policy_noise * noise, -self.noise_clip, self.noise_clip)
        policy = jnp.tanh(state.target_actor(observations))
        actions = jnp.clip(policy + noise.reshape(policy.shape), -1.0, 1.0) * self.max_action
        return value(state.target_critics, observations, actions).min(0).reshape(batch.successors.shape[:-1]), actions

    def critic_loss(self, critics: MLP, batch: Transitions, target: Array) -> tuple[Array, Array]:
        q = value(critics, batch.observations, batch.actions)  # (2, batch)
        return ((q - target) ** 2).mean(1).sum(), q

    @abstractmethod
    def actor_loss(self, actor: MLP, critics: MLP, batch: Transitions) -> Array: ...

    def q_values(self, state: TD3BCState, observations: Array, actions: Array) -> Array:
        return value(state.critics.params, observations, actions).mean(0)

    def policy(self, state: TD3BCState) -> MLP:
        return state.actor.params


class TD3BC(TD3):
    """TD3+BC, with the numbers of the MuJoCo data sets."""

    alpha: Scalar = number(2.5, 0)  # weight of Q against imitation

    def actor_loss(self, actor: MLP, critics: MLP, batch: Transitions) -> Array:
        actions = self.act(actor, batch.observations)
        q = value(jax.tree.map(lambda leaf: leaf[0], critics), batch.observations, actions)
        weight = self.alpha / jax.lax.stop_gradient(jnp.abs(q).mean())
        return -weight * q.mean() + ((actions - batch.actions) ** 2).mean()
