"""Learning is real: a control problem whose optimum is known, and a long chain with one reward at its end."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
pytest.importorskip("equinox")

from point_data import STRIDE, data_score, point_data, score
from rewind.agents.networks import value
from rewind.data import from_d4rl
from rewind.data.episodes import from_episodes
from rewind.training import View, make_runs, train
from rewind.training.group import Group

POINTS = point_data(300)
STEPS = 3000


def fastest(positions):
    """The optimum: the axes are independent, so on each a full step until the middle is less than one away."""
    return np.clip(-positions / STRIDE, -1, 1)


@pytest.fixture(scope="module")
def scores():
    data = from_d4rl(POINTS)
    settings = {"hidden": (64, 64), "discount": 0.95, "actor_rate": 1e-3, "critic_rate": 1e-3}
    runs = [
        *make_runs(data, "bc", samplers=["baseline"], hidden=(64, 64), seeds=[0, 1]),
        *make_runs(data, "td3_bc", samplers=["tr"], seeds=[0, 1], **settings),
        *make_runs(data, "iql", samplers=["tr"], seeds=[0, 1], **settings),
        *make_runs(data, "edac", samplers=["tr"], seeds=[0, 1], ensemble=3, eta=0.1, alpha_rate=3e-3, **settings),
    ]
    trained = train(data, runs, steps=STEPS, batch_size=64, progress=False)
    result = {}
    for each in trained:
        result.setdefault(type(each.run.agent).__name__, []).append(score(each.act))
    return {name: float(np.mean(values)) for name, values in result.items()}


@pytest.mark.long
def test_agents_beat_imitation_and_the_data_and_come_near_the_optimum(scores):
    best, behaviour = score(fastest), data_score(POINTS)
    print(scores, "optimum", best, "data", behaviour)
    for name in ("TD3BC", "IQL", "EDAC"):
        assert scores[name] > scores["BC"] + 1, scores
        assert scores[name] > behaviour + 0.6 * (best - behaviour), scores
    assert abs(scores["BC"] - behaviour) < 3  # it imitates: it is as good as what it saw


def chain(length, copies, seed=0):
    """Trajectories along a line of one-hot states, from different starts; the only reward is at the end."""
    states, rewards = np.eye(length + 1, dtype=np.float32), np.zeros(length, np.float32)
    rewards[-1] = 1.0
    starts = np.random.default_rng(seed).integers(0, length // 2, copies)
    starts[: copies // 4] = 0
    return from_episodes(
        {
            "observations": states[start:],
            "actions": np.ones((length - start, 1)),
            "rewards": rewards[start:],
            "terminated": True,
        }
        for start in starts
    )


def updates_needed(samplers, betas, seeds, length=40, most=6000, every=50):
    """How many updates it takes until Q is right to 0.2 (root mean square) along the whole chain; one per run.

    Critics without hidden layers on one-hot states, an actor that only imitates, and targets that follow fast: what is
    left is the order of the updates.
    """
    data = chain(length, 64)
    numbers = {"target_rate": 0.5, "critic_rate": 0.05, "actor_rate": 0.05, "alpha": 0.0, "policy_noise": 0.0}
    runs = make_runs(
        data, "td3_bc", samplers=samplers, betas=betas, seeds=seeds, view=View(), hidden=(), period=1, **numbers
    )
    group = Group(data, runs, range(len(runs)), batch_size=4, block=every)
    states, actions = jnp.eye(length, length + 1), jnp.ones((length, 1))
    truth = jnp.asarray(0.99 ** np.arange(length - 1, -1, -1))
    errors = jax.jit(jax.vmap(lambda critics: ((value(critics, states, actions).mean(0) - truth) ** 2).mean() ** 0.5))
    needed = np.full(len(runs), most)
    while group.step < most:
        group.advance(most)
        right = np.asarray(errors(group.engine.state.critics.params)) < 0.2
        needed[right & (needed == most)] = group.step
    return {(run.sampler.name, float(run.agent.beta)): [] for run in runs}, runs, needed


def test_along_a_long_sparse_chain_trajectory_replay_needs_fewer_updates():
    counts, runs, needed = updates_needed(["baseline", "tr"], [1.0, 0.5], range(8))
    for run, updates in zip(runs, needed, strict=True):
        counts[run.sampler.name, float(run.agent.beta)].append(int(updates))
    print(f"updates until the chain is known, by sampler and beta: {counts}")
    uniform = np.mean(counts["baseline", 1.0])
    assert np.mean(counts["tr", 1.0]) < uniform
    assert np.mean(counts["tr", 0.5]) < 0.5 * uniform
