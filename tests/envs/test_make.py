"""`make` finds the fast environment, or any, or says what is missing."""

import sys
from types import ModuleType

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from rewind.envs import make
from rewind.envs.vector import ArrayEnv
from rewind.errors import MissingExtra, UsageError


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("hopper-medium-v2", "Hopper-v4"),
        ("rewind/walker2d-medium-replay-v0", "Walker2d-v4"),
        ("antmaze-large-play-v0", "rewind/AntMaze-large-v0"),
        ("antmaze-umaze-v2", "rewind/AntMaze-umaze-v2"),
        ("HalfCheetah-v4", "HalfCheetah-v4"),
    ],
)
def test_data_sets_and_ids_lead_to_fast_environments(name, environment):
    pytest.importorskip("mujoco.batch")
    env = make(name, 2, seed=0)
    assert isinstance(env, ArrayEnv)
    assert env.spec.id == environment
    assert env.num_envs == 2


def test_others_come_from_gymnasium():
    env = make("Pendulum-v1", 2, seed=0)
    assert not isinstance(env, ArrayEnv)
    assert env.step(np.zeros((2, 1), np.float32))[0].shape == (2, 3)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("hoper-medium-v2", "'hopper-medium-v2'"),
        ("rewind/AntMaze-umase-v2", "'rewind/AntMaze-umaze-v2'"),
        ("rewind/PointMaze-larg-v0", "'rewind/PointMaze-large-v0'"),
        ("Pendulun-v1", "'Pendulum-v1'"),
    ],
)
def test_unknown_names_get_the_nearest(name, nearest):
    with pytest.raises(UsageError, match=f"did you mean .*{nearest}"):
        make(name)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.setitem(sys.modules, "gymnasium_robotics", None)
    with pytest.raises(MissingExtra, match=r"'gymnasium_robotics'.*\[robotics\]"):
        make("pen-cloned-v1")
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtra, match=r"'gymnasium'.*\[envs\]"):
        make("hopper-medium-v2")


def test_missing_mujoco_is_named_with_its_extra(monkeypatch):
    for module in [name for name in sys.modules if name.startswith(("rewind.envs.batched", "rewind.envs.locomotion"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtra, match=r"'mujoco'.*\[envs\]"):
        make("hopper-medium-v2")


def test_an_unknown_module_is_a_usage_error():
    with pytest.raises(UsageError, match="cannot be made"):
        make("no_such_package:Own-v0")


class Wordless(gymnasium.Env):
    def __init__(self):
        raise AssertionError


def test_a_constructor_that_fails_without_words_says_where(monkeypatch):
    monkeypatch.setitem(gymnasium.registry, "Wordless-v0", gymnasium.envs.registration.EnvSpec("Wordless-v0", Wordless))
    with pytest.raises(UsageError, match=r"AssertionError: raise AssertionError \(.*test_make.py, line \d+\)$"):
        make("Wordless-v0")


def test_robotics_that_newer_mujocos_broke_say_so(monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.setitem(sys.modules, "gymnasium_robotics", ModuleType("gymnasium_robotics"))
    spec = gymnasium.envs.registration.EnvSpec("FrankaKitchen-v9", Wordless)
    monkeypatch.setitem(gymnasium.registry, "FrankaKitchen-v9", spec)
    with pytest.raises(UsageError, match=r"Gymnasium-Robotics up to 1.4.2 .* 'mujoco<3.12'"):
        make("FrankaKitchen-v9")


def test_adroit_is_made_where_robotics_is_installed():
    pytest.importorskip("mujoco")
    pytest.importorskip("gymnasium_robotics")
    env = make("pen-expert-v1", 1, seed=0)
    assert env.single_observation_space.shape == (45,)
    assert env.single_action_space.shape == (24,)
