"""Adroit's sets: from the published experts, where they and the simulator are there, and from policies of our own."""

from pathlib import Path

import numpy as np
import pytest

from rewind.data import from_episodes, load
from rewind.data.catalogue import catalogue
from rewind.errors import UsageError
from rewind.rebuilt import build as building
from rewind.rebuilt.build import build, load_rebuilt, read_built
from rewind.rebuilt.orders import POLICIES, PartOrder, make_order
from rewind.rebuilt.policy import load_behaviour
from rewind.rebuilt.recipes import find_recipe
from tests.rebuilt.policies import shorten

SHARED = Path(__file__).parents[3] / "shared" / "data"
SLOWER = ("door", "hammer", "relocate")
# Mean returns of 100 episodes, as published with the policies, and how far the mean of a few may be from them.
RETURNS = {"pen": (3122, 900), "door": (2941, 250), "hammer": (13691, 3500), "relocate": (4464, 500)}


DEMONSTRATIONS = {"pen": 5000, "door": 6729, "hammer": 11310, "relocate": 9942}  # rows of D4RL's human sets


@pytest.mark.parametrize("task", RETURNS)
def test_the_shipped_policies_fit_their_task_and_name_their_source(task):
    for name in ("expert", "demonstrator", "clone"):
        policy = load_behaviour(POLICIES / "adroit" / f"{task}-{name}.npz")
        assert (policy.observation_size, policy.action_size) == catalogue()[f"{task}-expert-v1"].sizes
        assert "Apache-2.0" in policy.meta["source"]


@pytest.mark.parametrize("task", RETURNS)
def test_sets_have_the_shape_of_d4rls(task):
    """25 demonstrations; the cloned set is half of them, repeated, and half 2,500 episodes: D4RL's number in all."""
    demos, cloned = find_recipe(f"rewind/{task}-demos-v0"), find_recipe(f"rewind/{task}-cloned-v0")
    assert demos.size == 25 * demos.horizon == pytest.approx(DEMONSTRATIONS[task], rel=0.002)
    episodes = cloned.size / 2 / demos.horizon + cloned.size / 2 / cloned.horizon
    assert episodes == pytest.approx(catalogue()[f"{task}-cloned-v1"].episodes, rel=0.002)


@pytest.mark.parametrize("task", RETURNS)
def test_only_expert_v0_needs_a_policy_and_its_errors_name_the_set_that_needs_none(task, tmp_path, monkeypatch):
    monkeypatch.setenv("REWIND_DATA", str(tmp_path))
    for make in (make_order, load_rebuilt):
        with pytest.raises(UsageError, match=f"--policy FILE.* rewind/{task}-expert-v1"):
            make(f"rewind/{task}-expert-v0")
    for kind in ("expert-v1", "demos-v0", "cloned-v0"):
        assert make_order(f"rewind/{task}-{kind}").parts


def test_a_data_set_that_is_repeated_belongs_to_the_order(monkeypatch):
    first, other = (make_order("rewind/pen-cloned-v0", seed=seed).parts for seed in (0, 1))
    assert [part.name for part in first] == ["rewind/pen-demos-v0", "adroit/pen-clone"]
    assert first[0].digest == make_order("rewind/pen-demos-v0").key != other[0].digest
    shorten(monkeypatch, "rewind/pen-demos-v0", horizon=150)
    assert make_order("rewind/pen-cloned-v0").parts[0].digest != first[0].digest


def test_a_set_repeats_the_episodes_of_another(monkeypatch):
    once = from_episodes([{"observations": np.arange(n + 1.0)[:, None], "actions": np.zeros((n, 1)),
                           "rewards": np.arange(n), "terminated": False} for n in (3, 2)])  # fmt: skip
    monkeypatch.setattr(building, "build", lambda name, seed: (name, seed))
    monkeypatch.setattr(building, "read_built", {("rewind/pen-demos-v0", 7): once}.get)
    episodes = building._repeated(PartOrder("rewind/pen-demos-v0", None, "", 9), 7)
    np.testing.assert_array_equal(episodes.lengths, [3, 2, 3, 1])
    np.testing.assert_array_equal(episodes.observations[:, 0], [0, 1, 2, 0, 1, 0, 1, 2, 0])
    np.testing.assert_array_equal(episodes.finals[:, 0], [3, 2, 3, 1])


@pytest.mark.long
@pytest.mark.parametrize("task", RETURNS)
def test_the_shipped_experts_are_nearly_as_good_as_those_they_were_cloned_from(task, tmp_path, monkeypatch):
    pytest.importorskip("gymnasium_robotics")
    monkeypatch.setenv("REWIND_DATA", str(tmp_path))
    mean, spread = RETURNS[task]
    data = read_built(build(f"rewind/{task}-expert-v1", size=16 * catalogue()[f"{task}-expert-v1"].horizon))
    assert abs(data.returns.mean() - mean) < 1.5 * spread


@pytest.mark.parametrize("task", ["pen", *(pytest.param(task, marks=pytest.mark.long) for task in SLOWER)])
def test_an_expert_is_as_good_as_published_at_any_number_of_processes(task, tmp_path, monkeypatch):
    pytest.importorskip("gymnasium_robotics")
    policy = SHARED / f"adroit-{task}-expert-policy.npz"
    if not policy.is_file():
        pytest.skip("the shared data is not here")
    monkeypatch.setenv("REWIND_DATA", str(tmp_path))
    name = f"rewind/{task}-expert-v0"
    horizon = 100 if task == "pen" else 200
    shorten(monkeypatch, name, size=16 * horizon)
    data, again = (read_built(build(name, policy=policy, threads=n, force=True)) for n in (1, 2))
    assert data.digest == again.digest
    assert len(data) == 16 and (data.lengths == horizon).all() and not data.terminated.any()
    assert np.abs(data.actions).max() <= 1.0 and data.name == name
    mean, spread = RETURNS[task]
    assert abs(data.returns.mean() - mean) < spread
    assert load(name).digest == load_rebuilt(name).digest == data.digest  # the one that is there is meant
