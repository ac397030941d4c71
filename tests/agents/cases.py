"""Small agents, states in general position and random batches for the tests of this folder."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from rewind.agents import AGENTS, Transitions

OBSERVATION, ACTION, ROWS = 5, 3, 32
LIMIT = 1.5  # max_action: not 1, so that a forgotten one shows

# Numbers at which every branch is taken: clipped noise, targets and advantage weights, a visible decay.
SHAPES = {
    "bc": {"hidden": (16, 16)},
    "edac": {"hidden": (16, 16, 16), "ensemble": 4},
    "iql": {"hidden": (16, 16)},
    "td3_bc": {"hidden": (16, 16)},
}
NUMBERS = {
    "bc": {"actor_rate": 1e-3},
    "edac": {"actor_rate": 1e-3, "critic_rate": 2e-3, "alpha_rate": 3e-3, "target_rate": 0.1, "eta": 2.0},
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
    "td3_bc": {
        "actor_rate": 1e-3,
        "critic_rate": 2e-3,
        "target_rate": 0.1,
        "policy_noise": 0.5,
        "target_low": -1.0,
        "target_high": 1.0,
    },
}


def make(name, **more):
    return AGENTS[name](OBSERVATION, ACTION, max_action=LIMIT, **{**SHAPES[name], **NUMBERS[name], **more})


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
    return Transitions(
        observations=observations,
        actions=random.uniform(-LIMIT, LIMIT, (*lead, ACTION)).astype(np.float32),
        rewards=random.normal(size=lead).astype(np.float32),
        next_observations=next_observations,
        terminals=random.random(lead) < 0.2,
        fresh=random.random(lead) < 0.3,
    )
