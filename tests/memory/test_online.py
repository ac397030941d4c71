"""Trajectories that come and go while the memory is in use."""

import numpy as np
import pytest

from rewind import DataError, PrioritizedReplay, TrajectoryReplay, UniformReplay, UsageError, WeightedTarget
from tests.helpers import make

KINDS = {
    "uniform": lambda **k: UniformReplay(**k),
    "prioritized": lambda **k: PrioritizedReplay(**k),
    "TR": lambda **k: TrajectoryReplay(**k),
    "PTR return": lambda **k: TrajectoryReplay("return", **k),
    "PTR unc": lambda **k: TrajectoryReplay("lower_mean_unc", **k),
}


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@pytest.mark.filterwarnings("ignore:.*keep their old priority")
@pytest.mark.parametrize("capacity", [None, 60])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_batches_stay_true_while_trajectories_come_and_go(kind, capacity):
    rng = np.random.default_rng(0)
    truth = [list(make([6, 4, 5], known=1.0).episodes())[i] for i in range(3)]
    memory = kind(seed=0, capacity=capacity)
    memory.load_offline_dataset(truth)
    target = WeightedTarget(0.99, 0.5)
    for round_ in range(60):
        for _ in range(3):
            batch = memory.sample(4)
            for slot, (number, step) in enumerate(zip(batch.trajectories, batch.timesteps, strict=True)):
                episode = truth[number]
                assert np.array_equal(batch.observations[slot], episode["observations"][step].astype(np.float32))
                if not batch.terminals[slot]:
                    after = episode["observations"][step + 1].astype(np.float32)
                    assert np.array_equal(batch.next_observations[slot], after)
                assert batch.tails[slot] == (step == len(episode["rewards"]) - 1)
            target(batch, np.zeros(4, np.float32))  # a slot whose trajectory went starts anew, marked fresh
            memory.update_uncertainty(np.abs(batch.rewards))
            memory.update_priorities(batch.rewards)
        new = list(make(rng.integers(1, 12, rng.integers(1, 3)), seed=100 + round_, known=1.0).episodes())
        truth += new
        memory.add(new)
    alive = len(memory.store)
    rows = int(memory.store.lengths.sum())
    if capacity is None:
        assert alive == len(truth)
    else:
        assert rows <= capacity and memory.store.first == len(truth) - alive > 50


def test_the_oldest_goes_first_and_the_capacity_is_used():
    data = make(np.full(10, 10), known=1.0)
    memory = TrajectoryReplay(seed=0, capacity=100)
    memory.load_offline_dataset(data)
    memory.add(list(make([10], known=1.0).episodes()))
    assert memory.store.first == 1 and len(memory.store) == 10
    assert set(memory.plan(200, 4).trajectories.ravel()) == set(range(1, 11))


def test_added_trajectories_are_ranked_with_the_others():
    data = make([2, 2], known=1.0, rewards=np.array([0, 1, 0, 2.0]))
    memory = TrajectoryReplay("return", seed=0)
    memory.load_offline_dataset(data)
    memory.sample(1)
    memory.add(make([2], known=1.0, rewards=np.array([5.0, 5.0])))
    assert memory.probabilities().argmax() == 2


def test_given_priorities_need_numbers_for_added_trajectories():
    memory = TrajectoryReplay([1.0, 2.0], seed=0)
    memory.load_offline_dataset(make([2, 2], known=1.0))
    with pytest.raises(UsageError, match="priorities="):
        memory.add(make([2], known=1.0))
    memory.add(make([2], known=1.0), priorities=[3.0])
    assert memory.probabilities().argmax() == 2


def test_trajectories_that_do_not_fit_are_refused():
    memory = TrajectoryReplay(seed=0, capacity=10)
    memory.load_offline_dataset(make([4, 4], known=1.0))
    with pytest.raises(DataError, match="does not fit into a capacity of 10"):
        memory.add(make([11], known=1.0))
    with pytest.raises(DataError, match="added observations are float32"):
        memory.add(make([3], known=1.0, observation=5))
    with pytest.raises(DataError, match="more than the capacity"):
        memory.load_offline_dataset(make([8, 8], known=1.0))
    assert len(memory.store) == 2


def test_state_of_a_grown_memory_continues_on_the_same_data():
    def grown(seed):
        memory = TrajectoryReplay("lower_mean_unc", seed=seed, capacity=40)
        memory.load_offline_dataset(make([6, 4, 5], known=1.0))
        for i in range(8):
            memory.add(make([7], seed=i, known=1.0))
        return memory

    memory = grown(0)
    for _ in range(5):
        memory.update_uncertainty(np.abs(memory.sample(3).rewards))
    other = grown(1)
    other.load_state_dict(memory.state_dict())
    for _ in range(20):
        first, second = memory.sample(3), other.sample(3)
        assert np.array_equal(first.indices, second.indices)
        memory.update_uncertainty(np.abs(first.rewards))
        other.update_uncertainty(np.abs(second.rewards))


def test_late_td_errors_do_not_land_on_what_took_the_place_of_their_rows():
    memory = PrioritizedReplay(alpha=1.0, seed=0, capacity=20)
    memory.load_offline_dataset(make([10, 10], known=1.0))
    plan = memory.plan(4, 8)
    memory.add(make([10, 10], seed=1, known=1.0))
    memory.update_priorities(np.full((4, 8), 100.0), plan)
    assert np.allclose(memory.probabilities(), 1 / 20)


def test_adding_nothing_that_could_be_replayed_is_refused():
    memory = TrajectoryReplay(seed=0, capacity=10)
    memory.load_offline_dataset(make([4, 4], known=1.0))
    with pytest.raises(DataError, match="none of the added trajectories can be replayed"):
        memory.add(make([1, 1], terminated=0.0, known=0.0))
    assert len(memory.sample(2)) == 2
