"""AntMaze's task is D4RL's: observation, first states, goals, reward, horizon."""

import os
import subprocess
import sys

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("mujoco.batch")

from rewind.data.catalogue import catalogue
from rewind.envs import make
from rewind.envs.antmaze import AntMaze
from rewind.errors import UsageError

IDS = sorted({known.environment for known in catalogue().values() if known.suite == "antmaze"})
GOALS = {"umaze": (0, 8), "medium": (20, 20), "large": (32, 24)}


def test_the_catalogues_ids():
    assert sorted(f"rewind/AntMaze-{maze}-{version}" for maze in GOALS for version in ("v0", "v2")) == IDS


@pytest.mark.parametrize("name", IDS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*A Box observation space:UserWarning")
def test_gymnasiums_own_check_passes(name):
    from gymnasium.utils.env_checker import check_env

    single = gymnasium.make(name)
    check_env(single.unwrapped, skip_render_check=True)
    assert single.spec.max_episode_steps == (700 if "umaze" in name else 1000)
    assert gymnasium.make_vec(name, num_envs=2).max_episode_steps == single.spec.max_episode_steps


def test_observation_is_position_then_velocity():
    env = AntMaze(2)
    observations, _ = env.reset(seed=0)
    assert observations.shape == (2, 29)
    np.testing.assert_array_equal(observations[:, :15], env.qpos)
    np.testing.assert_array_equal(observations[:, 15:], env.qvel)


def test_first_states_are_distributed_as_d4rls():
    env = AntMaze(3000)
    observations, _ = env.reset(seed=0)
    noise = observations[:, [0, 1, 2, *range(7, 15)]] - [0, 0, 0.75, *[0] * 8]
    assert np.abs(noise).max() <= 0.1
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=0.005)
    np.testing.assert_allclose(noise.std(axis=0), 0.2 / np.sqrt(12), rtol=0.05)
    np.testing.assert_allclose(np.linalg.norm(observations[:, 3:7], axis=1), 1)
    np.testing.assert_allclose(observations[:, 15:].mean(axis=0), 0, atol=0.01)
    np.testing.assert_allclose(observations[:, 15:].std(axis=0), 0.1, rtol=0.06)


@pytest.mark.parametrize("maze", GOALS)
def test_goals_are_the_cells_centre_and_two_uniform_noises(maze):
    env = AntMaze(2000, maze)
    env.reset(seed=0)
    noise = env.goals - GOALS[maze]
    assert (noise.min(), noise.max()) == (pytest.approx(0, abs=0.1), pytest.approx(1.5, abs=0.1))
    np.testing.assert_allclose(noise.mean(axis=0), 0.75, atol=0.03)
    np.testing.assert_allclose(noise.var(axis=0), 1 / 12 + 1 / 48, rtol=0.1)


def test_many_starts_are_free_cells_without_goals():
    env = AntMaze(2000, "medium-data", start="anywhere")
    observations, _ = env.reset(seed=0)
    cells = np.floor(observations[:, :2] / 4).astype(int)
    noise = observations[:, :2] - 4 * cells
    assert noise.min() >= 0
    assert noise.max() <= 1
    drawn = {(int(row) + 1, int(column) + 1) for column, row in cells}
    assert drawn == {tuple(cell) for cell in env.maze.free.tolist()}


def test_v0_keeps_its_goal_and_v2_draws_it_at_each_reset():
    for version, kept in (("v0", True), ("v2", False)):
        env = make(f"rewind/AntMaze-large-{version}", 3, seed=0)
        first = env.goals.copy()
        env.reset()
        np.testing.assert_array_equal((env.goals == first).all(), kept)
        env.reset(seed=0)
        np.testing.assert_array_equal(env.goals, first)


def test_reward_and_end_within_half_a_metre_of_the_goal():
    env = AntMaze(3, autoreset_mode="Disabled")
    env.reset(seed=0)
    env.goals[:] = [0, 8]  # away from the walls
    places = np.tile(env.model.qpos0, (3, 1))
    places[:, :2] = env.goals + np.array([[0.0, 0.0], [0.33, 0.33], [0.37, 0.37]])
    env.set_state(np.arange(3), places, np.zeros((3, 14)))
    _, rewards, terminated, truncated, _ = env.step(np.zeros((3, 8)))
    np.testing.assert_array_equal(rewards, [1, 1, 0])
    np.testing.assert_array_equal(terminated, [True, True, False])
    assert not truncated.any()


def test_an_action_of_one_is_a_control_of_thirty_and_falling_does_not_end_an_episode():
    env = AntMaze(1)
    env.reset(seed=0)
    env.step(np.full((1, 8), 0.5, np.float32))
    np.testing.assert_array_equal(env.ctrl, 15.0)
    upside_down = env.model.qpos0.copy()
    upside_down[3:7] = [0, 1, 0, 0]
    env.set_state(np.array([0]), upside_down[None], np.zeros((1, 14)))
    for _ in range(20):
        assert not env.step(np.zeros((1, 8)))[2].any()


def test_episodes_are_cut_at_the_horizon():
    env = make("antmaze-umaze-v2", 1, seed=0)
    for step in range(1, 701):
        _, _, terminated, truncated, _ = env.step(np.zeros((1, 8), np.float32))
        assert (terminated[0], truncated[0]) == (False, step == 700)


def test_a_single_environment_steps_like_a_copy_of_many():
    single, many = gymnasium.make("rewind/AntMaze-medium-v2"), make("rewind/AntMaze-medium-v2", 3, seed=4)
    first, _ = single.reset(seed=5)
    np.testing.assert_array_equal(first, many._observe()[1])
    stream = np.random.default_rng(0)
    for _ in range(50):
        actions = stream.uniform(-1, 1, (3, 8)).astype(np.float32)
        np.testing.assert_array_equal(single.step(actions[1])[0], many.step(actions)[0][1])


def test_it_is_rendered_where_the_machine_can():
    env = AntMaze(2, render_mode="rgb_array")
    env.reset(seed=0)
    try:
        frames = env.render()
    except UsageError as error:
        assert "MUJOCO_GL" in str(error)
        pytest.skip("no OpenGL here")
    assert [frame.shape for frame in frames] == [(480, 480, 3)] * 2
    assert frames[0].std() > 10
    env.close()


@pytest.mark.skipif(sys.platform != "linux", reason="screens are found in other ways there")
def test_where_nothing_can_be_drawn_it_is_said_again_and_again():
    program = (
        "from rewind.envs.antmaze import AntMaze\n"
        "for _ in range(2):\n"
        "    env = AntMaze(1)\n"
        "    env.reset(seed=0)\n"
        "    try:\n"
        "        env.frame()\n"
        "    except ValueError as error:\n"
        "        print(error)\n"
    )
    without = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    without["MUJOCO_GL"] = "glfw"
    done = subprocess.run([sys.executable, "-c", program], env=without, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("MuJoCo cannot draw here") == 2
