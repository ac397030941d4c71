"""The carried weighted target is the lambda-return, for every array library."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind import TrajectoryReplay, UniformReplay, UsageError, WeightedTarget, target_bounds, weighted_target
from tests.helpers import lambda_return, make, ragged_lengths


def values_after(data, indices):
    """A frozen critic: the value of the state after a row, any fixed function of that row."""
    return np.sin(np.asarray(indices, dtype=np.float64) * 0.7)


def as_numpy(batch):
    return batch, lambda array: array, np.asarray


def as_torch(batch):
    torch = pytest.importorskip("torch")
    return batch.as_torch("cpu"), torch.as_tensor, lambda tensor: tensor.numpy()


def as_jax(batch):
    jnp = pytest.importorskip("jax.numpy")
    return batch.as_jax(), jnp.asarray, np.asarray


def targets_of(data, discount, beta, library, steps=25, batch_size=3, priority="uniform"):
    memory = TrajectoryReplay(priority, seed=0)
    memory.load_offline_dataset(data)
    target = WeightedTarget(discount, beta)
    for _ in range(steps):
        batch = memory.sample(batch_size)
        other, convert, back = library(batch)
        bootstrap = values_after(data, batch.indices).astype(np.float32)
        yield batch, back(target(other, convert(bootstrap)))


def expected_targets(data, discount, beta):
    """(rows,) the lambda-return with lambda = 1 - beta of every transition, over its whole trajectory."""
    result = np.full(data.rows, np.nan)
    for index, start in enumerate(data.starts):
        rows = np.arange(start, start + data.transitions[index])
        if len(rows):
            ends = data.terminated[index] and len(rows) == data.lengths[index]
            after = values_after(data, rows)
            result[rows] = lambda_return(data.rewards[rows].astype(np.float64), after, ends, discount, 1 - beta)
    return result


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@settings(deadline=None, max_examples=40)
@given(ragged_lengths(), st.sampled_from([0.0, 0.25, 0.98, 1.0]), st.sampled_from([1.0, 0.99, 0.9]))
def test_the_carried_target_is_the_lambda_return(lengths, beta, discount):
    data = make(lengths)
    expected = expected_targets(data, discount, beta)
    for batch, target in targets_of(data, discount, beta, as_numpy):
        assert np.allclose(target, expected[batch.indices], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("library", [as_torch, as_jax], ids=["torch", "jax"])
def test_torch_and_jax_give_what_numpy_gives(library):
    data = make([5, 3, 8, 2, 7])
    pairs = zip(targets_of(data, 0.99, 0.5, as_numpy), targets_of(data, 0.99, 0.5, library), strict=True)
    for (_, plain), (_, other) in pairs:
        assert other.dtype == np.float32
        assert np.allclose(plain, other, rtol=1e-6)


def test_beta_1_is_the_one_step_target():
    data = make([5, 3, 8, 2, 7])
    for batch, target in targets_of(data, 0.9, 1.0, as_numpy):
        after = values_after(data, batch.indices).astype(np.float32)
        one_step = np.where(batch.terminals, batch.rewards, batch.rewards + np.float32(0.9) * after)
        assert np.allclose(target, one_step, rtol=1e-6)


def test_beta_0_is_the_monte_carlo_return_with_the_bootstrap_at_the_tail():
    data = make([5, 3, 8, 2, 7], known=1.0)
    for batch, target in targets_of(data, 0.9, 0.0, as_numpy):
        for slot, row in enumerate(batch.indices):
            trajectory = batch.trajectories[slot]
            last = data.starts[trajectory] + data.lengths[trajectory] - 1
            value = 0.0 if data.terminated[trajectory] else values_after(data, last)
            for at in range(last, row - 1, -1):
                value = data.rewards[at] + 0.9 * value
            assert target[slot] == pytest.approx(value, rel=1e-4, abs=1e-5)


def test_the_first_row_of_a_staggered_sweep_bootstraps():
    data = make(np.full(20, 30), known=1.0)
    memory = TrajectoryReplay(stagger=True, seed=0)
    memory.load_offline_dataset(data)
    batch = memory.sample(8)
    assert not batch.tails.all()
    target = WeightedTarget(0.9, 0.0)(batch, np.ones(8, np.float32))
    assert np.allclose(target, np.where(batch.terminals, batch.rewards, batch.rewards + 0.9))


def test_uniform_batches_get_one_step_targets():
    memory = UniformReplay(seed=0)
    memory.load_offline_dataset(make([5, 3, 8], known=1.0))
    target = WeightedTarget(0.9, 0.0)
    for _ in range(3):
        batch = memory.sample(4)
        y = target(batch, np.ones(4, np.float32))
        assert np.allclose(y, np.where(batch.terminals, batch.rewards, batch.rewards + 0.9))


def test_the_pure_form_keeps_nothing():
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(make([5, 3, 8], known=1.0))
    batch = memory.sample(2)
    first, carry = weighted_target(np.zeros(2), batch, np.ones(2), discount=0.9, beta=0.5)
    again, _ = weighted_target(np.zeros(2), batch, np.ones(2), discount=0.9, beta=0.5)
    assert np.array_equal(first, again) and np.array_equal(first, carry)


def loop():
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(make(np.full(9, 6), known=1.0))
    return memory, WeightedTarget(0.99, 0.5)


def test_a_skipped_batch_is_an_error():
    memory, target = loop()
    target(memory.sample(3), np.zeros(3, np.float32))
    memory.sample(3)
    expected = r"slot 0 is at trajectory \d step 3, but its previous row was trajectory \d step 5"
    with pytest.raises(UsageError, match=expected):
        target(memory.sample(3), np.zeros(3, np.float32))


def test_a_repeated_batch_is_an_error():
    memory, target = loop()
    target(memory.sample(3), np.zeros(3, np.float32))
    batch = memory.sample(3)
    target(batch, np.zeros(3, np.float32))
    with pytest.raises(UsageError, match="skipped, repeated or shuffled"):
        target(batch, np.zeros(3, np.float32))


def test_starting_in_the_middle_is_an_error():
    memory, target = loop()
    memory.sample(3)
    with pytest.raises(UsageError, match="this is the first batch"):
        target(memory.sample(3), np.zeros(3, np.float32))


def test_a_bootstrap_of_the_wrong_shape_is_an_error():
    memory, target = loop()
    with pytest.raises(UsageError, match=r"shape \(3, 1\); expected \(3,\)"):
        target(memory.sample(3), np.zeros((3, 1), np.float32))


def test_a_bootstrap_that_is_no_array_or_of_another_library_is_an_error():
    memory, target = loop()
    batch = memory.sample(3)
    with pytest.raises(UsageError, match="bootstrap is a list; expected an array"):
        target(batch, [0.0, 0.0, 0.0])
    torch = pytest.importorskip("torch")
    with pytest.raises(UsageError, match=r"take batch.as_torch\(device\)"):
        target(batch, torch.zeros(3))


@pytest.mark.parametrize("settings", [{"low": "x"}, {"high": [1, 2]}, {"low": 1, "high": 0}])
def test_bounds_are_numbers_in_order(settings):
    with pytest.raises(UsageError, match="expected"):
        WeightedTarget(**settings)


BEYOND = [
    {"beta": 1.5},
    {"beta": "half"},
    {"discount": None},
    {"beta": -0.1},
    {"discount": 1.01},
    {"beta": float("nan")},
]


@pytest.mark.parametrize("settings", BEYOND)
def test_discount_and_beta_are_between_0_and_1(settings):
    with pytest.raises(UsageError, match="expected a number from 0 to 1"):
        WeightedTarget(**settings)


def test_a_saved_target_continues_exactly():
    memory, target = loop()
    rng = np.random.default_rng(0)
    for _ in range(4):
        target(memory.sample(3), rng.random(3).astype(np.float32))
    other = WeightedTarget(0.99, 0.5)
    other.load_state_dict(target.state_dict())
    for _ in range(9):
        batch, bootstrap = memory.sample(3), rng.random(3).astype(np.float32)
        assert np.array_equal(target(batch, bootstrap), other(batch, bootstrap))
    with pytest.raises(UsageError, match=r"beta 0.5, this target has 0.75"):
        WeightedTarget(0.99, 0.75).load_state_dict(target.state_dict())


@pytest.mark.parametrize("library", [as_numpy, as_torch, as_jax], ids=["numpy", "torch", "jax"])
@pytest.mark.parametrize(("low", "high"), [(-0.5, 0.5), (None, 0.5), (-0.5, None)])
def test_bounds_hold_for_targets_and_for_what_they_hand_on(library, low, high):
    batches = [first_rows([5, 3, 8], step) for step in range(2)]
    target = WeightedTarget(0.9, 0.5, low, high)
    carry = None
    for batch in batches:
        other, convert, back = library(batch)
        bootstrap = np.array([100.0, -100.0, 0.1], np.float32)
        y = back(target(other, convert(bootstrap)))
        free, _ = weighted_target(carry if carry is not None else bootstrap, batch, bootstrap, discount=0.9, beta=0.5)
        assert np.allclose(y, np.clip(free, low, high), rtol=1e-6) and not np.allclose(y, free)
        carry = y


def first_rows(lengths, step):
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(make(lengths))
    return [memory.sample(3) for _ in range(step + 1)][-1]


@pytest.mark.parametrize(("rewards", "expected"), [
    ([-1, 0, 0], (-10, 0)), ([2, 3], (2, 30)), ([-2, -1], (-20, -1)), ([-1, 2], (-10, 20)),
])  # fmt: skip
def test_bounds_are_found_in_the_rewards(rewards, expected):
    """Sums of any length: of one reward, or of so many that the discount forgets them."""
    low, high = target_bounds(np.array(rewards, np.float32), 0.9)
    assert (low, high) == pytest.approx(expected)
    sums = [sum(0.9**step * reward for step in range(length)) for reward in rewards for length in (1, 2, 500)]
    assert low - 1e-6 <= min(sums) and max(sums) <= high + 1e-6
    assert min(sums) == pytest.approx(low) and max(sums) == pytest.approx(high)


def test_there_are_no_bounds_without_a_discount_or_rewards():
    with pytest.raises(UsageError, match=r"discount is 1\.0; expected at least 0 and less than 1"):
        target_bounds([0.0, 1.0], 1.0)
    with pytest.raises(UsageError, match=r"discount is -0\.1"):
        target_bounds([0.0, 1.0], -0.1)
    for bad in (np.inf, np.nan):
        with pytest.raises(UsageError, match="bounds of targets are unknown"):
            target_bounds([0.0, bad], 0.9)
    with pytest.raises(UsageError, match="no rewards"):
        target_bounds(np.zeros(0), 0.9)


def test_bounds_must_leave_something_between_and_stay_as_they_were_saved():
    with pytest.raises(UsageError, match=r"low is 1\.0 and high is 0\.0"):
        WeightedTarget(low=1.0, high=0.0)
    state = WeightedTarget(low=-100.0, high=0.0).state_dict()
    WeightedTarget(low=-100.0, high=0.0).load_state_dict(state)
    with pytest.raises(UsageError, match=r"saved with low -100\.0, this target has None"):
        WeightedTarget(high=0.0).load_state_dict(state)


def test_a_state_that_is_incomplete_or_damaged_is_an_error_and_changes_nothing():
    memory, target, untouched = TrajectoryReplay(seed=0), WeightedTarget(0.9, 0.5), WeightedTarget(0.9, 0.5)
    memory.load_offline_dataset(make([5, 3, 8]))
    batch = memory.sample(3)
    for each in (target, untouched):
        each(batch, np.ones(3))
    state = target.state_dict()
    damaged = [{name: value for name, value in state.items() if name != missing} for missing in state]
    damaged += [{**state, name: state[name][:-1]} for name in ("carry", "trajectories", "timesteps")]
    damaged += [{**state, "arrays": "{"}, {**state, "carry": "abc"}, {}, None, 3, [1.0]]
    arrays = {name: np.array(state[name]) for name in ("carry", "trajectories", "timesteps")}
    damaged.append({"discount": 0.9, "beta": 0.5, "started": True, **arrays, "carry": arrays["carry"][:-1]})
    damaged.append({**state, "started": False, "beta": 0.25})
    for content in damaged:
        with pytest.raises(UsageError, match=r"nothing was loaded|expected what state_dict\(\) returned|saved with"):
            target.load_state_dict(content)
    batch = memory.sample(3)
    assert np.array_equal(target(batch, np.ones(3)), untouched(batch, np.ones(3)))


def test_the_batch_of_another_memory_is_noticed_when_its_plan_overwrote_the_previous_one():
    data = make([5, 5, 5, 5])
    one, other = TrajectoryReplay("uniform", seed=0), TrajectoryReplay("uniform", seed=1)
    one.load_offline_dataset(data)
    other.load_offline_dataset(data)
    target = WeightedTarget(beta=0.5)
    plan = one.plan(2, 3)
    before = plan.trajectories.copy()
    target(one.gather(plan, 0), np.zeros(3))
    other.plan(2, 3, into=plan)
    assert (plan.trajectories != before).any()
    with pytest.raises(UsageError, match="skipped, repeated or shuffled"):
        target(other.gather(plan, 1), np.zeros(3))


def test_gradients_do_not_reach_back_into_an_earlier_batch_in_torch():
    torch = pytest.importorskip("torch")
    memory, target = TrajectoryReplay(seed=0), WeightedTarget(0.9, 0.5)
    memory.load_offline_dataset(make([5, 3, 8]))
    value = torch.ones(3, requires_grad=True)
    for _ in range(3):  # outside no_grad; the second backward() used to find its graph freed
        target(memory.sample(3).as_torch(), 2 * value * value).sum().backward()
    assert not target._carry.requires_grad


def test_gradients_do_not_reach_back_into_an_earlier_batch_in_jax():
    jax = pytest.importorskip("jax")
    memory, target = TrajectoryReplay(seed=0), WeightedTarget(0.9, 0.5)
    memory.load_offline_dataset(make([5, 3, 8]))
    for _ in range(3):  # the tracer of the first gradient used to be carried into the second
        batch = memory.sample(3).as_jax()
        gradient = jax.grad(lambda value, batch=batch: target(batch, 2 * value).sum())(jax.numpy.ones(3))
        weight = np.where(batch.terminals, 0, np.where(batch.fresh, 1, 0.5))
        assert np.allclose(gradient, 0.9 * 2 * weight)
    assert np.isfinite(target.state_dict()["carry"]).all()


def test_a_beta_that_changes_nothing_is_warned_of():
    memory, target = UniformReplay(seed=0), WeightedTarget(beta=0.5)
    memory.load_offline_dataset(make([20] * 10))
    with pytest.warns(UserWarning, match="beta has no effect"):
        for _ in range(5):
            target(memory.sample(8), np.zeros(8))


def test_with_beta_1_batches_may_come_in_any_order_and_of_any_size():
    memory, _ = loop()
    memory.sample(3)
    target = WeightedTarget(0.99, 1.0)
    for size in (3, 3, 2):
        batch = memory.sample(size)
        y = target(batch, np.ones(size, np.float32))
        assert np.allclose(y, np.where(batch.terminals, batch.rewards, batch.rewards + 0.99))
        memory.sample(size)
        memory.reset()
