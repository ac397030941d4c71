"""Small agents, states in general position and random batches for the tests of this folder."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from rewind.agents import AGENTS, Transitions
from rewind.agents.agent import Window

OBSERVATION, ACTION, ROWS = 5, 3, 32
LIMIT = 1.5  # max_action: not 1, so that a forgotten one shows

# Numbers at which every branch is taken: clipped noise, targets and advantage weights, a visible decay.
SHAPES = {
    "discrete_bc": {"hidden": (16, 16)},
    "discrete_iql": {"hidden": (16, 16)},
    "dqn": {"hidden": (16, 16)},
    "bc": {"hidden": (16, 16)},
    "edac": {"hidden": (16, 16, 16), "ensemble": 4},
    "iql": {"hidden": (16, 16)},
    "rebrac": {"hidden": (16, 16, 16)},
    "td3_bc": {"hidden": (16, 16)},
}
NUMBERS = {
    "bc": {"actor_rate": 1e-3},
    "edac": {"actor_rate": 1e-3, "critic_rate": 2e-3, "alpha_rate": 3e-3, "target_rate": 0.1, "eta": 2.0},
    "dqn": {"critic_rate": 2e-3, "target_rate": 0.1, "penalty": 0.5, "target_low": -1.0, "target_high": 1.0},
    "iql": {
        "actor_rate": 1e-3,
        "critic_rate": 2e-3,
        "value_rate": 3e-3,
        "target_rate": 0.1,
        "total_steps": 5,
        "temperature": 20.0,
        "target_low": -1.0,
        "target_high": 1.0,
    },
    "rebrac": {
        "actor_rate": 1e-3,
        "critic_rate": 2e-3,
        "target_rate": 0.1,
        "policy_noise": 0.5,
        "actor_penalty": 0.3,
        "critic_penalty": 0.2,
        "target_low": -1.0,
        "target_high": 1.0,
    },
    "td3_bc": {
        "actor_rate": 1e-3,
        "critic_rate": 2e-3,
        "target_rate": 0.1,
        "policy_noise": 0.5,
        "target_low": -1.0,
        "target_high": 1.0,
    },
}


NUMBERS |= {"discrete_bc": NUMBERS["bc"], "discrete_iql": NUMBERS["iql"]}


def make(name, **more):
    limit = {} if AGENTS[name].discrete else {"max_action": LIMIT}
    return AGENTS[name](OBSERVATION, ACTION, **{**limit, **SHAPES[name], **NUMBERS[name], **more})


def start(agent, seed=0):
    """Non-zero carries, and target networks unlike what they follow: everything is moved at random."""
    state = agent.init(jax.random.key(seed), ROWS)
    random = np.random.default_rng(seed)

    def moved(leaf):
        return leaf + jnp.asarray(random.normal(0, 0.2, leaf.shape), leaf.dtype)

    parts = {}
    for name, part in state._asdict().items():
        if hasattr(part, "params"):
            parts[name] = part._replace(params=jax.tree.map(moved, part.params))
        elif name != "key":
            parts[name] = jax.tree.map(moved, part)
    return state._replace(**parts)


def batch_of(agent, seed=0):
    random = np.random.default_rng(seed)
    lead = (agent.period, ROWS)
    observations, next_observations = random.normal(size=(2, *lead, OBSERVATION)).astype(np.float32)
    batch = Transitions(
        observations=observations,
        actions=random.uniform(-LIMIT, LIMIT, (*lead, ACTION)).astype(np.float32),
        rewards=random.normal(size=lead).astype(np.float32),
        next_observations=next_observations,
        terminals=random.random(lead) < 0.2,
        fresh=random.random(lead) < 0.3,
    )
    if agent.discrete:
        batch = batch._replace(actions=np.eye(ACTION, dtype=np.float32)[random.integers(0, ACTION, lead)])
    rows = lead if agent.window == 1 else (*lead, agent.window)
    if agent.window > 1:
        ends = random.random(rows)
        batch = batch._replace(
            window=Window(
                rewards=random.normal(size=rows).astype(np.float32),
                terminals=ends < 0.1,
                tails=ends < 0.2,
                next_observations=random.normal(size=(*rows, OBSERVATION)).astype(np.float32),
            )
        )
    if agent.next_actions:
        following = random.uniform(-LIMIT, LIMIT, (*rows, ACTION)).astype(np.float32)
        batch = batch._replace(next_actions=following, next_known=random.random(rows) < 0.7)
    return batch
