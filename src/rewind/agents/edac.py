"""EDAC (An et al., 2021): SAC with an ensemble of critics whose action gradients are kept apart.

    bootstrap    min_i Q'_i(s', a') - alpha * log pi(a' | s'),  a' ~ pi(s')
    alpha        -log alpha * mean (log pi(a~ | s) + target entropy)
    actor        mean (alpha * log pi(a~ | s) - min_i Q_i(s, a~)),  a~ ~ pi(s)
    critics      sum_i mean (Q_i(s, a) - y)^2                  y: rewind.targets
                 + eta / (N - 1) * mean sum_{i != j} <g_i, g_j>,  g_i = grad_a Q_i(s, a) / |grad_a Q_i(s, a)|

The order is alpha, actor, critics, targets, each with what the ones before have made.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from rewind.agents.agent import Agent, Metrics, Transitions, number, shape
from rewind.agents.networks import (
    MLP,
    Array,
    Learner,
    Scalar,
    TanhGaussianPolicy,
    copy,
    draw_noise,
    follow,
    fused_networks,
    learner,
    step,
    value,
)


class EDACState(NamedTuple):
    actor: Learner[TanhGaussianPolicy]
    critics: Learner[MLP]  # (ensemble, ...)
    log_alpha: Learner[Array]
    target_critics: MLP
    carry: Array  # (batch,)
    key: Array


class EDAC(Agent[EDACState]):
    """EDAC, with the numbers of the MuJoCo data sets."""

    hidden: tuple[int, ...] = shape((256, 256, 256), low=1)
    max_action: float = shape(1.0, low=1e-6)
    layer_norm: bool = shape(False)  # in the critics
    window: int = shape(1, low=1)  # rows over which targets are recomputed; 1: they are carried
    ensemble: int = shape(10, low=1)
    entropy_bonus: ClassVar[bool] = True

    discount: Scalar = number(0.99, 0, 1)
    beta: Scalar = number(1.0, 0, 1)  # of the weighted target: 1 one-step, 0 SARSA
    eta: Scalar = number(1.0, 0)  # weight of the diversity term
    actor_rate: Scalar = number(3e-4, 0)
    critic_rate: Scalar = number(3e-4, 0)
    alpha_rate: Scalar = number(3e-4, 0)
    target_rate: Scalar = number(0.005, 0, 1)
    target_entropy: Scalar = number(-1.0)  # per action dimension

    @property
    def disagrees(self) -> bool:
        return self.ensemble > 1

    def init(self, key: Array, batch_size: int) -> EDACState:
        actor_key, critic_key, key = jax.random.split(key, 3)
        sizes = [self.observation_size + self.action_size, *self.hidden, 1]
        actor = TanhGaussianPolicy(actor_key, [self.observation_size, *self.hidden, self.action_size])
        critics = MLP(
            critic_key, sizes, ensemble=self.ensemble, hidden_bias=0.1, head_bound=3e-3, layer_norm=self.layer_norm
        )
        carry, log_alpha = jnp.zeros(batch_size), jnp.zeros(())
        return EDACState(learner(actor), learner(critics), learner(log_alpha), copy(critics), carry, key)

    def update(self, state: EDACState, batch: Transitions) -> tuple[EDACState, Metrics, Array]:
        key, noise = draw_noise(state.key, (1 + self.window, *batch.actions.shape[1:]))  # for s, and for each s'
        at_s, at_successors = noise[0], noise[1:].reshape(-1, self.action_size)
        (batch,) = batch.split(self.period)

        # The actor has not changed when its loss draws these actions again: the compiler makes it one pass.
        _, log_prob = state.actor.params.sample(batch.observations, at_s)
        gradient = -(log_prob.mean() + self.target_entropy * self.action_size)
        log_alpha = step(state.log_alpha, gradient, self.alpha_rate)
        alpha = jnp.exp(log_alpha.params)

        actor_loss, gradients = jax.value_and_grad(self.actor_loss)(
            state.actor.params, state.critics.params, batch, at_s, alpha
        )
        actor = step(state.actor, gradients, self.actor_rate)

        bootstrap = self.bootstrap(actor.params, state.target_critics, batch, at_successors, alpha)
        target, carry = self.target(state.carry, batch, bootstrap)
        (critic_loss, (q, diversity)), gradients = jax.value_and_grad(self.critic_loss, has_aux=True)(
            state.critics.params, batch, target
        )
        critics = step(state.critics, gradients, self.critic_rate)

        metrics = {
            "critic_loss": critic_loss,
            "actor_loss": actor_loss,
            "diversity": diversity,
            "alpha": alpha,
            "entropy": -log_prob.mean(),
            "q": q.mean(),
            "target": target.mean(),
        }
        target_critics = follow(state.target_critics, critics.params, self.target_rate)
        return EDACState(actor, critics, log_alpha, target_critics, carry, key), metrics, q.std(0)[None]

    def bootstrap(
        self, actor: TanhGaussianPolicy, target_critics: MLP, batch: Transitions, noise: Array, alpha: Array
    ) -> Array:
        """(batch[, window]): the smallest target Q at a drawn action, with the entropy bonus."""
        observations = batch.successors.reshape(-1, self.observation_size)
        actions, log_prob = actor.sample(observations, noise)
        q = value(target_critics, observations, actions * self.max_action)
        return (q.min(0) - alpha * log_prob).reshape(batch.successors.shape[:-1])

    def critic_loss(self, critics: MLP, batch: Transitions, target: Array) -> tuple[Array, tuple[Array, Array]]:
        q, slope = _value_and_slope(critics, batch.observations, batch.actions)
        # The small number is inside the root, so that a critic that is flat in the action gives no NaN.
        direction = slope * jax.lax.rsqrt((slope**2).sum(-1, keepdims=True) + 1e-20)
        # The pairs i != j are all pairs less the pairs of one with itself: no (N, N) matrix.
        pairs = (direction.sum(0) ** 2).sum(-1) - (direction**2).sum((0, -1))  # (batch,)
        diversity = pairs.mean() / max(self.ensemble - 1, 1)
        return ((q - target) ** 2).mean(1).sum() + self.eta * diversity, (q, diversity)

    def actor_loss(
        self, actor: TanhGaussianPolicy, critics: MLP, batch: Transitions, noise: Array, alpha: Array
    ) -> Array:
        actions, log_prob = actor.sample(batch.observations, noise)
        q = value(critics, batch.observations, actions * self.max_action).min(0)
        return (alpha * log_prob - q).mean()

    def q_values(self, state: EDACState, observations: Array, actions: Array) -> Array:
        return value(state.critics.params, observations, actions).mean(0)

    def policy(self, state: EDACState) -> TanhGaussianPolicy:
        return state.actor.params

    def network(self, policy: TanhGaussianPolicy) -> MLP | None:
        return super().network(policy.mean)


def _value_and_slope(critics: MLP, observations: Array, actions: Array) -> tuple[Array, Array]:
    """Q_i(s, a), (ensemble, batch), and its gradient in a, (ensemble, batch, action), in one pass."""

    def one(critic: MLP) -> tuple[Array, Array]:
        q, pull = jax.vjp(lambda a: value(critic, observations, a), actions)
        return q, pull(jnp.ones_like(q))[0]

    with fused_networks(False):  # kernels cannot be differentiated twice
        return jax.vmap(one)(critics)
