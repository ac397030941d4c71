"""Laws of backward sweeps."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind import TrajectoryReplay
from tests.helpers import make, ragged_lengths

memories = {
    "priority": st.sampled_from(["uniform", "return", "min_reward", "lower_uqm_unc"]),
    "reuse": st.sampled_from(["on_finish", "epoch", "replacement"]),
    "stagger": st.booleans(),
    "alpha": st.sampled_from([0.0, 1.0, 3.0]),
}


def memory_on(data, seed=0, **settings):
    memory = TrajectoryReplay(seed=seed, **settings)
    memory.load_offline_dataset(data)
    return memory


@pytest.fixture(autouse=True)
def no_warning_about_many_slots():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*played by several slots")
        yield


@settings(deadline=None, max_examples=60)
@given(ragged_lengths(), st.integers(1, 9), st.integers(0, 2**32), st.fixed_dictionaries(memories))
def test_each_slot_yields_one_trajectory_from_last_to_first_then_another(lengths, batch_size, seed, settings):
    data = make(lengths)
    memory = memory_on(data, seed, **settings)
    plan = memory.plan(40, batch_size)
    for slot in range(batch_size):
        rows, fresh, trajectories = plan.indices[:, slot], plan.fresh[:, slot], plan.trajectories[:, slot]
        assert fresh[0]
        for step in range(len(plan)):
            start = data.starts[trajectories[step]]
            assert start <= rows[step] < start + data.transitions[trajectories[step]]
            if fresh[step]:
                at_tail = rows[step] == start + data.transitions[trajectories[step]] - 1
                assert at_tail or (settings["stagger"] and step == 0)
                assert step == 0 or rows[step - 1] == data.starts[trajectories[step - 1]]
            else:
                assert rows[step] == rows[step - 1] - 1 and trajectories[step] == trajectories[step - 1]


@settings(deadline=None, max_examples=60)
@given(ragged_lengths(), st.integers(1, 9), st.integers(0, 2**32), st.fixed_dictionaries(memories))
def test_no_batch_pairs_a_state_with_a_successor_of_another_trajectory(lengths, batch_size, seed, settings):
    data = make(lengths)
    memory = memory_on(data, seed, **settings)
    for _ in range(12):
        batch = memory.sample(batch_size)
        assert np.array_equal(batch.observations, data.observations[batch.indices])
        assert np.array_equal(batch.actions, data.actions[batch.indices])
        assert np.array_equal(batch.rewards, data.rewards[batch.indices])
        assert np.array_equal(batch.trajectories, data.trajectory_of(batch.indices))
        assert np.array_equal(batch.timesteps, batch.indices - data.starts[batch.trajectories])
        last = batch.timesteps == data.lengths[batch.trajectories] - 1
        assert np.array_equal(batch.terminals, last & data.terminated[batch.trajectories])
        assert np.array_equal(batch.tails, batch.timesteps == data.transitions[batch.trajectories] - 1)
        expected = np.where(
            last[:, None],
            data.final_observations[batch.trajectories],
            data.observations[np.minimum(batch.indices + 1, data.rows - 1)],
        )
        assert np.array_equal(batch.next_observations, expected)


@settings(deadline=None, max_examples=60)
@given(
    ragged_lengths(),
    st.integers(1, 9),
    st.integers(0, 2**32),
    st.fixed_dictionaries(memories),
    st.lists(st.integers(1, 7), min_size=1, max_size=6),
)
def test_a_plan_of_k_equals_k_samples(lengths, batch_size, seed, settings, pieces):
    settings["priority"] = "uqm_reward" if settings["priority"] == "lower_uqm_unc" else settings["priority"]
    data = make(lengths)
    planned, sampled = memory_on(data, seed, **settings), memory_on(data, seed, **settings)
    for steps in pieces:
        plan = planned.plan(steps, batch_size)
        for step in range(steps):
            batch = sampled.sample(batch_size)
            assert np.array_equal(batch.indices, plan.indices[step])
            assert np.array_equal(batch.fresh, plan.fresh[step])
            assert np.array_equal(batch.trajectories, plan.trajectories[step])


def test_long_plans_use_the_random_numbers_of_many_short_ones():
    data = make(np.random.default_rng(0).integers(1, 4, 500))
    whole = memory_on(data, priority="return").plan(700, 64)
    pieces = memory_on(data, priority="return")
    assert np.array_equal(whole.indices, np.concatenate([pieces.plan(7, 64).indices for _ in range(100)]))


def test_same_seed_same_stream_and_another_seed_another():
    data = make([5, 3, 8, 2, 7])
    first, again, other = (memory_on(data, seed).plan(50, 4).indices for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_global_random_state_is_not_used():
    data = make([5, 3, 8, 2, 7])
    np.random.seed(0)  # noqa: NPY002
    first = memory_on(data).plan(50, 4).indices
    np.random.seed(1)  # noqa: NPY002
    assert np.array_equal(first, memory_on(data).plan(50, 4).indices)


def test_a_generator_or_a_seed_sequence_can_be_the_seed():
    data = make([5, 3, 8, 2, 7])
    for make_seed in (lambda: np.random.default_rng(3), lambda: np.random.SeedSequence(3)):
        first, again = (memory_on(data, make_seed()).plan(50, 4).indices for _ in range(2))
        assert np.array_equal(first, again)


def test_a_last_step_without_successor_is_never_replayed():
    data = make([4, 1, 3], terminated=0.0, known=0.0)
    plan = memory_on(data).plan(60, 2)
    assert set(plan.indices.ravel()) == {0, 1, 2, 5, 6}  # not rows 3, 4 and 7
    batch = memory_on(data).sample(2)
    assert batch.tails.all() and not batch.terminals.any()  # the last transition, not the last row


def test_everything_is_replayed_in_an_epoch_exactly_once():
    data = make(np.full(12, 5), known=1.0)
    plan = memory_on(data, priority="return", reuse="epoch").plan(30, 4)
    epochs = plan.indices.reshape(2, 60)  # 12 trajectories of 5 rows: 15 steps of 4 slots
    for rows in epochs:
        assert sorted(rows) == list(range(60))


def test_stagger_starts_at_different_steps():
    data = make(np.full(40, 100), known=1.0)
    with pytest.warns(UserWarning, match=r"100% of the trajectories have 100 transitions.*stagger=True"):
        assert set(memory_on(data).sample(32).timesteps) == {99}
    with pytest.warns(UserWarning, match=r"91% of the trajectories have 100 transitions"):
        memory_on(make([*np.full(40, 100), 99, 98, 7, 5], known=1.0)).sample(32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        staggered = memory_on(data, stagger=True).sample(32)
        memory_on(make([*np.full(40, 100), *np.full(5, 99)], known=1.0)).sample(32)  # enough to spread them, in time
        memory_on(make(np.full(40, 10), known=1.0)).sample(32)  # soon elsewhere
    assert len(set(staggered.timesteps)) > 15 and staggered.fresh.all()


def test_more_slots_than_trajectories_keep_the_batch_size_and_warn_once():
    data = make([3, 4, 2], known=1.0)
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(data)
    with pytest.warns(UserWarning, match="8 slots but only 3 trajectories") as caught:
        batch = memory.sample(8)
    assert all(warning.filename == __file__ for warning in caught)  # the caller's line, not one of ours
    assert len(batch) == 8 and set(batch.trajectories) == {0, 1, 2}
    with pytest.warns(UserWarning, match="2 slots but only 1 trajectory to play"):
        memory_on(make([3], known=1.0)).sample(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        memory.plan(100, 8)


def test_reset_allows_another_batch_size():
    memory = memory_on(make([5, 3, 8, 2, 7]))
    memory.sample(2)
    memory.reset()
    assert memory.sample(3).fresh.all()
