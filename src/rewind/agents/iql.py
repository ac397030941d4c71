"""IQL (Kostrikov et al., 2021): no action outside the data is ever evaluated.

    bootstrap    V(s')
    value        mean |expectile - 1(u < 0)| u^2,  u = min_i Q'_i(s, a) - V(s)
    critics      mean_i mean (Q_i(s, a) - y)^2                 y: rewind.targets
    actor        -mean min(exp(temperature * u), 100) log pi(a | s)

All three losses see the parameters from before the update: V(s') and the advantage use V before its own step.
"""

import math
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from rewind.agents.agent import Agent, Metrics, Transitions, number, shape
from rewind.agents.networks import MLP, Array, GaussianPolicy, Learner, Scalar, copy, follow, learner, step, value


class IQLState(NamedTuple):
    actor: Learner[GaussianPolicy]
    critics: Learner[MLP]  # (2, ...)
    value: Learner[MLP]
    target_critics: MLP
    carry: Array  # (batch,)


class IQL(Agent[IQLState]):
    """IQL, with the numbers of the MuJoCo data sets."""

    hidden: tuple[int, ...] = shape((256, 256), low=1)
    actor_kind: ClassVar[Any] = GaussianPolicy
    max_action: float = shape(1.0, low=1e-6)
    layer_norm: bool = shape(False)  # in the critics and V
    window: int = shape(1, low=1)  # rows over which targets are recomputed; 1: they are carried

    discount: Scalar = number(0.99, 0, 1)
    beta: Scalar = number(1.0, 0, 1)  # of the weighted target: 1 one-step, 0 SARSA
    expectile: Scalar = number(0.7, 0, 1)
    temperature: Scalar = number(3.0, 0)  # the IQL paper's beta
    actor_rate: Scalar = number(3e-4, 0)  # at the start: decays to 0 as a cosine over total_steps
    critic_rate: Scalar = number(3e-4, 0)
    value_rate: Scalar = number(3e-4, 0)
    target_rate: Scalar = number(0.005, 0, 1)
    total_steps: Scalar = number(math.inf, 1)  # inf: those of the training
    target_low: Scalar = number(-math.inf)  # bounds of the critics' targets
    target_high: Scalar = number(math.inf)

    @classmethod
    def defaults(cls, steps: int) -> dict[str, float]:
        return {"total_steps": float(steps)}

    def init(self, key: Array, batch_size: int) -> IQLState:
        actor_key, critic_key, value_key = jax.random.split(key, 3)
        actor = self.actor_kind(actor_key, [self.observation_size, *self.hidden, self.action_size])
        sizes = [self.observation_size + self.action_size, *self.hidden, 1]
        critics = MLP(critic_key, sizes, ensemble=2, layer_norm=self.layer_norm)
        values = MLP(value_key, [self.observation_size, *self.hidden, 1], layer_norm=self.layer_norm)
        carry = jnp.zeros(batch_size)
        return IQLState(learner(actor), learner(critics), learner(values), copy(critics), carry)

    def update(self, state: IQLState, batch: Transitions) -> tuple[IQLState, Metrics, Array]:
        (batch,) = batch.split(self.period)
        target, carry = self.target(state.carry, batch, self.bootstrap(state, batch))
        target_q = value(state.target_critics, batch.observations, batch.actions).min(0)

        (value_loss, advantage), gradients = jax.value_and_grad(self.value_loss, has_aux=True)(
            state.value.params, batch, target_q
        )
        values = step(state.value, gradients, self.value_rate)

        (critic_loss, q), gradients = jax.value_and_grad(self.critic_loss, has_aux=True)(
            state.critics.params, batch, target
        )
        critics = step(state.critics, gradients, self.critic_rate)

        actor_loss, gradients = jax.value_and_grad(self.actor_loss)(state.actor.params, batch, advantage)
        progress = jnp.minimum(state.actor.adam.count / self.total_steps, 1.0)
        actor = step(state.actor, gradients, self.actor_rate * 0.5 * (1 + jnp.cos(jnp.pi * progress)))

        metrics = {
            "critic_loss": critic_loss,
            "actor_loss": actor_loss,
            "value_loss": value_loss,
            "q": q.mean(),
            "target": target.mean(),
            "advantage": advantage.mean(),
        }
        target_critics = follow(state.target_critics, critics.params, self.target_rate)
        return IQLState(actor, critics, values, target_critics, carry), metrics, q.std(0)[None]

    def bootstrap(self, state: IQLState, batch: Transitions) -> Array:
        """(batch[, window]): V(s')"""
        observations = batch.successors.reshape(-1, self.observation_size)
        return state.value.params(observations).reshape(batch.successors.shape[:-1])

    def value_loss(self, values: MLP, batch: Transitions, target_q: Array) -> tuple[Array, Array]:
        advantage = target_q - values(batch.observations)[:, 0]
        weight = jnp.where(advantage < 0, 1 - self.expectile, self.expectile)
        return (weight * advantage**2).mean(), advantage

    def critic_loss(self, critics: MLP, batch: Transitions, target: Array) -> tuple[Array, Array]:
        q = value(critics, batch.observations, batch.actions)  # (2, batch)
        return ((q - target) ** 2).mean(), q

    def actor_loss(self, actor: GaussianPolicy, batch: Transitions, advantage: Array) -> Array:
        weight = jnp.minimum(jnp.exp(self.temperature * advantage), 100.0)
        return -(weight * actor.log_prob(batch.observations, batch.actions / self.max_action)).mean()

    def q_values(self, state: IQLState, observations: Array, actions: Array) -> Array:
        return value(state.critics.params, observations, actions).mean(0)

    def policy(self, state: IQLState) -> MLP:
        return state.actor.params.mean
