"""Trajectories that come and go while the memory is in use."""

import tracemalloc

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


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_plan_is_of_no_use_once_its_trajectories_were_dropped(kind):
    memory = kind(seed=0, capacity=20)
    memory.load_offline_dataset(make([10, 10], known=1.0))
    plan = memory.plan(30, 4)
    memory.add(episode(5))
    old = int((plan.trajectories == 0).any(axis=1).argmax())
    dropped = "the plan has trajectory 0, which add has dropped since .the oldest one held is 1.: plan again"
    for use in (lambda: memory.gather(plan, old), lambda: memory.gather(plan, old, 2), lambda: memory.chunks(plan, 2)):
        with pytest.raises(UsageError, match=dropped):
            use()
    plan = memory.plan(30, 4)
    memory.add(episode(5))  # in the space that the first one left
    assert len(memory.gather(plan, 0)) == 4 and memory.chunks(plan, 2)[1][..., 0].all()


def test_adding_nothing_that_could_be_replayed_is_refused():
    memory = TrajectoryReplay(seed=0, capacity=10)
    memory.load_offline_dataset(make([4, 4], known=1.0))
    with pytest.raises(DataError, match="none of the added trajectories can be replayed"):
        memory.add(make([1, 1], terminated=0.0, known=0.0))
    assert len(memory.sample(2)) == 2


def episode(length, seed=0):
    return next(make([length], seed=seed, known=1.0).episodes())


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@pytest.mark.filterwarnings("ignore:.*keep their old priority")
@pytest.mark.filterwarnings("ignore:.*chose")
@pytest.mark.parametrize("capacity", [None, 40])
@pytest.mark.parametrize("kind", [*KINDS.values(), lambda **k: TrajectoryReplay("auto", **k)], ids=[*KINDS, "auto"])
def test_an_online_run_starts_from_empty_and_resumes_without_its_history(kind, capacity):
    memory = kind(seed=0, capacity=capacity)
    with pytest.raises(UsageError, match="empty"):
        memory.sample(2)
    for round_ in range(12):
        memory.add(episode(3 + round_ % 7, seed=round_) if round_ % 2 else [episode(4, seed=round_), episode(9)])
        for _ in range(2):
            batch = memory.sample(3)
            memory.update_uncertainty(np.abs(batch.rewards))
            memory.update_priorities(batch.rewards)
    other = kind(seed=5, capacity=capacity)
    other.load_state_dict(memory.state_dict(data=True))
    for round_ in range(30):
        first, second = memory.sample(3), other.sample(3)
        for name in ("observations", "rewards", "next_observations", "terminals", "indices", "trajectories", "fresh"):
            assert np.array_equal(getattr(first, name), getattr(second, name)), name
        for each, batch in ((memory, first), (other, second)):
            each.update_uncertainty(np.abs(batch.rewards))
            each.update_priorities(batch.rewards)
            each.add(episode(2 + round_ % 5, seed=round_))
    assert memory.store.fingerprint == other.store.fingerprint


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@pytest.mark.parametrize("kept", [(), (2,)])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_state_with_data_loads_after_trajectories_with_inner_terminals_were_dropped(kind, kept):
    memory, other = kind(seed=0, capacity=20), kind(seed=1, capacity=20)
    for length, terminals in ((10, (7, 8)), (5, ()), (6, kept)):
        memory.add({**episode(length, seed=length), "inner_terminals": np.isin(np.arange(length), terminals)})
    assert memory.store.first == 1
    other.load_state_dict(memory.state_dict(data=True))
    for _ in range(9):
        first, second = memory.sample(3), other.sample(3)
        assert np.array_equal(first.indices, second.indices)
        assert np.array_equal(first.terminals, second.terminals) and first.terminals.any() <= bool(kept)


def test_a_digest_of_rows_with_inner_terminals_is_that_of_earlier_versions():
    memory = TrajectoryReplay(seed=0, capacity=20)
    memory.add({**episode(6), "rewards": np.arange(6.0), "terminated": True, "inner_terminals": np.arange(6) == 3})
    assert memory.store.fingerprint == "c0e37177b231c000daa98d9c2f42e2c9"


def test_a_state_with_data_that_does_not_fit_changes_nothing():
    memory, other = TrajectoryReplay(seed=0, capacity=30), TrajectoryReplay(seed=0, capacity=30)
    for each in (memory, other):
        each.add(episode(5))
    state = memory.state_dict(data=True)
    with pytest.raises(UsageError, match="saved with capacity 30, this memory has 40"):
        TrajectoryReplay(capacity=40).load_state_dict(state)
    for name in [name for name in state if not name.startswith("pending")]:
        if name not in ("data.lengths", "data.origin"):  # states of earlier versions have no origin
            with pytest.raises(UsageError):
                memory.load_state_dict({key: value for key, value in state.items() if key != name})
    assert np.array_equal(memory.plan(9, 1).indices, other.plan(9, 1).indices)


def test_a_first_add_beyond_the_capacity_keeps_the_newest():
    memory = TrajectoryReplay([], seed=0, capacity=20)
    memory.add([episode(8, seed=seed) for seed in range(5)], priorities=[5, 4, 3, 2, 1])
    assert memory.store.first == 3 and memory.probabilities().argmax() == 0
    with pytest.raises(DataError, match="does not fit into a capacity of 20"):
        TrajectoryReplay(capacity=20).add(episode(21))


def cut():
    """A single step without a successor, which cannot be replayed."""
    return next(make([1], terminated=0.0, known=0.0).episodes())


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_first_add_counts_as_one_where_a_part_cannot_be_replayed(kind):
    memory = kind(seed=0, capacity=10)
    memory.add([episode(5), episode(5), cut()])
    assert memory.store.first == 1 and list(memory.store.lengths) == [5, 1]
    assert set(memory.plan(20, 2).trajectories.ravel()) == {1}
    memory = kind(seed=0, capacity=3)
    memory.add([cut(), cut(), cut(), episode(3)])
    assert memory.store.first == 3 and set(memory.plan(20, 2).trajectories.ravel()) == {3}
    memory = kind(seed=0, capacity=3)
    with pytest.raises(DataError, match="nothing to replay: every trajectory is a single step"):
        memory.add([cut() for _ in range(4)])
    with pytest.raises(UsageError, match="memory is empty"):
        memory.sample(2)


def test_a_first_add_that_fails_leaves_the_memory_empty():
    memory = TrajectoryReplay(np.empty(0), alpha=300.0, seed=0, capacity=10)
    with pytest.raises(UsageError, match="alpha 300"):
        memory.add([*[episode(2)] * 5, *[episode(1)] * 9], priorities=np.arange(14))
    with pytest.raises(UsageError, match="memory is empty"):
        memory.sample(2)
    memory.add([episode(2)], priorities=[1])
    assert list(memory.store.lengths) == [2]


def test_an_add_that_fails_leaves_the_last_sample():
    memory = TrajectoryReplay(np.empty(0), alpha=300.0, seed=0)
    memory.add([episode(2)] * 5, priorities=np.arange(5))
    memory.sample(2)
    with pytest.raises(UsageError, match="alpha 300"):
        memory.add([episode(2)] * 9, priorities=np.arange(9))
    assert memory.last_plan is not None


def test_adding_leaves_loaded_rows_where_they_are(tmp_path):
    np.save(tmp_path / "observations.npy", np.arange(40_000, dtype=np.float32).reshape(-1, 4))
    observations = np.load(tmp_path / "observations.npy", mmap_mode="r")
    log = {"observations": observations, "actions": np.zeros((10_000, 1), np.float32), "rewards": np.ones(10_000)}
    log |= {"terminals": np.arange(10_000) % 10 == 9, "timeouts": np.zeros(10_000, bool)}
    for capacity in (None, 20_000):
        memory = UniformReplay(seed=0, capacity=capacity)
        memory.load_offline_dataset(log)
        memory.add({**episode(50), "observations": np.full((51, 4), -1.0), "actions": np.zeros((50, 1))})
        assert np.shares_memory(memory.store.observations._loaded, observations)
        batch = memory.sample(4000)
        added = batch.trajectories == 1000
        assert added.any() and (batch.observations[added] == -1).all()
        assert np.array_equal(batch.observations[~added], observations[batch.indices[~added]])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_adding_touches_nothing_of_what_is_held(kind, monkeypatch):
    """Nothing as long as the number of held trajectories is made or written, except where arrays double."""
    memory = kind(seed=0)
    memory.load_offline_dataset(make(np.full(40_000, 2), known=1.0))
    memory.sample(2)
    memory.update_uncertainty([1.0, 1.0])
    memory.add(episode(2))  # everything doubles
    tracemalloc.start()
    for seed in range(20):
        memory.add(episode(2, seed=seed))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40_000
    assert len(memory.store) == 40_021 and len(memory.sample(2)) == 2
