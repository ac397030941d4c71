"""The shortest way through a maze, and the data of a point that follows it."""

import numpy as np
import pytest

from rewind import UsageError
from rewind.envs.mazes import MAZES
from rewind.rebuilt.point import Waypoints, distances

pytest.importorskip("gymnasium")

from rewind.envs.pointmaze import REACHED
from rewind.rebuilt.point import wander


def test_distances_are_those_of_the_corridor():
    maze = MAZES["umaze"]
    steps = distances(maze, (3, 1))
    assert [steps[cell] for cell in ((3, 1), (3, 2), (3, 3), (2, 3), (1, 3), (1, 2), (1, 1))] == list(range(7))
    assert np.isinf(steps[2, 1])


@pytest.mark.parametrize("name", MAZES)
def test_following_waypoints_leads_from_everywhere_to_everywhere_by_the_shortest_way(name):
    maze = MAZES[name]
    waypoints = Waypoints(maze, 4.0)
    for goal in maze.passable[::3]:
        positions = maze.centres(maze.passable, 4.0)
        goals = np.tile(goal, (len(positions), 1))
        steps = distances(maze, tuple(goal))
        for _ in range(int(steps[np.isfinite(steps)].max())):
            positions = waypoints.next(positions, goals)
        np.testing.assert_array_equal(positions, maze.centres(goals, 4.0))


def test_a_wall_is_no_goal():
    with pytest.raises(UsageError, match="is a wall"):
        Waypoints(MAZES["umaze"], 1.0).next(np.zeros((1, 2)), np.array([[0, 0]]))


def test_wandering_data_is_rewarded_and_ended_at_the_goal_alone_and_made_again_from_its_seed():
    data, again, other = wander("medium", 60), wander("medium", 60), wander("medium", 60, seed=1)
    assert data.fingerprint == again.fingerprint != other.fingerprint
    goal = MAZES["medium"].centres(MAZES["medium"].goals[0], 1.0)
    after = data.successors(np.arange(data.rows))
    at_goal = np.linalg.norm(after[:, :2] - goal, axis=1) <= REACHED
    np.testing.assert_array_equal(data.rewards, at_goal)
    np.testing.assert_array_equal(data.terminals, at_goal)
    assert 0 < data.terminated.sum() < 30 and data.final_known.all()
    assert np.abs(data.actions).max() <= 1.0 and data.notes["environment"] == "rewind/PointMaze-medium-v0"
