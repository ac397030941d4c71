"""Diagnostics without a simulator are what their formulas say."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from rewind.data import Trajectories
from rewind.errors import UsageError
from rewind.evaluation.diagnose import counted_rows, diagnose, monte_carlo
from rewind.evaluation.results import diagnostics_table

DISCOUNT = 0.9


def data(terminated=(True, True), lengths=(3, 4), rewards=None):
    rows = sum(lengths)
    stream = np.random.default_rng(0)
    return Trajectories(
        observations=stream.normal(size=(rows, 2)),
        actions=stream.normal(size=(rows, 1)),
        rewards=np.arange(1.0, rows + 1) if rewards is None else rewards,
        lengths=np.array(lengths),
        terminated=np.array(terminated),
        final_observations=stream.normal(size=(len(lengths), 2)),
        final_known=np.ones(len(lengths), bool),
    )


def test_monte_carlo_returns_are_discounted_sums():
    returns = monte_carlo(data(), DISCOUNT)
    np.testing.assert_allclose(returns[:3], [1 + 0.9 * 2 + 0.81 * 3, 2 + 0.9 * 3, 3])
    np.testing.assert_allclose(returns[3], 4 + 0.9 * 5 + 0.81 * 6 + 0.729 * 7)


def test_a_time_out_leaves_returns_only_where_it_does_not_show():
    returns = monte_carlo(data((False,), (100,), np.ones(100)), DISCOUNT)
    known = np.isfinite(returns)
    np.testing.assert_array_equal(known, DISCOUNT ** (100 - np.arange(100)) <= 0.01)
    np.testing.assert_allclose(returns[known], 10, rtol=0.011)


def merged(terminated):
    """One trajectory that went on after two terminals, as the ants that stay at their goal."""
    inner = np.zeros(6, bool)
    inner[[2, 3]] = True
    return replace(data((terminated,), (6,)), inner_terminals=inner)


def test_returns_end_at_a_terminal_inside_a_trajectory():
    returns = monte_carlo(merged(True), DISCOUNT)
    np.testing.assert_allclose(returns, [1 + 0.9 * 2 + 0.81 * 3, 2 + 0.9 * 3, 3, 4, 5 + 0.9 * 6, 6])
    cut = monte_carlo(merged(False), DISCOUNT)
    np.testing.assert_allclose(cut[:4], returns[:4])
    assert np.isnan(cut[4:]).all()  # only what follows the last terminal was cut by the time-out


def test_td_errors_do_not_look_past_a_terminal_inside_a_trajectory():
    sets = merged(True)
    result = diagnose(lambda s, a: np.full(len(s), 100.0), lambda s: np.zeros((len(s), 1)), sets, DISCOUNT)
    targets = sets.rewards + DISCOUNT * np.array([100, 100, 0, 0, 100, 0])
    assert result.td_bias == pytest.approx((targets - 100).mean())
    assert result.td_error == pytest.approx(np.abs(targets - 100).mean())


def test_a_perfect_critic_of_the_datas_own_policy_has_no_error():
    sets = data()
    returns = monte_carlo(sets, DISCOUNT)
    table = {tuple(row): value for row, value in zip(sets.observations, returns, strict=True)}
    moves = {tuple(row): action for row, action in zip(sets.observations, sets.actions, strict=True)}

    def q(observations, actions):
        return np.array([table.get(tuple(row), 0.0) for row in observations])

    def act(observations):
        return np.array([moves.get(tuple(row), np.zeros(1)) for row in observations])

    result = diagnose(q, act, sets, DISCOUNT)
    assert result.rows == result.value_rows == result.terminal_rows == 7
    assert result.td_error == pytest.approx(0, abs=1e-6)
    assert result.value_correlation == pytest.approx(1)
    assert result.value_bias == pytest.approx(0, abs=1e-6)
    assert result.action_distance == 0


def test_errors_have_their_signs():
    sets = data()
    result = diagnose(lambda s, a: np.full(len(s), 100.0), lambda s: np.zeros((len(s), 1)), sets, DISCOUNT)
    returns = monte_carlo(sets, DISCOUNT)
    assert result.value_bias == pytest.approx(100 - returns.mean())
    assert np.isnan(result.value_correlation)
    assert result.td_bias < 0
    assert result.action_distance == pytest.approx(np.abs(sets.actions).mean())


def test_a_q_that_no_rewards_add_up_to_is_counted_by_rows():
    sets = data()  # rewards from 1 to 7 add up to between 1 and 70

    def found(values, discount=DISCOUNT, **more):
        return diagnose(lambda s, a: np.resize(values, len(s)), lambda s: s[:, :1], sets, discount, **more).impossible

    assert found([1.0, 70.0, 73.0, -2.0, 30.0, 30.0, 30.0]) == 0  # a twentieth of the range is error
    assert found([1.0, 70.0, 74.0, -3.0, 30.0, 30.0, 30.0]) == pytest.approx(2 / 7)
    assert found([1.0, 70.0, 74.0, np.nan, 30.0, 30.0, 30.0]) == pytest.approx(2 / 7)
    assert found([1.0, 70.0, 74.0, -3.0, 30.0, 30.0, 30.0], possible=(-10.0, 100.0)) == 0
    assert np.isnan(found([1e9], discount=1.0)) and np.isnan(found([np.nan]))
    assert np.isnan(found([1e9], possible=(-np.inf, np.inf)))


def test_without_any_return_the_value_figures_are_nan():
    sets = data((False, False))
    result = diagnose(lambda s, a: s[:, 0], lambda s: s[:, :1], sets, DISCOUNT)
    assert result.value_rows == 0
    assert np.isnan(result.value_bias)
    assert np.isfinite(result.td_error)


def test_the_value_figures_say_how_many_rows_they_rest_on_and_how_these_end():
    sets = data((True, False), (10, 60))  # of the second, 0.9 ** 44 is below a hundredth
    result = diagnose(lambda s, a: s[:, 0], lambda s: s[:, :1], sets, DISCOUNT)
    assert (result.rows, result.value_rows, result.terminal_rows) == (70, 10 + 60 - 43, 10)
    told = "the value figures rest on 27 of 70 rows: 10 before a terminal, 17 long before a time-out"
    assert counted_rows(asdict(result)) == told and counted_rows({"td_error": 1.0}) == ""
    row = {"variant": "tr", "seeds": 1, "broken": 0, **asdict(result)}
    assert f"\n{told};\n" in diagnostics_table([row]) and "\n\n" not in diagnostics_table(
        [{**row, "terminal_rows": None}]
    )


def test_a_sample_of_rows_is_decided_by_its_seed():
    sets = data((True,), (500,))
    first, again, other = (
        diagnose(lambda s, a: s[:, 0], lambda s: s[:, :1], sets, rows=50, seed=seed) for seed in (0, 0, 1)
    )
    assert first == again != other
    assert first.rows == 50


def test_a_critic_of_the_wrong_shape_is_refused():
    with pytest.raises(UsageError, match=r"q gave shape \(7, 2\) for 7 rows"):
        diagnose(lambda s, a: s, lambda s: s[:, :1], data())
