"""Priorities that change with training."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind import DataError, PrioritizedReplay, TrajectoryReplay, UniformReplay, UsageError
from tests.helpers import make, ragged_lengths


def memory_on(data, priority="lower_mean_unc", seed=0, **settings):
    memory = TrajectoryReplay(priority=priority, seed=seed, **settings)
    memory.load_offline_dataset(data)
    return memory


def disagreement(plan):
    """Any fixed function of the row: fed alike, whatever the size of the plans."""
    return np.sin(plan.indices).astype(np.float32) + 2


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@settings(deadline=None, max_examples=40)
@given(ragged_lengths(), st.integers(1, 6), st.sampled_from(["on_finish", "epoch", "replacement"]), st.booleans())
def test_a_plan_fed_at_once_commits_what_samples_fed_one_by_one_commit(lengths, batch_size, reuse, stagger):
    data = make(lengths)
    planned = memory_on(data, "lower_uqm_unc", reuse=reuse, stagger=stagger)
    plan = planned.plan(30, batch_size)
    planned.update_uncertainty(disagreement(plan))
    # The same rows one by one: a memory that is told the same ranks plays the same rows, so ask a plan of it too.
    fed_singly = memory_on(data, "lower_uqm_unc", reuse=reuse, stagger=stagger)
    again = fed_singly.plan(30, batch_size)
    assert np.array_equal(again.indices, plan.indices)
    for step in range(30):
        fed_singly.update_uncertainty(disagreement(again[step])[0], plan=again[step])
    assert np.array_equal(planned.probabilities(), fed_singly.probabilities())
    assert np.array_equal(planned.plan(9, batch_size).indices, fed_singly.plan(9, batch_size).indices)


def test_plans_of_one_step_equal_samples_for_dynamic_priorities():
    data = make([4, 2, 5, 3, 6, 1, 4])
    sampled, planned = memory_on(data), memory_on(data)
    for _ in range(200):
        batch, plan = sampled.sample(3), planned.plan(1, 3)
        assert np.array_equal(batch.indices, plan.indices[0])
        sampled.update_uncertainty(disagreement(plan)[0])
        planned.update_uncertainty(disagreement(plan), plan)


def test_trajectories_nobody_visited_rank_best_and_tie():
    data = make([2, 2, 2, 2], known=1.0)
    memory = memory_on(data)
    assert np.allclose(memory.probabilities(), 0.25)
    batch = memory.sample(1)
    memory.update_uncertainty([0.1])
    assert np.allclose(memory.probabilities(), 0.25)  # its sweep has not ended yet
    memory.sample(1)
    memory.update_uncertainty([0.1])
    visited = batch.trajectories[0]
    unvisited = np.delete(np.arange(4), visited)
    assert np.allclose(memory.probabilities()[unvisited], memory.probabilities()[unvisited[0]])
    # the three others share rank 2, the visited one has rank 4
    assert memory.probabilities()[unvisited[0]] / memory.probabilities()[visited] == pytest.approx(2.0)


@pytest.mark.parametrize(("priority", "first"), [("lower_mean_unc", 0), ("higher_mean_unc", 2)])
def test_lower_ranks_low_uncertainty_first_and_higher_the_opposite(priority, first):
    data = make([3, 3, 3], known=1.0)
    memory = memory_on(data, priority, reuse="epoch")
    for _ in range(9):
        batch = memory.sample(1)
        memory.update_uncertainty(batch.trajectories + 1.0)
    assert memory.probabilities().argmax() == first


def test_a_sweep_that_misses_a_value_keeps_its_old_priority_and_warns_once():
    data = make([3, 3, 3], known=1.0)
    memory = memory_on(data, reuse="epoch")
    memory.sample(1)  # never fed
    memory.sample(1)
    with pytest.warns(UserWarning, match="1 batches were skipped"):
        memory.update_uncertainty([0.5])
    last = memory.sample(1)
    memory.update_uncertainty([0.5])
    assert last.timesteps[0] == 0
    assert np.allclose(memory.probabilities(), 1 / 3)  # nothing was committed
    for _ in range(6):
        memory.sample(1)
        memory.update_uncertainty([0.5])
    assert not np.allclose(memory.probabilities(), 1 / 3)


def test_a_plan_made_ahead_is_fed_in_order():
    data = make(np.full(20, 4), known=1.0)
    memory = memory_on(data)
    first, second = memory.plan(5, 3), memory.plan(5, 3)
    memory.update_uncertainty(disagreement(first), first)
    memory.update_uncertainty(disagreement(second), second)
    with pytest.raises(UsageError, match="is already known"):
        memory.update_uncertainty(disagreement(first), first)


def test_two_sweeps_of_one_trajectory_in_one_plan_count_the_later():
    data = make([2], known=1.0)
    memory = memory_on(data)
    plan = memory.plan(4, 1)
    memory.update_uncertainty(np.array([[1.0], [1.0], [5.0], [7.0]]), plan)
    assert memory.state_dict()["values"] == pytest.approx([-6.0])


def test_static_memories_check_feedback_and_let_it_pass():
    data = make([4, 2, 5])
    for memory in (TrajectoryReplay("return", seed=0), UniformReplay(seed=0)):
        memory.load_offline_dataset(data)
        memory.sample(2)
        memory.update_uncertainty([0.1, 0.2])
        memory.update_priorities([0.1, 0.2])
        with pytest.raises(DataError):
            memory.update_uncertainty([0.1])


def test_a_plan_for_other_data_is_an_error_and_changes_nothing():
    for memory in (TrajectoryReplay("lower_uqm_unc", seed=0), UniformReplay(seed=0), PrioritizedReplay(seed=0)):
        memory.load_offline_dataset(make(np.full(2000, 5)))
        old = memory.plan(4, 8)
        memory.load_offline_dataset(make([5, 3, 4] * 4))
        before = memory.state_dict()
        for call in (
            lambda memory=memory, old=old: memory.update_uncertainty(np.ones((4, 8)), old),
            lambda memory=memory, old=old: memory.update_priorities(np.ones((4, 8)), old),
            lambda memory=memory, old=old: memory.gather(old, 0),
            lambda memory=memory, old=old: memory.chunks(old[2], 3),
        ):
            with pytest.raises(UsageError, match="made for other data than the memory holds now: plan again"):
                call()
        assert memory.state_dict() == before


@pytest.mark.filterwarnings("ignore:.*stagger")
def test_a_sweep_that_starts_in_the_middle_says_nothing_of_its_trajectory():
    data = make(np.full(4, 20), known=1.0)
    memory = memory_on(data, "lower_mean_unc", stagger=True, seed=3)
    whole = -(np.arange(20)[data.transitions[0] - 20 :].mean())
    for _ in range(100):
        batch = memory.sample(2)
        memory.update_uncertainty(batch.timesteps.astype(float))
        values = np.array(memory.state_dict()["values"])
        assert np.allclose(values[np.isfinite(values)], whole)
    assert np.isfinite(values).all()
