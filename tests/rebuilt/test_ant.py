"""The ant's waypoints, what its walker sees, and where its episodes end."""

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("gymnasium")

from rewind.envs.ant_model import CELL
from rewind.rebuilt.ant import AntNavigator, LingeringAnt, walker_observations

NO_JITTER = np.zeros((1, 2))


def walk(navigator, position, goal):
    """Follow the waypoints exactly; returns the cells passed."""
    here, passed = np.asarray([position], float), []
    for _ in range(60):
        waypoint = navigator.waypoints(here, np.asarray([goal], float), NO_JITTER + 0.5)
        if np.allclose(waypoint[0], goal):
            return passed
        passed.append(tuple(navigator.cells(waypoint)[0]))
        here = waypoint
    raise AssertionError("never arrived")


@pytest.mark.parametrize("maze", ["umaze", "medium-data", "large-data"])
def test_waypoints_lead_to_every_goal_on_free_cells_only(maze):
    navigator = AntNavigator(maze)
    for cell in navigator.maze.passable:
        goal = navigator.maze.centres(cell, CELL) + 0.5
        passed = walk(navigator, (0.5, 0.5), goal)
        assert not any(navigator.maze.walls[each] for each in passed)


def test_umaze_leads_around_the_wall():
    assert walk(AntNavigator("umaze"), (0.5, 0.5), (0.5, 8.5)) == [(1, 2), (1, 3), (2, 3), (3, 3), (3, 2)]


def test_cells_run_from_centre_to_centre():
    cells = AntNavigator("umaze").cells(np.array([[-1.0, -1.0], [3.9, 0.0], [4.0, 0.0], [8.1, 7.9]]))
    assert cells.tolist() == [[1, 1], [1, 1], [1, 2], [2, 3]]


def test_an_ant_in_a_cell_that_counts_as_wall_still_gets_a_way():
    navigator = AntNavigator("umaze")
    position = np.array([[6.5, 4.5]])  # in the right corridor, but nearer to it than its centre: column 2, a wall
    assert navigator.maze.walls[tuple(navigator.cells(position)[0])]
    waypoint = navigator.waypoints(position, np.array([[0.5, 8.5]]), NO_JITTER)
    assert not navigator.maze.walls[tuple(navigator.cells(waypoint)[0])]


def test_the_goal_itself_once_its_cell_is_next():
    navigator, goal = AntNavigator("umaze"), np.array([[0.7, 8.9]])
    assert (navigator.waypoints(np.array([[4.5, 8.5]]), goal, NO_JITTER + 0.9) == goal).all()
    assert (navigator.waypoints(np.array([[0.1, 8.2]]), goal, NO_JITTER + 0.9) == goal).all()


def test_an_episode_lingers_for_its_own_number_of_steps_after_its_goal_wherever_the_ant_is_then():
    env = LingeringAnt(4, "umaze", autoreset_mode="Disabled", max_episode_steps=9)
    for _ in range(2):  # a reset starts anew
        env.reset(seed=0)
        env.goals[:], env.linger[:] = env.qpos[:, :2], (0, 2, 5, 9)
        env.goals[2] = np.inf
        ended = []
        for step in range(9):
            ended.append(env.step(np.zeros((4, 8)))[2])
            env.goals[1] = np.inf if step == 0 else env.goals[1]
        assert np.sum(ended, axis=0).tolist() == [9, 7, 0, 0]  # from the first, the third step on; never


def test_the_walker_sees_no_place_but_a_direction():
    observations = np.arange(58.0).reshape(2, 29)
    seen = walker_observations(observations, observations[:, :2] + [[3.0, 4.0], [0.0, -0.1]])
    assert seen.shape == (2, 29)
    assert (seen[:, :27] == observations[:, 2:]).all()
    np.testing.assert_allclose(seen[:, 27:], [[6.0, 8.0], [0.0, -10.0]])
