"""The metrics equal their straightforward formulas; `paper` and `auto` choose by their tables."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind import DataError, TrajectoryReplay, UsageError
from rewind.memory import PRIORITIES, Priority, choice, choose
from rewind.memory.choice import recommended
from rewind.memory.ragged import Ragged
from tests.helpers import make, ragged_lengths


def top(numbers, fraction):
    return sorted(numbers, reverse=True)[: max(1, math.ceil(fraction * len(numbers)))]


def bottom(numbers, fraction):
    return sorted(numbers)[: max(1, math.ceil(fraction * len(numbers)))]


FORMULAS = {
    "return": sum,
    "avg_reward": np.mean,
    "uqm_reward": lambda x: np.mean(top(x, 0.25)),
    "uhm_reward": lambda x: np.mean(top(x, 0.5)),
    "min_reward": min,
    "max_reward": max,
    # the paper ranks by the reciprocal of these; -x has the ranks of 1 / x for positive x
    "lower_mean_unc": lambda x: -np.mean(x),
    "lower_lqm_unc": lambda x: -np.mean(bottom(x, 0.25)),
    "lower_uqm_unc": lambda x: -np.mean(top(x, 0.25)),
    "higher_mean_unc": np.mean,
    "higher_lqm_unc": lambda x: np.mean(bottom(x, 0.25)),
    "higher_uqm_unc": lambda x: np.mean(top(x, 0.25)),
}


def test_all_twelve_metrics_of_the_paper_are_there():
    assert set(FORMULAS) == {name for name, priority in PRIORITIES.items() if priority.of != "trajectories"}


@pytest.mark.parametrize("name", FORMULAS)
@settings(deadline=None, max_examples=25)
@given(ragged_lengths(max_length=23), st.integers(0, 100))
def test_metrics_equal_straightforward_formulas(name, lengths, seed):
    data = make(lengths, seed)
    expected = [FORMULAS[name]([float(r) for r in episode["rewards"]]) for episode in data.episodes()]
    rewards = Ragged(data.rewards, data.starts, data.lengths)
    assert np.allclose(PRIORITIES[name].values(rewards), expected, rtol=1e-6, atol=1e-6)


def test_the_same_rewards_in_another_order_tie_exactly():
    rng = np.random.default_rng(0)
    rewards = rng.standard_normal(101).astype(np.float32)
    shuffled = np.concatenate([rng.permutation(rewards) for _ in range(50)])
    groups = Ragged(shuffled, np.arange(50) * 101, np.full(50, 101))
    for summary in (groups.sum(), groups.mean(), groups.upper_mean(0.25), groups.lower_mean(0.25)):
        assert len(set(summary)) == 1


def test_rewards_of_a_step_without_successor_count_in_the_quality():
    data = make([3, 3], terminated=0.0, known=0.0, rewards=np.array([0, 0, 9.0, 1, 1, 1]))
    memory = TrajectoryReplay(priority="return", seed=0)
    memory.load_offline_dataset(data)
    assert memory.probabilities()[0] > memory.probabilities()[1]


def test_paper_takes_average_reward_on_sparse_data_and_says_why(capsys):
    rewards = np.zeros(100)
    rewards[::25] = 1.0  # 96% zeros
    memory = TrajectoryReplay(priority="paper", seed=0)
    for _ in range(2):  # nothing is kept between memories: Python's filters decide what is shown again
        with pytest.warns(UserWarning, match=r"the commonest reward, 0, is 96\.0% of 100") as caught:
            memory.load_offline_dataset(make(np.full(10, 10), rewards=rewards))
        assert __file__ in {warning.filename for warning in caught if "commonest" in str(warning.message)}
    assert memory.choice.priority == "avg_reward" and memory.choice.label == "sparse"
    assert memory.choice.share == pytest.approx(0.96)
    assert capsys.readouterr() == ("", "")
    assert not memory.dynamic


def test_paper_takes_lower_uqm_uncertainty_on_dense_data():
    memory = TrajectoryReplay(priority="paper", seed=0)
    memory.load_offline_dataset(make(np.full(10, 10)))
    assert memory.choice.priority == "lower_uqm_unc" and memory.dynamic


def test_rewards_are_sparse_from_95_percent_on():
    for zeros, label in ((94, "dense"), (95, "sparse")):
        rewards = np.arange(100.0)
        rewards[:zeros] = 0.0
        assert choose(make(np.full(10, 10), rewards=rewards)).label == label


def test_the_label_of_a_catalogue_wins_over_the_rewards():
    assert choose(make(np.full(10, 10)), label="sparse").priority == "avg_reward"
    assert "(1 different value)" in choose(make([4], rewards=np.ones(4))).because


def test_auto_takes_what_our_runs_recommend():
    rare = np.eye(1, 100, 50).ravel()
    for rewards, label in ((rare, "sparse"), (np.arange(100.0), "dense"), (np.ones(100), "dense")):
        memory = TrajectoryReplay(priority="auto", seed=0)
        row = recommended()[label]
        with pytest.warns(UserWarning, match=f"chose '{row['priority']}'"):
            memory.load_offline_dataset(make(np.full(10, 10), rewards=rewards))
        assert memory.choice.label == label and row["evidence"]["priority"] in str(memory.choice)


@pytest.mark.parametrize(("why", "told"), [("no test yet", " Provisional: no test yet."), ("", "")])
def test_auto_says_that_it_is_provisional_as_long_as_its_table_does(monkeypatch, why, told):
    monkeypatch.setattr(choice, "recommended", lambda: recommended() | {"provisional": why})
    text = str(choose(make(np.full(10, 10)), rule="auto"))
    assert choice.caution() == told and ("Provisional" in text) == bool(why) and told in text


def test_auto_says_that_uniform_is_plain_tr_where_no_priority_is_what_runs_recommend(monkeypatch):
    table = recommended()
    for sampler in ("baseline", "tr"):
        made = {**table, "dense": {**table["dense"], "priority": "uniform", "sampler": sampler}}
        monkeypatch.setattr(choice, "recommended", lambda made=made: made)
        auto, paper = (choose(make(np.full(10, 10)), rule=rule) for rule in ("auto", "paper"))
        assert ("plain TR; for such rewards our runs recommend UniformReplay" in str(auto)) == (sampler == "baseline")
        assert paper.meaning == ""


def test_every_line_of_the_recommendations_has_its_evidence():
    lines = {"priority", "sampler", "beta", "stagger", "bounded", "layer_norm"}
    assert isinstance(recommended()["provisional"], str) and recommended()["date"]
    for label in ("sparse", "dense"):
        row = recommended()[label]
        assert set(row) == {*lines, "evidence"} and set(row["evidence"]) == lines and all(row["evidence"].values())
        assert row["priority"] in ("uniform", *PRIORITIES) and row["sampler"] in ("baseline", "tr", *PRIORITIES)


def test_a_state_of_the_old_auto_is_one_of_paper():
    data = make(np.full(10, 10))
    old, new, auto = (TrajectoryReplay(name, seed=0) for name in ("paper", "paper", "auto"))
    for memory in (old, new, auto):
        memory.load_offline_dataset(data)
    old.plan(3, 4)
    state = old.state_dict() | {"config.priority": "auto"}
    new.load_state_dict(state)
    assert np.array_equal(new.plan(5, 4).indices, old.plan(5, 4).indices)
    with pytest.raises(UsageError, match="saved with priority 'paper', this memory has 'auto'"):
        auto.load_state_dict(state)
    again = TrajectoryReplay("auto", seed=1)
    again.load_state_dict(auto.state_dict(data=True))
    assert again.choice == auto.choice


MISTAKES = {
    "one number per row": (lambda numbers: numbers.values, r"shape \(\d+,\) for"),
    "too few": (lambda numbers: np.zeros(len(numbers.lengths) - 1), r"shape .* expected \(\d+,\): one number for each"),
    "one number for all": (lambda numbers: 0.0, r"shape \(\) for"),
    "NaN": (lambda numbers: np.where(np.arange(len(numbers.lengths)) == 1, np.nan, 0.0), "nan for trajectory 1 of"),
    "less than any number": (lambda numbers: np.full(len(numbers.lengths), -np.inf), "-inf for trajectory 0 of"),
    "no numbers": (lambda numbers: ["a"] * len(numbers.lengths), "list; expected one number per trajectory"),
}


@pytest.fixture
def register(monkeypatch):
    return lambda priority: monkeypatch.setitem(PRIORITIES._things, "mine", priority)


@pytest.mark.parametrize(("metric", "message"), MISTAKES.values(), ids=MISTAKES)
def test_somebodys_priority_gives_one_number_per_trajectory_or_nothing_is_loaded(metric, message, register):
    register(Priority(metric))
    memory = TrajectoryReplay("mine", seed=0)
    with pytest.raises(DataError, match=f"priority 'mine' returned {message}"):
        memory.load_offline_dataset(make(np.full(20, 5)))
    with pytest.raises(UsageError, match="memory is empty"):
        memory.sample(2)


@pytest.mark.parametrize(("metric", "message"), MISTAKES.values(), ids=MISTAKES)
def test_feedback_whose_priority_is_wrong_changes_nothing(metric, message, register):
    right = Priority(Ragged.mean, "uncertainty")
    memories = []
    for _ in range(2):
        register(right)
        memory = TrajectoryReplay("mine", seed=0)
        memory.load_offline_dataset(make(np.full(20, 5), known=1.0))
        memory.update_uncertainty(np.ones((7, 4)), memory.plan(7, 4))
        memories.append(memory)
    memory, untouched = memories
    plan, same = memory.plan(9, 4), untouched.plan(9, 4)
    memory._metric = Priority(metric, "uncertainty")
    with pytest.raises(DataError, match=f"returned {message}"):
        memory.update_uncertainty(np.full((9, 4), 50.0), plan)
    memory._metric = right
    memory.update_uncertainty(plan.indices * 1.0, plan)
    untouched.update_uncertainty(same.indices * 1.0, same)
    assert np.array_equal(memory.probabilities(), untouched.probabilities())
    assert np.array_equal(memory.plan(9, 4).indices, untouched.plan(9, 4).indices)


def test_infinity_ranks_first(register):
    register(Priority(lambda rewards: 1 / np.maximum(rewards.sum(), 0)))
    memory = TrajectoryReplay("mine", seed=0)
    with np.errstate(divide="ignore"):
        memory.load_offline_dataset(make([2, 2, 2], rewards=np.array([1, 1, 0, 0, 2.0, 2])))
    assert memory.probabilities().argmax() == 1


@pytest.mark.parametrize("name", ["uniform", "tr", "baseline", "paper", "auto", "given"])
def test_a_name_that_means_something_else_cannot_become_a_priority(name):
    with pytest.raises(UsageError, match=f"already a priority '{name}'"):
        PRIORITIES.register(name, Priority(lambda rewards: rewards.mean()))
