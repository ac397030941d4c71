"""Discrete actions, images, dict observations and extra columns in torch, TorchRL and d3rlpy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kinds import KINDS, data_of

torch = pytest.importorskip("torch")

from rewind import TrajectoryReplay
from rewind.data.parts import each_part

EXPECTED = ("observations", "actions", "next_observations", "extras")


def assert_equal(one, other):
    if isinstance(other, dict):
        assert list(one) == list(other)
        each_part(assert_equal, dict(one), other)
    else:
        np.testing.assert_array_equal(np.asarray(one), other)


@pytest.mark.parametrize("kind", KINDS)
def test_torch_gets_the_same_numbers(kind):
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(data_of(kind))
    batch = memory.sample(4)
    converted = batch.as_torch()
    for name in EXPECTED:
        assert_equal(getattr(converted, name), getattr(batch, name))
    parts = converted.observations.values() if kind == "dict" else [converted.observations]
    assert all(torch.is_tensor(part) for part in parts)


@pytest.mark.parametrize("kind", KINDS)
def test_d3rlpy_gets_the_same_numbers_in_the_order_of_the_keys(kind):
    pytest.importorskip("d3rlpy")
    from rewind.integrations.d3rlpy import TrajectoryBuffer, from_dataset

    data, memory = data_of(kind, np.array([5, 9, 4])), TrajectoryReplay(seed=0)
    memory.load_offline_dataset(data)
    buffer = TrajectoryBuffer(data, TrajectoryReplay(seed=0))
    for _ in range(20):
        batch, expected = buffer.sample_transition_batch(4), memory.sample(4)
        for name in ("observations", "next_observations"):
            given, wanted = getattr(batch, name), getattr(expected, name)
            for one, other in zip(given, wanted.values(), strict=True) if kind == "dict" else [(given, wanted)]:
                assert one.dtype == np.float32
                assert_equal(one.reshape(other.shape), other)
        assert_equal(batch.actions.reshape(expected.actions.shape), expected.actions.astype(np.float32))
        assert_equal(batch.replay.extras, expected.extras)
    again = from_dataset(buffer)
    assert np.array_equal(again.lengths, data.lengths) and again.actions.dtype == data.actions.dtype
    assert isinstance(again.observations, dict) == (kind == "dict")


def test_d3rlpys_dqn_learns_from_the_memory_and_hands_uncertainty_back():
    pytest.importorskip("d3rlpy")
    from d3rlpy.algos import DoubleDQNConfig
    from d3rlpy.models import MeanQFunctionFactory

    from rewind.integrations.d3rlpy import TrajectoryBuffer

    buffer = TrajectoryBuffer(data_of("discrete"), TrajectoryReplay("lower_mean_unc", seed=0))
    algo = DoubleDQNConfig(batch_size=4, n_critics=2, q_func_factory=MeanQFunctionFactory()).create()
    algo.fit(
        buffer, 30, 10, callback=buffer.update_uncertainty, show_progress=False, save_interval=99, with_timestamp=False
    )
    assert len(np.unique(buffer.memory.probabilities())) > 1


def test_torchrls_nested_observations_and_extras_become_a_batch():
    pytest.importorskip("torchrl")
    from tensordict import TensorDict
    from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

    from rewind.integrations.torchrl import TrajectorySampler, batch_of

    data = data_of("dict")
    rows, after = data.rows, data.successors(np.arange(data.rows))
    tensors = [{key: torch.as_tensor(part) for key, part in of.items()} for of in (data.observations, after)]
    ends = torch.zeros(rows, 1, dtype=torch.bool)
    ends[data.ends] = True
    following = {"observation": tensors[1], "reward": torch.as_tensor(data.rewards)[:, None], "done": ends}
    following["terminated"] = torch.as_tensor(data.terminals)[:, None]
    columns = {"observation": tensors[0], "action": torch.as_tensor(data.actions), "next": following}
    columns["costs"] = torch.as_tensor(data.extras["costs"])
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(rows), sampler=TrajectorySampler(seed=0), batch_size=4)
    buffer.extend(TensorDict(columns, [rows]))
    for _ in range(20):
        sampled = buffer.sample()
        batch = batch_of(sampled, extras=["costs"])
        at = batch.indices
        assert_equal(batch.observations, {key: part[at] for key, part in data.observations.items()})
        assert_equal(batch.next_observations, {key: part[at] for key, part in after.items()})
        assert_equal(batch.actions, data.actions[at])
        assert_equal(batch.extras, {"costs": data.extras["costs"][at]})
        assert_equal(batch_of(sampled).extras, batch.extras)  # by default, all that there is
