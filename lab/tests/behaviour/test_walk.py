"""The task that the ant's walker is trained on."""

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("gymnasium")

from rewind.envs.ant_model import uprightness
from rewind_lab.behaviour.walk import CRUISE, AntWalk, Walk


def test_walking_is_rewarded_by_its_speed_to_the_waypoint_up_to_a_cruise():
    env = AntWalk(4, Walk("umaze"))
    env.reset(seed=0)
    before, towards = env.qpos[:, :2].copy(), env._waypoints.copy()
    _, rewards, *_ = env.step(np.zeros((4, 8), np.float32))
    towards -= before
    towards /= np.linalg.norm(towards, axis=1, keepdims=True)
    expected = ((env.qpos[:, :2] - before) * towards).sum(axis=1) / env.dt
    np.testing.assert_allclose(rewards, np.minimum(expected, CRUISE))


def test_an_episode_ends_on_the_back_and_starts_anew_by_itself():
    env = AntWalk(2, Walk("umaze"))
    env.reset(seed=0)
    qpos, qvel = env.qpos.copy(), env.qvel.copy()
    qpos[0, 2], qpos[0, 3:7] = 0.6, (0.0, 1.0, 0.0, 0.0)
    env.set_state(np.arange(2), qpos, qvel)
    *_, terminated, truncated, _ = env.step(np.zeros((2, 8), np.float32))
    assert terminated.tolist() == [True, False]
    assert not truncated.any()
    env.reset(options={"reset_mask": terminated})
    assert (uprightness(env.qpos) > 0.9).all()


def test_a_goal_that_is_reached_is_followed_by_another():
    env = AntWalk(1, Walk("umaze"))
    env.reset(seed=0)
    before = env.qpos[0, :2].copy()
    env.goals[0] = before
    _, _, terminated, _, _ = env.step(np.zeros((1, 8), np.float32))
    assert not terminated.any()
    assert np.linalg.norm(env.goals[0] - before) > 0.1
