"""A training loop in plain PyTorch that we might not have written: examples/torch_td3_bc.py."""

from __future__ import annotations

import numpy as np
import pytest
from tests.integrations.lambda_returns import lambda_return

torch = pytest.importorskip("torch")

import torch_td3_bc
from point_data import point_data
from rewind import TrajectoryReplay, WeightedTarget


@pytest.mark.parametrize(
    "options",
    [{"memory": "own"}, {"memory": "rewind"}, {"priority": "uqm_reward", "beta": 0.5}],
    ids=["own", "TR", "PTR weighted"],
)
def test_the_loop_learns_with_its_own_buffer_and_with_ours(options):
    result = torch_td3_bc.train(steps=1500, **options)
    assert result["losses"][-150:].mean() < 0.6 * result["losses"][:150].mean()
    assert result["score"] > result["data_score"] + 8


def test_uncertainty_that_came_back_changes_the_ranks():
    result = torch_td3_bc.train(priority="lower_uqm_unc", beta=0.75, steps=600)
    probabilities = result["memory"].probabilities()
    assert len(np.unique(probabilities.round(9))) > 50  # one rank each, where all were tied


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_targets_of_frozen_networks_are_lambda_returns(beta, monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(torch, "randn_like", torch.zeros_like)  # no noise on the target policy
    agent = torch_td3_bc.TD3BC(2, 2)
    for optimizer in (agent.actor_optimizer, agent.critic_optimizer):
        optimizer.param_groups[0]["lr"] = 0.0
    memory, target = TrajectoryReplay(seed=0), WeightedTarget(agent.discount, beta)
    memory.load_offline_dataset(point_data(20))
    found = np.full(memory.store.rows, np.nan)
    bootstraps = np.full(memory.store.rows, np.nan)

    def recorded(batch, bootstrap):
        y = target(batch, bootstrap)
        found[batch.indices], bootstraps[batch.indices] = y, bootstrap
        return y

    while np.isnan(found).any():
        agent.update(memory.sample(8).as_torch(), recorded)
    store = memory.store
    for start, length, terminated in zip(store.starts, store.lengths, store.terminated, strict=True):
        rows = slice(start, start + length)
        expected = lambda_return(store.rewards[rows], bootstraps[rows], terminated, agent.discount, beta)
        np.testing.assert_allclose(found[rows], expected, rtol=1e-4, atol=1e-5)


def test_own_buffer_and_ours_hold_the_same_transitions():
    data = point_data(10)
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(data)
    batch = memory.sample(4).as_torch()
    for name, ours in (("next_observations", batch.next_observations), ("terminals", batch.terminals)):
        np.testing.assert_array_equal(ours.numpy(), data[name][batch.indices])
