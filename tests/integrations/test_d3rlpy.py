"""d3rlpy's own algorithms, fed by the memory."""

from __future__ import annotations

import numpy as np
import pytest
from tests.integrations.lambda_returns import lambda_return

torch = pytest.importorskip("torch")
pytest.importorskip("d3rlpy")

from d3rlpy.algos import TD3PlusBCConfig
from d3rlpy.dataset import InfiniteBuffer, MultiStepTransitionPicker, ReplayBuffer
from d3rlpy.preprocessing import StandardRewardScaler
from d3rlpy.torch_utility import TorchMiniBatch

import d3rlpy_td3_bc
from point_data import point_data
from rewind import DataError, TrajectoryReplay, UsageError
from rewind.data import load
from rewind.integrations.d3rlpy import TrajectoryBuffer, from_dataset, to_episodes, use_weighted_target

BATCH = 8


@pytest.fixture(scope="module")
def data():
    return load(point_data(30))


def make(data, priority="uniform", seed=0):
    return TrajectoryBuffer(data, TrajectoryReplay(priority, seed=seed))


def test_batches_are_those_of_the_memory_in_its_order(data):
    buffer, memory = make(data, "uqm_reward"), TrajectoryReplay("uqm_reward", seed=0)
    memory.load_offline_dataset(data)
    for _ in range(100):
        batch, expected = buffer.sample_transition_batch(BATCH), memory.sample(BATCH)
        np.testing.assert_array_equal(batch.observations, expected.observations)
        np.testing.assert_array_equal(batch.next_observations, expected.next_observations)
        np.testing.assert_array_equal(batch.rewards[:, 0], expected.rewards)
        np.testing.assert_array_equal(batch.terminals[:, 0], expected.terminals)
        assert batch.rewards.shape == batch.terminals.shape == batch.intervals.shape == (BATCH, 1)


def test_every_slot_plays_its_trajectory_backward(data):
    buffer, before = make(data), None
    for _ in range(100):
        batch = buffer.sample_transition_batch(BATCH).replay
        if before is not None:
            follows = (batch.trajectories == before.trajectories) & (batch.timesteps == before.timesteps - 1)
            assert (follows | batch.fresh).all()
        before = batch


def test_next_actions_are_those_of_the_following_row(data):
    buffer = make(data)
    for _ in range(100):
        batch = buffer.sample_transition_batch(BATCH)
        inner = ~batch.replay.tails
        np.testing.assert_array_equal(batch.next_actions[inner], data.actions[batch.replay.indices[inner] + 1])
        assert not batch.next_actions[~inner].any()


def test_a_d3rlpy_dataset_becomes_the_same_trajectories(data):
    dataset = ReplayBuffer(InfiniteBuffer(), episodes=to_episodes(data))
    found = from_dataset(dataset)
    for name in ("observations", "actions", "rewards", "lengths", "terminated"):
        np.testing.assert_array_equal(getattr(found, name), getattr(data, name))
    assert not found.final_known.any()  # d3rlpy's episodes do not keep the state after a time-out
    buffer = TrajectoryBuffer(dataset, TrajectoryReplay(seed=0))
    assert buffer.transition_count == dataset.transition_count == buffer.memory.store.transitions.sum()


def test_a_loaded_state_continues_with_the_same_batches(data):
    original, copy = make(data), make(data, seed=9)
    for _ in range(50):
        original.sample_transition_batch(BATCH)
    copy.memory.load_state_dict(original.memory.state_dict())
    for _ in range(50):
        expected = original.sample_transition_batch(BATCH).replay.indices
        np.testing.assert_array_equal(copy.sample_transition_batch(BATCH).replay.indices, expected)


@pytest.mark.parametrize("algorithm", ["td3_bc", "iql"])
@pytest.mark.parametrize("beta", [1.0, 0.75])
def test_the_algorithms_learn(algorithm, beta):
    result = d3rlpy_td3_bc.train(algorithm, "lower_uqm_unc", beta, steps=1000)
    assert result["losses"][-1] < 0.8 * result["losses"][0]
    assert result["score"] > result["data_score"] + 6
    probabilities = result["buffer"].memory.probabilities()
    assert len(np.unique(probabilities.round(9))) > 50  # uncertainty came back: one rank each, where all were tied


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_weighted_targets_of_frozen_networks_are_lambda_returns(data, beta, scaled):
    scaler = StandardRewardScaler(mean=-0.5, std=2.0) if scaled else None
    algo = TD3PlusBCConfig(target_smoothing_sigma=0.0, batch_size=BATCH, reward_scaler=scaler).create()
    buffer = make(data)
    algo.build_with_dataset(buffer)
    bootstrap_of = algo.impl.compute_target
    use_weighted_target(algo, beta)
    found, bootstraps = np.full((2, data.rows), np.nan)
    while np.isnan(found).any():
        batch = TorchMiniBatch.from_batch(
            buffer.sample_transition_batch(BATCH), algo.gamma, False, "cpu", reward_scaler=scaler
        )
        rows = batch.numpy_batch.replay.indices
        y = batch.rewards + algo.gamma * algo.impl.compute_target(batch) * (1 - batch.terminals)
        found[rows], bootstraps[rows] = y[:, 0], bootstrap_of(batch)[:, 0]
    rewards = scaler.transform_numpy(data.rewards) if scaled else data.rewards
    for start, length, terminated in zip(data.starts, data.lengths, data.terminated, strict=True):
        rows = slice(start, start + length)
        expected = lambda_return(rewards[rows], bootstraps[rows], terminated, algo.gamma, beta)
        np.testing.assert_allclose(found[rows], expected, rtol=1e-4, atol=1e-5)


def test_what_does_not_fit_says_why(data):
    picker = MultiStepTransitionPicker(n_steps=3, gamma=0.99)
    dataset = ReplayBuffer(InfiniteBuffer(), episodes=to_episodes(data), transition_picker=picker)
    with pytest.raises(DataError, match="MultiStepTransitionPicker"):
        TrajectoryBuffer(dataset, TrajectoryReplay())
    with pytest.raises(UsageError, match="build_with_dataset"):
        use_weighted_target(TD3PlusBCConfig().create(), beta=0.5)
    with pytest.raises(UsageError, match="before any sample"):
        make(data).update_uncertainty(TD3PlusBCConfig().create())
