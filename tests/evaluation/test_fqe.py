"""Fitted Q evaluation finds values that are known; importance sampling and the split are what they say."""

from dataclasses import replace

import numpy as np
import pytest

from rewind.data import from_episodes
from rewind.data.split import split
from rewind.errors import DataError, UsageError
from rewind.evaluation.importance import weighted_importance_sampling
from rewind.training import View

pytest.importorskip("optax")

from rewind.evaluation.fqe import FitSettings
from rewind.evaluation.offline import evaluate_offline
from rewind.evaluation.offline_table import LOG

SETTINGS = FitSettings(steps=400, members=4, batch_size=64, hidden=(32,), rate=3e-3, target_rate=0.2)
DISCOUNT, LENGTH = 0.5, 3


def log(terminated=True, episodes=60):
    """Three steps, two actions at random; action 1 earns 1. The state is the step."""
    stream = np.random.default_rng(0)
    made = []
    for _ in range(episodes):
        actions = stream.integers(2, size=LENGTH)
        states = np.eye(LENGTH + 1, dtype=np.float32) if terminated else np.ones((LENGTH + 1, 1), np.float32)
        made.append({"observations": states, "actions": actions, "rewards": actions * 1.0, "terminated": terminated})
    return from_episodes(made)


POLICIES = {"earns": lambda s: np.ones(len(s), int), "idles": lambda s: np.zeros(len(s), int)}


@pytest.mark.parametrize("order", ["uniform", "tr"])
@pytest.mark.filterwarnings("ignore:.*slots but only")
def test_values_end_at_a_terminal_and_are_ranked_and_paired(order):
    result = evaluate_offline(log(), POLICIES, DISCOUNT, replace(SETTINGS, order=order))
    assert result.estimate("earns").value == pytest.approx(1.75, abs=0.08)
    assert result.estimate("idles").value == pytest.approx(0.0, abs=0.08)
    assert result.ranked() == ["earns", "idles"] and result.tied("earns") and not result.tied("idles")
    # The log's own policy is worth what the log earned.
    own, earned = result.estimate(LOG).value, result.monte_carlo.value
    assert own == pytest.approx(earned, abs=0.1) and result.cut == 0
    gain = result.difference("earns", "idles")
    assert gain.value == pytest.approx(result.estimate("earns").value - result.estimate("idles").value)
    assert gain.low > 1.0 and result.difference("idles").high < 0.0


def test_no_interval_goes_beyond_what_the_rewards_allow():
    result = evaluate_offline(log(), POLICIES, DISCOUNT, replace(SETTINGS, steps=8))
    low, high = result.possible
    assert (low, high) == (0.0, 2.0)  # rewards of 0 and 1 for ever
    whole = [bound for name in POLICIES for bound in result._whole(name)]
    assert min(whole) < low, "or nothing was clipped"
    assert all(low <= bound <= high for name in POLICIES for bound in result.estimate(name))


def test_values_go_on_after_a_time_out():
    result = evaluate_offline(log(terminated=False), POLICIES, DISCOUNT, SETTINGS)
    assert result.estimate("earns").value == pytest.approx(1 / (1 - DISCOUNT), abs=0.08)
    assert result.cut == 60 and result.monte_carlo.value < 1.3  # a sum up to the time-out


def test_a_longer_fit_has_less_left_to_move():
    short, long = (evaluate_offline(log(), POLICIES, DISCOUNT, replace(SETTINGS, steps=steps)) for steps in (40, 400))
    for fit in (short, long):
        assert (np.abs(fit.left) <= 19 * np.abs(fit.drift)).all() and (fit.left * fit.drift >= 0).all()
    assert abs(short.left[1]) > 0.01 > abs(long.left[1])


def test_what_cannot_be_evaluated_is_one_line():
    with pytest.raises(UsageError, match="expected one policy or more"):
        evaluate_offline(log(), {}, DISCOUNT)
    with pytest.raises(UsageError, match="discount is 1"):
        evaluate_offline(log(), POLICIES, 1.0)
    with pytest.raises(UsageError, match="evaluate them apart"):
        evaluate_offline(log(), {**POLICIES, "continuous": lambda s: s}, DISCOUNT)
    with pytest.raises(UsageError, match="order is 'back'"):
        FitSettings(order="back")
    with pytest.raises(UsageError, match=r"beta is 0\.5"):
        FitSettings(beta=0.5)


def test_importance_sampling_weighs_trajectories_by_what_the_policy_would_do():
    data = log()
    half = np.full(data.rows, np.log(0.5))
    same = weighted_importance_sampling(data, half, half, DISCOUNT)
    returns = (data.rewards.reshape(-1, LENGTH) * DISCOUNT ** np.arange(LENGTH)).sum(1)
    assert same.estimate.value == pytest.approx(returns.mean()) and same.effective == pytest.approx(60)
    assert same.estimate.low < returns.mean() < same.estimate.high
    earns = np.where(data.actions == 1, 0.0, -np.inf)
    other = weighted_importance_sampling(data, half, earns, DISCOUNT)
    assert other.estimate.value == pytest.approx(1.75)
    assert other.effective == pytest.approx((data.rewards.reshape(-1, LENGTH).sum(1) == LENGTH).sum())
    never = weighted_importance_sampling(data, half, np.full(data.rows, -np.inf), DISCOUNT)
    assert np.isnan(never.estimate).all() and never.effective == 0.0
    with pytest.raises(UsageError, match="never does"):
        weighted_importance_sampling(data, earns, half, DISCOUNT)


def test_a_split_is_seeded_disjoint_and_leaves_something_on_both_sides():
    train, held = split(20, 0.25, seed=3)
    assert len(held) == 5 and sorted([*train, *held]) == list(range(20))
    np.testing.assert_array_equal(held, split(20, 0.25, seed=3)[1])
    assert not np.array_equal(held, split(20, 0.25, seed=4)[1])
    assert len(split(2, 0.9)[0]) == len(split(2, 0.01)[1]) == 1
    with pytest.raises(DataError, match="cannot be split"):
        split(1, 0.5)
    with pytest.raises(UsageError, match="hold_out is 1"):
        View(hold_out=1.0)


def test_held_out_rewards_are_transformed_as_in_training():
    data = log().map_rewards(lambda rewards: rewards + np.arange(len(rewards), dtype=np.float32), "apart")
    view = View(rewards="return_range", hold_out=0.5)
    trained, held = view.apply(data), view.held_out(data)
    assert len(trained) + len(held) == len(data)
    raw = data.select(split(len(data), 0.5)[0]).returns
    spread = 1000 / (raw.max() - raw.min())
    np.testing.assert_allclose(held.rewards, data.select(split(len(data), 0.5)[1]).rewards * spread, rtol=1e-5)
    assert trained.returns.max() - trained.returns.min() == pytest.approx(1000, rel=1e-4)
