"""The sampler in TorchRL's own buffer."""

from __future__ import annotations

import numpy as np
import pytest
from tests.integrations.lambda_returns import lambda_return

torch = pytest.importorskip("torch")
pytest.importorskip("torchrl")

from tensordict import TensorDict
from torchrl.data import LazyMemmapStorage, LazyTensorStorage, ListStorage, TensorDictReplayBuffer

import torchrl_sampler
from point_data import point_data
from rewind import DataError, TrajectoryReplay, UsageError, WeightedTarget
from rewind.integrations.torchrl import TrajectorySampler, batch_of

BATCH = 8


@pytest.fixture(scope="module")
def data():
    return point_data(30)


@pytest.fixture(scope="module")
def transitions(data):
    return torchrl_sampler.transitions(data)


def buffer_of(transitions, sampler, storage=LazyTensorStorage, size=None):
    buffer = TensorDictReplayBuffer(storage=storage(size or len(transitions)), sampler=sampler, batch_size=BATCH)
    buffer.extend(transitions)
    return buffer


@pytest.mark.parametrize("storage", [LazyTensorStorage, LazyMemmapStorage])
def test_every_slot_plays_its_trajectory_backward(transitions, storage):
    buffer = buffer_of(transitions, TrajectorySampler(seed=0), storage)
    before = None
    for _ in range(200):
        batch = buffer.sample()
        done = batch["next", "done"][:, 0]
        assert torch.equal(batch["tails"], done)
        assert torch.equal(batch["observation"], transitions["observation"][batch["index"]])
        if before is None:
            assert batch["fresh"].all()
        else:
            follows = (batch["index"] == before["index"] - 1) & (batch["timesteps"] == before["timesteps"] - 1)
            follows &= batch["trajectories"] == before["trajectories"]
            assert (follows | batch["fresh"]).all()
            assert torch.equal(before["timesteps"] == 0, batch["fresh"])
        before = batch


@pytest.mark.parametrize("priority", ["uniform", "uqm_reward"])
def test_the_order_is_that_of_the_memory_on_the_same_data(data, transitions, priority):
    buffer = buffer_of(transitions, TrajectorySampler(priority, seed=3))
    memory = TrajectoryReplay(priority, seed=3)
    memory.load_offline_dataset(data)
    for _ in range(100):
        np.testing.assert_array_equal(buffer.sample()["index"], memory.sample(BATCH).indices)


def test_an_episode_key_gives_the_same_trajectories_as_the_flags(transitions):
    done = transitions["next", "done"][:, 0].long()
    labelled = TensorDict(
        {**transitions.to_dict(), "episode": done.cumsum(0) - done}, batch_size=transitions.batch_size
    )
    labelled["next"] = labelled["next"].exclude("done", "terminated", "truncated")
    by_key = buffer_of(labelled, TrajectorySampler(episode_key="episode", seed=0))
    by_flags = buffer_of(transitions, TrajectorySampler(seed=0))
    for _ in range(50):
        assert torch.equal(by_key.sample()["index"], by_flags.sample()["index"])


def test_a_storage_that_wrapped_is_played_from_its_oldest_row(transitions):
    size = 200
    buffer = buffer_of(transitions[:150], TrajectorySampler(seed=0), size=size)
    buffer.extend(transitions[150:280])  # rows 0 to 79 are new, and follow row 199
    before, newest, seam = None, 79, False
    for _ in range(300):
        batch = buffer.sample()
        assert not ((batch["index"] == newest) & ~batch["tails"]).any()
        if before is not None:
            kept = ~batch["fresh"]
            assert torch.equal(batch["index"][kept], (before["index"][kept] - 1) % size)
            seam |= bool((batch["index"][kept] == size - 1).any())
        before = batch
    assert seam  # a trajectory went from the last row on at row 0


def test_a_loaded_state_continues_with_the_same_batches(transitions, tmp_path):
    original = buffer_of(transitions, TrajectorySampler("lower_uqm_unc", seed=0))
    for _ in range(60):
        batch = original.sample()
        original.update_priority(batch["index"], batch["observation"].norm(dim=1))
    torch.save(original.state_dict(), tmp_path / "state.pt")
    original.dumps(tmp_path / "buffer")
    copies = []
    for _ in range(2):
        storage, sampler = LazyTensorStorage(len(transitions)), TrajectorySampler("lower_uqm_unc", seed=9)
        copies.append(TensorDictReplayBuffer(storage=storage, sampler=sampler, batch_size=BATCH))
    copies[0].load_state_dict(torch.load(tmp_path / "state.pt", weights_only=False))
    copies[1].loads(tmp_path / "buffer")
    for _ in range(60):
        expected = original.sample()
        original.update_priority(expected["index"], expected["observation"].norm(dim=1))
        for copy in copies:
            batch = copy.sample()
            copy.update_priority(batch["index"], batch["observation"].norm(dim=1))
            assert torch.equal(batch["index"], expected["index"])


def test_the_state_of_other_data_is_refused(transitions):
    original = buffer_of(transitions, TrajectorySampler(seed=0))
    original.sample()
    other = buffer_of(transitions[:100], TrajectorySampler(seed=0))
    other.sampler.load_state_dict(original.sampler.state_dict())
    with pytest.raises(UsageError, match="other data"):
        other.sample()


def test_uncertainty_changes_the_ranks(transitions):
    buffer = buffer_of(transitions, TrajectorySampler("lower_mean_unc", seed=0))
    for _ in range(300):
        batch = buffer.sample()
        buffer.update_priority(batch["index"], batch["trajectories"].float())
    probabilities = buffer.sampler.memory.probabilities()
    assert (np.diff(probabilities) < 0).all()  # the lower its number, the lower its uncertainty


def test_uncertainty_of_another_batch_is_an_error(transitions):
    buffer = buffer_of(transitions, TrajectorySampler("lower_mean_unc", seed=0))
    first = buffer.sample()
    buffer.sample()
    with pytest.raises(UsageError, match="sampled last"):
        buffer.update_priority(first["index"], torch.zeros(BATCH))


def test_after_an_extension_all_sweeps_start_anew(transitions):
    buffer = buffer_of(transitions[:200], TrajectorySampler(seed=0), size=len(transitions))
    for _ in range(3):
        buffer.sample()
    buffer.extend(transitions[200:])
    assert buffer.sample()["fresh"].all()


def test_what_cannot_be_planned_says_why(transitions):
    with pytest.raises(UsageError, match="empty"):
        TensorDictReplayBuffer(storage=LazyTensorStorage(10), sampler=TrajectorySampler(), batch_size=BATCH).sample()
    with pytest.raises(DataError, match="LazyTensorStorage"):
        buffer_of(transitions, TrajectorySampler(), ListStorage).sample()
    with pytest.raises(DataError, match="'step_of'"):
        buffer_of(transitions, TrajectorySampler(episode_key="step_of")).sample()
    bare = TensorDict({"next": {"reward": torch.zeros(10, 1)}}, batch_size=[10])
    with pytest.raises(DataError, match="episode_key"):
        buffer_of(bare, TrajectorySampler()).sample()


def test_weighted_targets_of_a_sampled_tensordict_are_lambda_returns(data, transitions):
    buffer, target = buffer_of(transitions, TrajectorySampler(seed=0)), WeightedTarget(0.9, beta=0.3)
    bootstrap = torch.as_tensor(data["next_observations"]).sum(dim=1)
    found = torch.full((len(transitions),), torch.nan)
    while found.isnan().any():
        batch = buffer.sample()
        found[batch["index"]] = target(batch_of(batch), bootstrap[batch["index"]])
    ends = np.flatnonzero(data["terminals"] | data["timeouts"])
    for start, end in zip([0, *(ends[:-1] + 1)], ends, strict=True):
        rows = slice(start, end + 1)
        terminated = data["terminals"][end]
        expected = lambda_return(data["rewards"][rows], bootstrap[rows], terminated, discount=0.9, beta=0.3)
        np.testing.assert_allclose(found[rows], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"priority": "lower_uqm_unc", "beta": 0.75}], ids=["TR", "PTR weighted"])
def test_the_example_learns(options):
    result = torchrl_sampler.train(steps=800, **options)
    assert result["losses"][-80:].mean() < 0.6 * result["losses"][:80].mean()
    assert result["score"] > result["data_score"] + 6
