"""From a number to a transition: the tables and trees behind a sample."""

from __future__ import annotations

import numpy as np
import pytest

from rewind import PrioritizedReplay, TrajectoryReplay, UniformReplay
from rewind.memory.sumtree import empty_tree, fill_tree, find_leaf, find_leaves


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
        successors = np.where(last[:, None], store.finals[at], store.observations[(batch.indices + 1) % store.rows])
        np.testing.assert_array_equal(batch.next_observations, successors)
