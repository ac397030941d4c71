"""Chunks: a row with those that follow it, and the targets that are computed from them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind import (
    LambdaWindow,
    PrioritizedReplay,
    TrajectoryReplay,
    UniformReplay,
    UsageError,
    WeightedTarget,
    lambda_window,
)
from tests.helpers import lambda_return, make, ragged_lengths

pytestmark = pytest.mark.filterwarnings("ignore:.*played by several slots")
MEMORIES = {
    "uniform": lambda: UniformReplay(seed=1),
    "by TD error": lambda: PrioritizedReplay(seed=1),
    "TR": lambda: TrajectoryReplay(seed=1),
    "PTR, shuffled": lambda: TrajectoryReplay("return", order="shuffled", seed=1),
}


def values_after(observations):
    """A bootstrap for every state."""
    return np.asarray(observations).sum(-1)


@pytest.mark.parametrize("memory", MEMORIES.values(), ids=MEMORIES)
@settings(deadline=None, max_examples=15)
@given(ragged_lengths(), st.integers(1, 7), st.sampled_from([0.0, 0.3, 0.9, 1.0]))
def test_a_windows_target_is_the_lambda_return_of_the_rows_up_to_its_end(memory, lengths, length, lam):
    data = make(lengths)
    memory = memory()
    memory.load_offline_dataset(data)
    target = LambdaWindow(length, lam, discount=0.9)
    for _ in range(4):
        chunks = memory.sample_chunks(5, length)
        bootstrap = values_after(chunks.next_observations)
        for slot, y in enumerate(target(chunks, bootstrap)):
            trajectory, first = chunks.trajectories[slot, 0], chunks.indices[slot, 0]
            end = min(first + length, data.starts[trajectory] + data.transitions[trajectory])
            assert list(chunks.indices[slot]) == [min(row, end - 1) for row in range(first, first + length)]
            assert list(chunks.valid[slot]) == [row < end for row in range(first, first + length)]
            terminal = bool(data.terminals[end - 1])
            after = bootstrap[slot, : end - first].astype(np.float64)
            expected = lambda_return(data.rewards[first:end].astype(np.float64), after, terminal, 0.9, lam)[0]
            assert y == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_chunks_start_at_the_rows_of_the_plan_and_a_plan_has_all_of_them():
    one, other = (TrajectoryReplay("return", seed=0) for _ in range(2))
    for memory in (one, other):
        memory.load_offline_dataset(make([5, 9, 2, 7]))
    plan = other.plan(6, 3)
    rows, valid = other.chunks(plan, 4)
    assert rows.shape == valid.shape == (6, 3, 4) and np.array_equal(rows[..., 0], plan.indices) and valid[..., 0].all()
    for step in range(6):
        chunks = one.sample_chunks(3, 4)
        assert np.array_equal(chunks.indices, rows[step]) and np.array_equal(chunks.valid, valid[step])
        assert np.array_equal(chunks.fresh[:, 0], plan.fresh[step]) and not chunks.fresh[:, 1:].any()
        assert np.array_equal(other.gather(plan, step, 4).next_observations, chunks.next_observations)


def test_a_window_to_the_end_is_what_a_sweep_carries():
    data = make([6, 9, 4], known=1.0)
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(data)
    carried, window = WeightedTarget(0.9, 0.3, -1.0, 1.0), LambdaWindow(9, 0.7, 0.9, -1.0, 1.0)
    plan = memory.plan(20, 2)
    for step in range(20):
        batch, chunks = memory.gather(plan, step), memory.gather(plan, step, 9)
        y = carried(batch, values_after(batch.next_observations))
        np.testing.assert_allclose(window(chunks, values_after(chunks.next_observations)), y, rtol=1e-5, atol=1e-6)


def test_nothing_after_a_terminal_within_a_trajectory_counts():
    data = make([8], known=1.0)
    inner = np.zeros(8, bool)
    inner[3] = True
    memory = UniformReplay(seed=0)
    memory.load_offline_dataset(type(data)(**{
        name: getattr(data, name) for name in
        ("observations", "actions", "rewards", "lengths", "terminated", "final_observations", "final_known")
    }, inner_terminals=inner))  # fmt: skip
    chunks = memory.sample_chunks(50, 5)
    for first, rows, valid in zip(chunks.timesteps[:, 0], chunks.timesteps, chunks.valid, strict=True):
        end = 4 if first <= 3 else 8
        assert list(rows[valid]) == list(range(first, min(first + 5, end)))
    y = LambdaWindow(5, 1.0, 1.0)(chunks, np.zeros((50, 5), np.float32))
    expected = [sum(data.rewards[first : min(first + 5, 4 if first <= 3 else 8)]) for first in chunks.timesteps[:, 0]]
    np.testing.assert_allclose(y, expected, rtol=1e-5)


def test_each_run_can_have_its_own_lambda_under_jax():
    jnp = pytest.importorskip("jax.numpy")
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(make([5, 9]))
    chunks = memory.sample_chunks(3, 4).as_jax()
    bootstrap = jnp.asarray(values_after(chunks.next_observations))
    several = lambda_window(chunks, bootstrap, discount=0.9, lam=jnp.asarray([[0.5], [0.2]], jnp.float32))
    for lam, target in zip((0.5, 0.2), several, strict=True):
        np.testing.assert_allclose(target, lambda_window(chunks, bootstrap, discount=0.9, lam=lam), 1e-6)


@pytest.mark.parametrize("length", [1, 4, 40])
def test_targets_are_the_same_numbers_in_every_library(length):
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(make([5, 9, 2, 70]))
    chunks = memory.sample_chunks(6, length)
    bootstrap = values_after(chunks.next_observations)
    target = LambdaWindow(length, 0.5, low=-2.0)
    expected = target(chunks, bootstrap)
    jnp = pytest.importorskip("jax.numpy")
    np.testing.assert_allclose(target(chunks.as_jax(), jnp.asarray(bootstrap)), expected, 1e-5, 1e-6)
    torch = pytest.importorskip("torch")
    converted = chunks.as_torch()
    assert converted.valid.dtype == torch.bool
    np.testing.assert_allclose(target(converted, torch.from_numpy(bootstrap)), expected, rtol=1e-6)


def test_wrong_shapes_and_numbers_are_errors():
    memory = UniformReplay(seed=0)
    memory.load_offline_dataset(make([5, 9]))
    with pytest.raises(UsageError, match="length is 0; expected a positive integer"):
        memory.sample_chunks(3, 0)
    chunks = memory.sample_chunks(3, 4)
    with pytest.raises(UsageError, match=r"bootstrap has shape \(3,\); expected \(3, 4\)"):
        LambdaWindow(4, 0.5)(chunks, np.zeros(3))
    with pytest.raises(UsageError, match=r"rewards has shape \(3, 4\); expected \(3, 5\)"):
        LambdaWindow(5, 0.5)(chunks, np.zeros((3, 5)))
    with pytest.raises(UsageError, match="lam is 2; expected a number from 0 to 1"):
        LambdaWindow(4, 2)
    with pytest.raises(UsageError, match="length is 0"):
        LambdaWindow(0, 0.5)
