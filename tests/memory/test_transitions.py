"""UniformReplay and PrioritizedReplay: the paper's `uni_state` and `prio_state`."""

import numpy as np
import pytest

from rewind import DataError, PrioritizedReplay, TrajectoryReplay, UniformReplay, UsageError
from tests.helpers import make


def loaded(memory, data):
    memory.load_offline_dataset(data)
    return memory


@pytest.mark.parametrize("kind", [UniformReplay, PrioritizedReplay])
def test_every_row_is_fresh_and_pairs_with_its_own_successor(kind):
    data = make([4, 1, 6, 3, 2], terminated=0.4, known=0.5)
    memory = loaded(kind(seed=0), data)
    for _ in range(20):
        batch = memory.sample(16)
        assert batch.fresh.all()
        assert np.array_equal(batch.trajectories, data.trajectory_of(batch.indices))
        playable = ~batch.terminals
        expected = data.successors(batch.indices[playable])
        assert np.array_equal(batch.next_observations[playable], expected)
        assert (batch.timesteps < data.transitions[batch.trajectories]).all()


def test_uniform_draws_every_transition_equally_often():
    data = make([4, 1, 6, 3, 2], terminated=0.0, known=0.5)
    counts = np.bincount(loaded(UniformReplay(seed=0), data).plan(2000, 16).indices.ravel(), minlength=data.rows)
    playable = np.concatenate([np.arange(n) < m for n, m in zip(data.lengths, data.transitions, strict=True)])
    assert not counts[~playable].any()
    share = counts[playable] / counts.sum()
    assert np.allclose(share, 1 / playable.sum(), atol=4.5 * np.sqrt(1 / playable.sum() / counts.sum()))


@pytest.mark.parametrize("kind", [UniformReplay, PrioritizedReplay])
def test_a_plan_of_k_equals_k_samples(kind):
    data = make([4, 1, 6, 3, 2])
    planned, sampled = loaded(kind(seed=3), data), loaded(kind(seed=3), data)
    plan = planned.plan(50, 8)
    assert np.array_equal(plan.indices, [sampled.sample(8).indices for _ in range(50)])


def test_prioritized_draws_follow_eq_1():
    data = make([5, 4], known=1.0)
    memory = loaded(PrioritizedReplay(alpha=0.7, eps=0.1, seed=0), data)
    errors = np.linspace(-3, 3, 9)
    while True:
        plan = memory.plan(1, 9)
        memory.update_priorities(errors[plan.indices])
        if len(set(np.round(memory.probabilities(), 12))) == 5:  # |errors| has five different values
            break
    expected = (np.abs(errors) + 0.1) ** 0.7
    expected /= expected.sum()
    assert np.allclose(memory.probabilities(), expected)
    draws = memory.plan(20_000, 2).indices.ravel()
    counts = np.bincount(draws, minlength=9)
    assert (np.abs(counts / len(draws) - expected) < 4.5 * np.sqrt(expected / len(draws))).all()


def test_rows_without_a_td_error_have_the_largest_priority_seen():
    data = make([5, 4], known=1.0)
    memory = loaded(PrioritizedReplay(alpha=1.0, eps=0.0, seed=0), data)
    batch = memory.sample(1)
    memory.update_priorities([4.0])
    probabilities = memory.probabilities()
    assert probabilities[batch.indices[0]] == pytest.approx(4 / 12)
    memory.add([{**episode} for episode in make([2], known=1.0).episodes()])
    alive = memory.probabilities()[[9, 10]] * 20  # 4 + 8 * 1 + 2 * 4
    assert np.allclose(alive, 4.0)


def test_a_zero_td_error_with_zero_eps_is_refused():
    memory = loaded(PrioritizedReplay(eps=0.0, seed=0), make([5, 4], known=1.0))
    memory.sample(2)
    with pytest.raises(UsageError, match="probability 0"):
        memory.update_priorities([0.0, 1.0])


def test_td_errors_of_rows_that_were_dropped_are_not_looked_at():
    memory = loaded(PrioritizedReplay(eps=0.0, capacity=9, seed=0), make([5, 4], known=1.0))
    plan = memory.plan(1, 3)
    memory.add([{**episode} for episode in make([9], known=1.0).episodes()])
    before = memory.probabilities()
    memory.update_priorities(np.zeros((1, 3)), plan)
    assert np.array_equal(memory.probabilities(), before)


def test_td_errors_whose_weights_are_beyond_floating_point_are_refused_and_change_nothing():
    memory = loaded(PrioritizedReplay(alpha=2.0, eps=0.0, seed=0), make([5, 4], known=1.0))
    before = memory.probabilities()
    memory.sample(2)
    with pytest.raises(DataError, match=r"a TD error of -1e\+160 is too large for alpha 2.0"):
        memory.update_priorities([1.0, -1e160])
    with pytest.raises(UsageError, match=r"TD error of 1e-200 with .* gives probability 0"):
        memory.update_priorities([1.0, 1e-200])
    assert np.array_equal(memory.probabilities(), before)


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@pytest.mark.parametrize("kind", [UniformReplay, PrioritizedReplay, TrajectoryReplay])
def test_every_memory_can_be_reset_and_then_expects_no_feedback(kind):
    memory = kind(seed=0)
    memory.reset()  # one that is empty too
    memory = loaded(memory, make([4, 3]))
    plan = memory.plan(1, 4)
    memory.reset()
    assert memory.last_plan is None
    with pytest.raises(UsageError, match="before any sample"):
        memory.update_priorities(np.ones(4))
    memory.update_priorities(np.ones(4), plan)
    assert len(memory.sample(2)) == 2
