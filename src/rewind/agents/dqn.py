"""Double DQN (van Hasselt et al., 2016) with the penalty of CQL (Kumar et al., 2020), for discrete actions.

    bootstrap    min_i Q'_i(s', a'),  a' = argmax_a Q_1(s', a)
    critics      sum_i mean (Q_i(s, a) - y)^2                  y: rewind.targets
                 + penalty * sum_i mean (log sum_b exp Q_i(s, b) - Q_i(s, a))
    policy       argmax_a Q_1(s, a)

Actions are one-hot. There are two critics, so that their disagreement is known; the first one acts.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from rewind.agents.agent import Agent, Metrics, Transitions, number, shape
from rewind.agents.networks import MLP, Array, Learner, Scalar, copy, follow, learner, step


class DQNState(NamedTuple):
    critics: Learner[MLP]  # (2, ...)
    target_critics: MLP
    carry: Array  # (batch,)


class DQN(Agent[DQNState]):
    """Double DQN with CQL's penalty."""

    hidden: tuple[int, ...] = shape((256, 256), low=1)
    window: int = shape(1, low=1)  # rows over which targets are recomputed; 1: they are carried
    discrete: ClassVar[bool] = True

    discount: Scalar = number(0.99, 0, 1)
    beta: Scalar = number(1.0, 0, 1)  # of the weighted target: 1 one-step, 0 SARSA
    penalty: Scalar = number(1.0, 0)  # CQL's alpha
    critic_rate: Scalar = number(3e-4, 0)
    target_rate: Scalar = number(0.005, 0, 1)
    target_low: Scalar = number(-math.inf)  # bounds of the critics' targets
    target_high: Scalar = number(math.inf)

    def init(self, key: Array, batch_size: int) -> DQNState:
        sizes = [self.observation_size, *self.hidden, self.action_size]
        critics = MLP(key, sizes, ensemble=2)  # one of them is the policy, which has no layer norm
        return DQNState(learner(critics), copy(critics), jnp.zeros(batch_size))

    def update(self, state: DQNState, batch: Transitions) -> tuple[DQNState, Metrics, Array]:
        (batch,) = batch.split(self.period)
        target, carry = self.target(state.carry, batch, self.bootstrap(state, batch))
        (critic_loss, (q, gap)), gradients = jax.value_and_grad(self.critic_loss, has_aux=True)(
            state.critics.params, batch, target
        )
        critics = step(state.critics, gradients, self.critic_rate)
        metrics = {"critic_loss": critic_loss, "gap": gap, "q": q.mean(), "target": target.mean()}
        target_critics = follow(state.target_critics, critics.params, self.target_rate)
        return DQNState(critics, target_critics, carry), metrics, q.std(0)[None]

    def bootstrap(self, state: DQNState, batch: Transitions) -> Array:
        """(batch[, window]): the smaller target Q at the action that the first critic prefers."""
        observations = batch.successors.reshape(-1, self.observation_size)
        best = self.act(self.policy(state), observations)
        q = (state.target_critics(observations) * best).sum(-1).min(0)
        return q.reshape(batch.successors.shape[:-1])

    def critic_loss(self, critics: MLP, batch: Transitions, target: Array) -> tuple[Array, tuple[Array, Array]]:
        every = critics(batch.observations)  # (2, batch, action)
        q = (every * batch.actions).sum(-1)
        gap = jax.nn.logsumexp(every, axis=-1) - q
        loss = ((q - target) ** 2).mean(1).sum() + self.penalty * gap.mean(1).sum()
        return loss, (q, gap.mean())

    def q_values(self, state: DQNState, observations: Array, actions: Array) -> Array:
        return (state.critics.params(observations) * actions).sum(-1).mean(0)

    def policy(self, state: DQNState) -> MLP:
        return state.critics.params.member(0)
