"""PointMaze moves as its documentation says."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from rewind.envs import make
from rewind.envs.pointmaze import PointMaze

IDS = [f"rewind/PointMaze-{maze}-v0" for maze in ("umaze", "medium", "large")]


@pytest.mark.parametrize("name", IDS)
@pytest.mark.filterwarnings("ignore:.*A Box observation space:UserWarning")
def test_gymnasiums_own_check_passes(name):
    from gymnasium.utils.env_checker import check_env

    check_env(gymnasium.make(name).unwrapped, skip_render_check=True)


def test_free_motion_follows_the_formula():
    env = PointMaze(1)
    env.reset(seed=0)
    position, velocity = env.positions[0].copy(), np.zeros(2)
    for _ in range(5):
        action = np.array([0.3, -0.02])
        observations = env.step(action[None])[0]
        velocity += 0.1 * (5.0 * action - 2.5 * velocity)
        position += 0.1 * velocity
        np.testing.assert_allclose(observations[0], [*position, *velocity], atol=1e-12)


@pytest.mark.parametrize("name", IDS)
def test_the_body_never_overlaps_a_wall(name):
    env = make(name, 100, seed=0, start="anywhere", max_episode_steps=None, autoreset_mode="Disabled")
    stream = np.random.default_rng(0)
    for step in range(300):
        if step % 8 == 0:
            actions = stream.uniform(-1, 1, (100, 2))
        env.step(actions)
        assert np.abs(env.velocities).max() <= 2.0
        for corner in ((-0.1, -0.1), (-0.1, 0.1), (0.1, -0.1), (0.1, 0.1)):
            cells = np.floor(env.positions + corner + 0.5).astype(int)[:, ::-1] + env.maze.start
            assert not env.maze.walls[cells[:, 0], cells[:, 1]].any()


def test_a_wall_stops_one_axis_and_not_the_other():
    env = PointMaze(1)
    env.reset(seed=0)
    for _ in range(10):
        env.step(np.array([[0.5, -1.0]]))
    assert env.positions[0, 1] == pytest.approx(-0.4)
    assert env.velocities[0, 1] == 0
    assert env.velocities[0, 0] > 0.5


def test_reward_and_end_within_half_a_metre_of_the_goal():
    env = PointMaze(2, autoreset_mode="Disabled")
    env.reset(seed=0)
    env.positions[:] = env.goals + np.array([[0.3, 0.3], [0.4, 0.4]])
    _, rewards, terminated, _, _ = env.step(np.zeros((2, 2)))
    np.testing.assert_array_equal(rewards, [1, 0])
    np.testing.assert_array_equal(terminated, [True, False])


@pytest.mark.parametrize(("name", "horizon"), list(zip(IDS, (150, 300, 400), strict=True)))
def test_a_good_driver_needs_half_the_horizon_at_most(name, horizon):
    """Waypoints by breadth-first search from the goal, pushed towards with damping."""
    env = make(name, 4, seed=0, autoreset_mode="Disabled")
    assert env.max_episode_steps == horizon
    distance = {tuple(env.maze.goals[0]): 0}
    border = [tuple(env.maze.goals[0])]
    for row, column in border:
        for cell in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if not env.maze.walls[cell] and cell not in distance:
                distance[cell] = distance[row, column] + 1
                border.append(cell)
    for _ in range(horizon // 2):
        actions = np.zeros((4, 2))
        for index, (position, velocity) in enumerate(zip(env.positions, env.velocities, strict=True)):
            row, column = np.floor(position + 0.5).astype(int)[::-1] + env.maze.start
            near = [(row, column), (row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
            best = min((cell for cell in near if cell in distance), key=distance.__getitem__)
            wanted = env.maze.centres(np.array(best), 1.0) - position
            actions[index] = np.clip(3.0 * wanted - velocity, -1, 1)
        _, _, terminated, _, _ = env.step(actions)
        if terminated.all():
            break
    assert terminated.all()
