"""Learning is real: a control problem whose optimum is known, and a long chain with one reward at its end."""

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("equinox")

from point_data import data_score, point_data, score
from rewind.data import from_d4rl
from rewind.data.episodes import from_episodes
from rewind.training import View, make_runs, train

POINTS = point_data(300)
STEPS = 3000


def straight(positions):
    """The optimum: full steps towards the middle."""
    return -positions / np.maximum(np.linalg.norm(positions, axis=1, keepdims=True), 0.1)


@pytest.fixture(scope="module")
def scores():
    data = from_d4rl(POINTS)
    settings = {"hidden": (64, 64), "discount": 0.95}
    runs = [
        *make_runs(data, "bc", samplers=["baseline"], hidden=(64, 64), seeds=[0, 1]),
        *make_runs(data, "td3_bc", samplers=["tr"], seeds=[0, 1], **settings),
        *make_runs(data, "iql", samplers=["tr"], seeds=[0, 1], **settings),
        *make_runs(data, "edac", samplers=["tr"], seeds=[0, 1], ensemble=3, **settings),
    ]
    trained = train(data, runs, steps=STEPS, batch_size=64, progress=False)
    result = {}
    for each in trained:
        result.setdefault(type(each.run.agent).__name__, []).append(score(each.act))
    return {name: float(np.mean(values)) for name, values in result.items()}


def test_agents_beat_imitation_and_the_data_and_come_near_the_optimum(scores):
    best, behaviour = score(straight), data_score(POINTS)
    print(scores, "optimum", best, "data", behaviour)
    for name in ("TD3BC", "IQL", "EDAC"):
        assert scores[name] > scores["BC"] + 1, scores
        assert scores[name] > behaviour + 0.6 * (best - behaviour), scores
    assert scores["BC"] > behaviour  # the mean of noisy actions is better than the noise


def chain(length, copies):
    """Trajectories along a line of one-hot states; the only reward is at the end."""
    states = np.eye(length + 1, dtype=np.float32)
    rewards = np.zeros(length, np.float32)
    rewards[-1] = 1.0
    episode = {"observations": states, "actions": np.ones((length, 1)), "rewards": rewards, "terminated": True}
    return from_episodes([episode] * copies)


def updates_until_the_start_knows(sampler, seed, beta=1.0, length=40, most=4000, every=100):
    """How many updates it takes until Q at the first state has half of its true value."""
    import jax
    import jax.numpy as jnp

    from rewind.agents.networks import value
    from rewind.training.group import Group

    data = chain(length, 64)
    view = View(normalise_states=False)
    settings = {"hidden": (64, 64), "discount": 0.99, "target_rate": 0.05, "critic_rate": 3e-3}
    runs = make_runs(data, "td3_bc", samplers=[sampler], betas=[beta], seeds=[seed], view=view, **settings)
    group = Group(data, runs, [0], batch_size=16, block=every)
    observation, action = jnp.asarray(data.observations[:1]), jnp.ones((1, 1))
    while group.step < most:
        group.advance(most)
        critics = jax.tree.map(lambda leaf: leaf[0], group.engine.state.critics.params)
        if float(value(critics, observation, action).min()) > 0.5 * 0.99 ** (length - 1):
            break
    return group.step


@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_along_a_long_sparse_chain_trajectory_replay_needs_fewer_updates(beta):
    counts = {
        sampler: [updates_until_the_start_knows(sampler, seed, beta) for seed in range(3)]
        for sampler in ("baseline", "tr")
    }
    print(f"updates until the start of the chain knows of its end, beta {beta}: {counts}")
    assert np.mean(counts["tr"]) < np.mean(counts["baseline"])
