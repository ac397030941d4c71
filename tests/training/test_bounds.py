"""Targets bounded by what the rewards of the data, as the runs see them, can add up to."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("equinox")

from rewind import UsageError
from rewind.data import save_npz
from rewind.evaluation.scoring import diagnosed
from rewind.targets import excess
from rewind.training import View, bound_targets, make_runs, train
from tests.training.small import DATA, QUIET, SMALL


def bounds(run):
    return [float(run.agent.target_low), float(run.agent.target_high)]


def test_bounds_are_of_the_rewards_that_a_run_sees():
    data = replace(DATA, rewards=np.linspace(-2, 3, DATA.rows).astype(np.float32))
    (raw,) = bound_targets(make_runs(data, "td3_bc", **SMALL), data)
    (less,) = bound_targets(make_runs(data, "td3_bc", view=View(rewards="minus_one"), discount=0.9, **SMALL), data)
    (kept,) = bound_targets(make_runs(data, "td3_bc", target_high=7.0, **SMALL), data)
    assert bounds(raw) == pytest.approx([-200, 300]) and bounds(less) == pytest.approx([-30, 20])
    assert bounds(kept) == pytest.approx([-200, 7])
    other = replace(data, rewards=data.rewards / 2)
    own = bound_targets([replace(raw, data=other, agent=make_runs(data, "td3_bc", **SMALL)[0].agent), kept], data)
    assert bounds(own[0]) == pytest.approx([-100, 150]) and bounds(own[1]) == bounds(kept)


def test_data_is_what_load_takes(tmp_path):
    path = tmp_path / "data.npz"
    save_npz(DATA, path)
    assert bounds(bound_targets(make_runs(DATA, "td3_bc", **SMALL), path)[0]) == pytest.approx(
        bounds(bound_targets(make_runs(DATA, "td3_bc", **SMALL), DATA)[0])
    )


def test_what_is_beyond_is_measured_in_what_is_possible():
    np.testing.assert_allclose(
        excess(np.array([-10, 0, 30, 50, -14, np.nan]), -10.0, 30.0), [0, 0, 0, 0.5, 0.1, np.nan]
    )
    assert np.isnan(excess(3, 0.0, 0.0)) and np.isnan(excess(1e9, -np.inf, np.inf))
    trained = train(DATA, make_runs(DATA, "td3_bc", **SMALL), steps=20, log_every=20, **QUIET)
    assert trained[0].records[-1]["q_excess"] == 0.0


def test_rewards_of_one_sign_still_let_an_episode_end():
    """What has ended has a value of one reward, which is more than the sum of all."""
    cold = replace(DATA, rewards=np.full(DATA.rows, -1, np.float32))
    assert bounds(bound_targets(make_runs(cold, "td3_bc", **SMALL), cold)[0]) == pytest.approx([-100, -1])


@pytest.mark.parametrize("algorithm", ["td3_bc", "iql"])
def test_bounds_that_change_nothing_change_nothing(algorithm):
    free = make_runs(DATA, algorithm, **SMALL)
    first, second = (
        train(DATA, runs, steps=40, log_every=20, **QUIET)[0] for runs in (free, bound_targets(free, DATA))
    )
    assert first.records[-1]["q"] == second.records[-1]["q"]


@pytest.mark.parametrize("algorithm, settings, said", [
    ("edac", {}, "targets of EDAC cannot be bounded; those of discrete_iql, dqn, iql, rebrac, td3_bc can"),
    ("td3_bc", {"discount": 1.0}, "a discount of 1 bounds nothing; set target_low and target_high yourself"),
    ("td3_bc", {"target_low": 1e6}, "targets cannot be at least 1e\\+06 and at most"),
])  # fmt: skip
def test_what_has_no_bounds_is_refused(algorithm, settings, said):
    with pytest.raises(UsageError, match=said):
        bound_targets(make_runs(DATA, algorithm, **SMALL, **settings), DATA)


@pytest.mark.parametrize("algorithm, known", [("td3_bc", True), ("edac", False), ("bc", False)])
def test_the_share_of_impossible_rows_is_known_where_q_has_a_range(algorithm, known):
    (result,) = train(DATA, make_runs(DATA, algorithm, **SMALL), diagnosed, steps=4, **QUIET)
    share = result.records[-1]["impossible"]
    assert share == 0.0 if known else share is None
