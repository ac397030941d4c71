"""Controls: the rows of a sweep in another order, and values that become probabilities in another way."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind import DataError, TrajectoryReplay, UsageError, WeightedTarget
from rewind.memory.ranks import Weighting
from tests.helpers import make, ragged_lengths

pytestmark = pytest.mark.filterwarnings("ignore:.*played by several slots")
STEPS = 40


def memory_on(data, **settings):
    memory = TrajectoryReplay(**{"seed": 3, **settings})
    memory.load_offline_dataset(data)
    return memory


def sweeps(plan, slot):
    """The rows of each sweep of a slot; the last one may not have ended."""
    return np.split(plan.indices[:, slot], np.flatnonzero(plan.fresh[:, slot])[1:])


@settings(deadline=None, max_examples=30)
@given(ragged_lengths(), st.integers(1, 6), st.booleans(), st.sampled_from(["return", "uniform", "advantage"]))
def test_other_orders_play_the_same_rows_in_the_same_slots(lengths, batch_size, stagger, priority):
    data = make(lengths)
    plans = {
        order: memory_on(data, priority=priority, order=order, stagger=stagger).plan(STEPS, batch_size)
        for order in ("backward", "forward", "shuffled")
    }
    backward = plans["backward"]
    for order, plan in plans.items():
        assert np.array_equal(plan.trajectories, backward.trajectories) and np.array_equal(plan.fresh, backward.fresh)
        for slot in range(batch_size):
            for rows, same in list(zip(sweeps(plan, slot), sweeps(backward, slot), strict=True))[:-1]:
                assert sorted(rows) == sorted(same)
                assert order != "forward" or list(rows) == sorted(same)


@pytest.mark.parametrize("order", ["forward", "shuffled"])
def test_ends_are_right_wherever_they_come(order):
    data = make([5, 1, 8, 3], known=1.0)
    memory = memory_on(data, order=order)
    ends = 0
    for _ in range(30):
        batch = memory.sample(3)
        at = batch.trajectories
        np.testing.assert_array_equal(batch.tails, batch.timesteps == data.transitions[at] - 1)
        np.testing.assert_array_equal(batch.terminals, batch.tails & data.terminated[at])
        for slot in range(3):
            row = batch.indices[slot]
            after = data.final_observations[at[slot]] if batch.tails[slot] else data.observations[row + 1]
            np.testing.assert_array_equal(batch.next_observations[slot], after)
        ends += batch.tails.sum()
    assert ends > 5


def test_a_shuffle_gives_every_row_every_place_and_differs_from_seed_to_seed():
    data, places = make(np.full(40, 7), terminated=1.0), np.zeros((7, 7))
    for seed in range(40):
        plan = memory_on(data, order="shuffled", seed=seed).plan(35, 10)
        steps = plan.indices - data.starts[plan.trajectories]
        np.add.at(places, (np.tile(np.arange(35) % 7, (10, 1)).T, steps), 1)
    assert places.sum() == 40 * 350
    np.testing.assert_allclose(places / places.sum(1), 1 / 7, atol=0.025)  # 2000 each: five standard errors
    first, second = (memory_on(make([50]), order="shuffled", seed=seed).plan(49, 1).indices for seed in (0, 1))
    assert sorted(first) == sorted(second) and not np.array_equal(first, second)


@pytest.mark.parametrize("order", ["forward", "shuffled"])
def test_a_plan_of_many_equals_many_plans_of_one(order):
    one, many = (memory_on(make([5, 9, 3, 8]), order=order, stagger=True) for _ in range(2))
    together = many.plan(30, 3)
    for step in range(30):
        assert np.array_equal(one.sample(3).indices, together.indices[step])


@pytest.mark.parametrize("order", ["forward", "shuffled"])
def test_a_target_is_carried_backward_only(order):
    memory, one_step, weighted = memory_on(make([9] * 6), order=order), WeightedTarget(0.9), WeightedTarget(0.9, 0.5)
    batches = [memory.sample(3) for _ in range(9)]
    for batch in batches:
        expected = np.where(batch.terminals, batch.rewards, batch.rewards + 0.9)
        np.testing.assert_allclose(one_step(batch, np.ones(3, np.float32)), expected, rtol=1e-6)
    with pytest.raises(UsageError, match="of a memory that plays backward"):
        [weighted(batch, np.ones(3, np.float32)) for batch in batches]


def test_what_follows_backward_sweeps_has_no_other_order():
    with pytest.raises(UsageError, match="order 'forward' cannot have it"):
        memory_on(make([5, 5]), priority="lower_uqm_unc", order="forward")
    with pytest.raises(UsageError, match="order 'sideways'"):
        TrajectoryReplay(order="sideways")


# Weightings

VALUES = np.array([-3.0, 5.0, 1.0, 5.0, 0.0])
PLACES = (VALUES + 3) / 8


@pytest.mark.parametrize(("settings", "weights"), [
    ({"weighting": "softmax", "temperature": 0.1}, np.exp(PLACES / 0.1)),
    ({"weighting": "proportional"}, PLACES + 1 / 5),
    ({"weighting": "proportional", "temperature": 0.5}, (PLACES + 1 / 5) ** 2),
    ({"alpha": 2.0}, 1 / np.array([5, 1.5, 3, 1.5, 4]) ** 2),
])  # fmt: skip
def test_values_become_probabilities(settings, weights):
    memory = memory_on(make(np.full(5, 4)), priority=VALUES, **settings)
    np.testing.assert_allclose(memory.probabilities(), weights / weights.sum(), rtol=1e-12)


@pytest.mark.parametrize("weighting", ["softmax", "proportional"])
def test_equal_values_are_drawn_alike_and_unknown_ones_count_as_the_best(weighting):
    np.testing.assert_allclose(np.diff(Weighting(weighting).weights(np.full(4, 7.0))[0]), 0)
    known, unknown = (Weighting(weighting).weights(np.array([1.0, 3.0, best]))[0] for best in (3.0, np.inf))
    np.testing.assert_array_equal(known, unknown)
    assert np.ptp(Weighting(weighting).weights(np.full(3, np.inf))[0]) == 0


@pytest.mark.parametrize(("settings", "said"), [
    ({"weighting": "softmax", "alpha": 2.0}, "weighting 'softmax' has no alpha"),
    ({"temperature": 2.0}, "weighting 'rank' has no temperature"),
    ({"weighting": "softmax", "temperature": 0.0}, "temperature is 0.0; expected a number greater than 0"),
    ({"weighting": "softmax", "temperature": 1e-4}, "temperature 0.0001 is too small"),
    ({"weighting": "proportional", "temperature": 1e-3}, "temperature 0.001 is too small"),
    ({"weighting": "best"}, "weighting 'best'"),
])  # fmt: skip
def test_what_a_weighting_cannot_be(settings, said):
    with pytest.raises(UsageError, match=said):
        memory_on(make(np.full(5, 4)), priority=VALUES, **settings)


# The advantage


def test_the_advantage_is_the_return_less_what_the_first_state_predicts():
    data = make(np.full(30, 4), known=1.0)
    first = data.observations[data.starts].astype(np.float64)
    slope = np.array([2.0, -1.0, 0.5])
    gained = np.random.default_rng(1).standard_normal(30)
    rewards = data.rewards.copy()
    rewards[data.starts] += (first @ slope + 7 + gained) - data.returns  # so that returns are these
    memory = memory_on(make(np.full(30, 4), known=1.0, rewards=rewards), priority="advantage")
    residual = gained - (design := np.column_stack([first, np.ones(30)])) @ np.linalg.lstsq(design, gained)[0]
    np.testing.assert_allclose(memory._values, residual, atol=1e-4)
    with pytest.raises(UsageError, match="compares all trajectories"):
        memory.add(make([3]))


def test_one_trajectory_has_no_advantage_over_itself():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert memory_on(make([5]), priority="advantage")._values[0] == 0.0
        few = memory_on(make([5, 6, 7]), priority="advantage")  # an exact fit: what is left is rounding, and all tie
        assert few._values.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(DataError):
        memory_on(make([5, 6]), priority=[1.0])
