"""OGBench's single tasks: copies in several processes take the same steps as the package's own environment."""

import json

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils import seeding

from rewind.envs import make, ogbench
from rewind.errors import MissingExtra, UsageError


def test_a_missing_package_is_one_line(monkeypatch):
    monkeypatch.setattr(ogbench, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"\[ogbench\]"):
        make("cube-single-singletask-task2-v0")


def test_an_unknown_task_is_one_line():
    pytest.importorskip("ogbench")
    with pytest.raises(UsageError, match="OGBench has no environment 'cube-single-singletask-task9-v0'"):
        ogbench._Copies("cube-single-singletask-task9-v0", 1)


@pytest.mark.long
def test_copies_that_share_a_model_take_the_steps_of_the_packages_environment():
    """In scenes, because their buttons lock the drawer and the window of one copy, not of the others."""
    package = pytest.importorskip("ogbench")
    copies = ogbench._Copies("scene-singletask-task4-v0", 2)
    single = package.make_env_and_datasets("scene-play-singletask-task4-v0", env_only=True)
    streams = [json.dumps(seeding.np_random(seed)[0].bit_generator.state) for seed in (5, 6)]
    begun = [copies.reset(index, stream) for index, stream in enumerate(streams)]
    buttons = single.unwrapped
    for index in (0, 1):
        copies.envs[index]._cur_button_states[:] = index
        copies._with_damping(index, copies.envs[index]._apply_button_states)
    actions = np.random.default_rng(0).uniform(-1, 1, (30, 2, 5)).astype(np.float32)
    played = [[copies.step(index, action[index]) for index in (0, 1)] for action in actions]
    for index in (0, 1):
        np.testing.assert_array_equal(single.reset(seed=5 + index)[0], begun[index])
        buttons._cur_button_states[:] = index
        buttons._apply_button_states()
        for step, action in zip(played, actions, strict=True):
            state, _, over, _, _ = single.step(action[index])
            np.testing.assert_array_equal(state, step[index][0])
            assert step[index][1] == over


@pytest.mark.long
def test_copies_in_processes_take_the_steps_of_the_packages_environment():
    package = pytest.importorskip("ogbench")
    env = make("rewind/ogbench-cube-single-play-task4-v0", 3, threads=2, autoreset_mode="Disabled")
    single = package.make_env_and_datasets("cube-single-play-singletask-task4-v0", env_only=True)
    assert env.max_episode_steps == single.spec.max_episode_steps == 200
    first, _ = env.reset(seed=[5, 6, 7])
    actions = np.random.default_rng(0).uniform(-1, 1, (201, 3, 5)).astype(np.float32)
    played = [env.step(action) for action in actions]
    assert played[-1][3].all() and not played[-2][1].any()  # cut, and idle afterwards
    for copy in (0, 2):
        np.testing.assert_array_equal(single.reset(seed=5 + copy)[0], first[copy])
        for (states, rewards, terminated, truncated, _), action in zip(played[:-1], actions, strict=False):
            state, _, over, cut, _ = single.step(action[copy])
            np.testing.assert_array_equal(state, states[copy])
            assert (rewards[copy], terminated[copy], truncated[copy]) == (over, over, cut)
    env.close()


def test_success_is_the_return_and_the_end():
    """The task's own goal is where copy 1 starts."""
    pytest.importorskip("ogbench")
    copies = ogbench._Copies("cube-single-singletask-task1-v0", 2)
    for index, own in enumerate(copies.envs):
        copies.reset(index, "")
        if index:
            own._data.joint("object_joint_0").qpos[:3] = own._data.mocap_pos[0]
            own.post_step()
    assert [copies.step(index, np.zeros(5, np.float32))[1] for index in (0, 1)] == [False, True]
