"""The motivating example: what the paper says of it, and what is certain by arithmetic."""

import json

import numpy as np
import pytest

from rewind import PrioritizedReplay, TrajectoryReplay, UniformReplay
from rewind.cli.sweeps import Sweeps
from rewind.cli.toy import Toy, figures, finding
from rewind.demos.sweeps_plot import example
from rewind.demos.toy import DISCOUNT, REWARDS, SAMPLERS, learn, oracle, trajectories
from rewind.errors import UsageError

SEEDS = 200


@pytest.fixture(scope="module")
def result():
    return learn(seeds=SEEDS, updates=400)


def mean_needed(result, rewards):
    return {name: curve.needed.mean() for name, curve in result.curves[rewards].items()}


@pytest.mark.parametrize("rewards", REWARDS)
def test_three_trajectories_start_at_s0_and_return_4_8_4(rewards):
    data = trajectories(rewards)
    assert data.returns.tolist() == [4, 8, 4]
    assert data.lengths[1] == 6
    assert data.observations.dtype.kind == "i"
    assert data.observations[data.starts].tolist() == [0, 0, 0]
    assert data.terminated.all()
    visited = np.concatenate([data.observations[data.observations > 0], data.final_observations])
    assert len(set(visited.tolist())) == len(visited)  # the trajectories meet nowhere else


def test_sparse_rewards_come_with_the_last_step_alone():
    data = trajectories("sparse")
    assert np.flatnonzero(data.rewards).tolist() == (data.starts + data.lengths - 1).tolist()


@pytest.mark.parametrize(("rewards", "value"), [("dense", 7.76), ("sparse", 7.61)])
def test_oracle_is_the_papers_value_and_the_best_discounted_return(rewards, value):
    assert round(oracle(trajectories(rewards)), 2) == value
    discounted = [sum(DISCOUNT**t * r for t, r in enumerate(steps)) for steps in REWARDS[rewards]]
    assert oracle(trajectories(rewards)) == pytest.approx(max(discounted), abs=1e-12)


def test_samplers_are_the_librarys_own():
    kinds = {name: type(make(0)) for name, make in SAMPLERS.items()}
    assert kinds == {
        "uni_state": UniformReplay,
        "prio_state": PrioritizedReplay,
        "uni_traj": TrajectoryReplay,
        "prio_traj": TrajectoryReplay,
    }
    assert SAMPLERS["uni_traj"](0).priority == "uniform"
    assert SAMPLERS["prio_traj"](0).priority == "return"


@pytest.mark.parametrize("rewards", REWARDS)
def test_values_climb_to_the_oracle_and_never_beyond(result, rewards):
    for curve in result.curves[rewards].values():
        assert (np.diff(curve.values, axis=0) >= -1e-12).all()
        assert (curve.values <= curve.oracle + 1e-12).all()
        assert curve.values[-1] == pytest.approx(curve.oracle)


@pytest.mark.parametrize("rewards", REWARDS)
def test_sampling_along_trajectories_needs_fewer_updates_and_by_return_fewer_still(result, rewards):
    needed = mean_needed(result, rewards)
    assert needed["prio_traj"] < needed["uni_traj"] < needed["uni_state"]
    assert needed["uni_traj"] < needed["prio_state"]


@pytest.mark.parametrize("rewards", REWARDS)
def test_prioritising_transitions_helps_little(result, rewards):
    needed = mean_needed(result, rewards)
    assert needed["prio_state"] == pytest.approx(needed["uni_state"], rel=0.15)


def test_the_lead_of_trajectories_is_larger_on_sparse_rewards(result):
    lead = {
        rewards: (curves["uni_traj"].values.mean() - curves["uni_state"].values.mean()) / curves["uni_traj"].oracle
        for rewards, curves in result.curves.items()
    }
    assert lead["sparse"] > 1.2 * lead["dense"]


@pytest.mark.parametrize(
    ("sampler", "expected"),
    [
        ("uni_state", 6 * 18),  # six of the 18 transitions, each waited for after the one behind it
        ("uni_traj", 6 * 3),  # sweeps of six until the best of three is drawn
        ("prio_traj", 6 * 1.8),  # eq. 5 with ranks 2.5, 1, 2.5: it is drawn with probability 1 / (1 + 2 / 2.5)
    ],
)
def test_learning_rate_1_needs_as_many_updates_as_arithmetic_says(result, sampler, expected):
    needed = result.curves["sparse"][sampler].needed
    assert needed.mean() == pytest.approx(expected, abs=4 * needed.std() / np.sqrt(SEEDS))


def test_a_small_learning_rate_leaves_little_of_the_lead_of_trajectories():
    """Not in the paper: with learning rate 0.2 the order matters less, and prio_state overtakes uni_traj."""
    needed = mean_needed(learn(seeds=30, updates=1500, learning_rate=0.2), "sparse")
    assert needed["prio_traj"] < needed["prio_state"] < needed["uni_traj"] < needed["uni_state"]
    assert needed["uni_state"] < 1.3 * needed["uni_traj"]


def test_same_seed_same_curves():
    runs = [learn(seeds=3, updates=200, seed=seed) for seed in (7, 7, 8)]
    for rewards in REWARDS:
        for name in SAMPLERS:
            same, again, other = (run.curves[rewards][name].values for run in runs)
            assert np.array_equal(same, again)
            assert not np.array_equal(same, other)


def test_a_run_that_does_not_get_there_is_counted_and_said():
    result = learn(seeds=4, updates=5)  # the best trajectory has six steps
    needed = figures(result)["rewards"]["sparse"]["samplers"]["uni_traj"]["updates_needed"]
    assert needed == {"mean": None, "std": None, "median": None, "reached": 0, "per_seed": [None] * 4}
    assert "Not every run" in finding(result)


def test_no_updates_are_not_the_usual_number():
    with pytest.raises(UsageError, match="0 updates"):
        Toy(updates=0, plots=False).run()


@pytest.mark.parametrize("wrong", [{"seeds": 0}, {"updates": 0}, {"learning_rate": 0.0}, {"learning_rate": 1.5}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(UsageError, match="expected"):
        learn(**wrong)


def test_command_writes_pictures_and_figures_with_stable_keys(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    Toy(seeds=3, updates=250, out=tmp_path / "toy", json=tmp_path / "toy.json").run()
    names = {f"toy_{what}.{kind}" for what in ("dense", "sparse", "trajectories") for kind in ("png", "svg")}
    assert {path.name for path in (tmp_path / "toy").iterdir()} == names
    written = json.loads((tmp_path / "toy.json").read_text())
    assert list(written) == ["discount", "learning_rate", "updates", "seeds", "seed", "share_of_oracle", "rewards"]
    assert list(written["rewards"]) == ["dense", "sparse"]
    assert list(written["rewards"]["dense"]) == ["oracle", "trajectories", "samplers"]
    assert list(written["rewards"]["dense"]["samplers"]) == list(SAMPLERS)
    entry = written["rewards"]["sparse"]["samplers"]["prio_state"]
    assert list(entry) == ["updates_needed", "final", "curve"]
    assert list(entry["updates_needed"]) == ["mean", "std", "median", "reached", "per_seed"]
    assert len(entry["curve"]["mean"]) == len(entry["curve"]["std"]) == 250
    printed = capsys.readouterr().out
    assert all(name in printed for name in SAMPLERS)


def test_sweeps_command_draws_a_real_plan(tmp_path):
    pytest.importorskip("matplotlib")
    Sweeps(out=tmp_path).run()
    assert {path.name for path in tmp_path.iterdir()} == {"sweeps.png", "sweeps.svg"}
    assert "if only A's rows are drawn" in (tmp_path / "sweeps.svg").read_text(encoding="utf-8")
    assert len(set(example().returns)) == len(example())  # so that a priority by return has no ties


def test_sweeps_command_refuses_a_priority_that_needs_learning(tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(UsageError, match="uncertainty"):
        Sweeps(out=tmp_path, priority="lower_uqm_unc").run()
