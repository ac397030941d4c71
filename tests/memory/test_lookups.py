"""From a number to a transition: the tables and trees behind a sample."""

from __future__ import annotations

import numpy as np
import pytest

from rewind import PrioritizedReplay, TrajectoryReplay, UniformReplay
from rewind.memory.ragged import _kth_smallest, _narrow_down
from rewind.memory.ranks import rank
from rewind.memory.sumtree import empty_tree, fill_tree, find_leaf, find_leaves
from tests.helpers import make


@pytest.mark.parametrize("leaves", [1, 2, 5, 1000])
def test_many_leaves_are_found_as_each_alone(leaves):
    rng = np.random.default_rng(0)
    weights = 10.0 ** rng.uniform(-200, 200, leaves) * rng.integers(0, 2, leaves)
    weights[-1] = 1.0
    tree = empty_tree(leaves)
    fill_tree(tree, weights)
    uniforms = np.append(rng.random(500), [0.0, np.nextafter(1.0, 0.0)])
    found = find_leaves(tree, uniforms)
    np.testing.assert_array_equal(found, [find_leaf(tree, uniform) for uniform in uniforms])
    assert (weights[found] > 0).all()


@pytest.mark.filterwarnings("ignore:16 slots")
@pytest.mark.parametrize("kind", [UniformReplay, PrioritizedReplay, TrajectoryReplay])
def test_rows_know_their_trajectory_while_old_ones_make_room_for_new(kind):
    rng = np.random.default_rng(0)

    def episode(length):
        known = bool(rng.integers(2))  # the state after the last step
        return {
            "observations": rng.random((length + known, 2)),
            "actions": rng.random((length, 1)),
            "rewards": rng.random(length),
            "terminated": bool(rng.integers(2)),
        }

    memory = kind(seed=0, capacity=60)
    memory.load_offline_dataset([episode(length) for length in (5, 9, 2)])
    for _ in range(100):
        memory.add([episode(int(rng.integers(2, 12)))])
        store, batch = memory.store, memory.sample(16)
        at = batch.trajectories - store.first
        np.testing.assert_array_equal(store.trajectory_of(batch.indices), batch.trajectories)
        np.testing.assert_array_equal(batch.timesteps, batch.indices - store.starts[at])
        np.testing.assert_array_equal(batch.tails, batch.timesteps == store.transitions[at] - 1)
        last = batch.timesteps == store.lengths[at] - 1
        np.testing.assert_array_equal(batch.terminals, last & store.terminated[at])
        after = store.observations.take((batch.indices + 1) % store.rows, axis=0)
        successors = np.where(last[:, None], store.finals[at], after)
        np.testing.assert_array_equal(batch.next_observations, successors)


@pytest.mark.parametrize(
    "numbers",
    [
        np.random.default_rng(0).normal(size=300),
        10.0 ** np.random.default_rng(1).uniform(-30, 30, 300),  # as far from evenly spread as can be
        np.random.default_rng(2).integers(-2, 3, 300),  # hardly any different
        np.r_[-np.inf, np.full(50, 1e-38), 0.0, np.full(50, 3e38), np.inf],
        [7.0],
    ],
)
def test_the_kth_smallest_is_that_of_a_sort(numbers):
    numbers = np.asarray(numbers, np.float32)
    for select in (_narrow_down, _kth_smallest):
        assert [select(numbers, k) for k in range(len(numbers))] == np.sort(numbers).tolist()


@pytest.mark.parametrize("moved", [0, 1, 30, 200])
def test_what_is_ranked_again_has_its_ranks(moved):
    rng = np.random.default_rng(moved)
    values = rng.integers(0, 50, 200).astype(float)  # many are equal
    values[:20] = np.inf
    ranked = None
    for _ in range(5):
        ranked = rank(values, ranked)
        np.testing.assert_array_equal(values[ranked.order], np.sort(values))
        np.testing.assert_array_equal(np.sort(ranked.order), np.arange(200))
        mean_ranks = [(values > value).sum() + ((values == value).sum() + 1) / 2 for value in values]
        np.testing.assert_array_equal(ranked.ranks, mean_ranks)
        values[rng.integers(0, 200, moved)] = rng.integers(0, 50, moved)


def test_uniform_numbers_find_the_transition_whatever_the_lengths():
    rng = np.random.default_rng(0)
    lengths = np.concatenate([np.ones(40, int), rng.integers(1, 400, 30), [5000], np.ones(40, int)])
    data = make(lengths)  # a trajectory of one step that was cut without its successor has no transition
    assert (data.transitions == 0).sum() > 10
    memory = UniformReplay(seed=0)
    memory.load_offline_dataset(data)
    plan = memory.plan(2000, 16)
    np.testing.assert_array_equal(memory.store.trajectory_of(plan.indices.ravel()), plan.trajectories.ravel())
    steps = plan.indices - memory.store.starts[plan.trajectories]
    assert (steps < memory.store.transitions[plan.trajectories]).all()
    drawn = np.bincount(plan.trajectories.ravel(), minlength=len(data)) / plan.trajectories.size
    np.testing.assert_allclose(drawn, data.transitions / data.transitions.sum(), atol=0.01)
