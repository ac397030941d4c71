"""Hopper, HalfCheetah and Walker2d are Gymnasium's, bit for bit."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("mujoco.batch")

from rewind.envs.locomotion import TASKS, Locomotion

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def random_actions(stream, env, dtype=np.float32):
    """Some of them out of bounds, as a careless policy's."""
    return (1.2 * stream.uniform(-1, 1, env.action_space.shape) * env.single_action_space.high).astype(dtype)


@pytest.mark.parametrize("name", TASKS)
def test_thousands_of_steps_with_resets_equal_gymnasiums(name):
    ours, theirs = Locomotion(name, 3), gymnasium.make_vec(name, num_envs=3)
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.single_action_space == theirs.single_action_space
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    np.testing.assert_array_equal(ours.reset(seed=7)[0], theirs.reset(seed=7)[0])
    stream, ends = np.random.default_rng(0), 0
    for step in range(1200):
        actions = random_actions(stream, ours)
        for mine, reference in zip(ours.step(actions)[:4], theirs.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(mine, reference, err_msg=f"step {step}")
        ends += int((ours._terminated | ours._truncated).sum())
    assert ends >= 3


@pytest.mark.parametrize("name", ["Hopper-v4", "Walker2d-v4"])
def test_fallen_ones_that_play_on_are_gymnasiums_too(name):
    ours = Locomotion(name, 2, terminate_when_unhealthy=False)
    theirs = gymnasium.make_vec(name, num_envs=2, terminate_when_unhealthy=False)
    np.testing.assert_array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    stream = np.random.default_rng(0)
    for step in range(300):
        actions = random_actions(stream, ours)
        for mine, reference in zip(ours.step(actions)[:4], theirs.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(mine, reference, err_msg=f"step {step}")
    assert not ours._healthy().any()


@pytest.mark.parametrize("name", TASKS)
def test_float64_actions_and_given_states_too(name):
    ours, theirs = Locomotion(name, 1), gymnasium.make(name).unwrapped
    stream = np.random.default_rng(1)
    for _ in range(20):
        ours.reset(seed=0)
        theirs.reset(seed=0)
        qpos = ours.model.qpos0 + stream.normal(0, 0.1, ours.model.nq)
        qvel = stream.normal(0, 5.0, ours.model.nv)
        ours.set_state(np.array([0]), qpos[None], qvel[None])
        theirs.set_state(qpos, qvel)
        for _ in range(10):
            actions = random_actions(stream, ours, np.float64)
            mine, reference = ours.step(actions), theirs.step(actions[0])
            np.testing.assert_array_equal(mine[0][0], reference[0])
            assert (mine[1][0], mine[2][0]) == (reference[1], reference[2])
            if reference[2]:
                break


def test_steps_do_not_depend_on_the_number_of_threads():
    one, two = Locomotion("Walker2d-v4", 5, threads=1), Locomotion("Walker2d-v4", 5, threads=2)
    np.testing.assert_array_equal(one.reset(seed=0)[0], two.reset(seed=0)[0])
    stream = np.random.default_rng(0)
    for _ in range(100):
        actions = random_actions(stream, one)
        for left, right in zip(one.step(actions)[:4], two.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(left, right)
