"""What all of Rewind's vector environments do alike."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from rewind.envs.pointmaze import PointMaze
from rewind.errors import UsageError

STILL = np.zeros((3, 2))


def test_next_step_resets_when_the_episode_is_over_and_ignores_the_action():
    env = PointMaze(3, max_episode_steps=2)
    env.reset(seed=0)
    env.step(STILL)
    assert env.step(STILL)[3].all()
    observations, rewards, terminated, truncated, _ = env.step(STILL + 1)
    np.testing.assert_array_equal(observations[:, 2:], 0)
    np.testing.assert_array_equal(rewards, 0)
    assert not (terminated | truncated).any()
    assert not env.step(STILL)[3].any()


def test_disabled_idles_until_the_copy_is_reset():
    env = PointMaze(3, max_episode_steps=1, autoreset_mode="Disabled")
    env.reset(seed=0)
    last = env.step(STILL + 1)[0]
    observations, rewards, _, truncated, _ = env.step(STILL + 1)
    np.testing.assert_array_equal(observations, last)
    np.testing.assert_array_equal(rewards, 0)
    assert truncated.all()
    observations, _ = env.reset(options={"reset_mask": np.array([False, True, False])})
    np.testing.assert_array_equal(observations[[0, 2]], last[[0, 2]])
    np.testing.assert_array_equal(observations[1, 2:], 0)
    moved = env.step(STILL + 1)[0]
    np.testing.assert_array_equal(moved[[0, 2]], last[[0, 2]])
    assert (moved[1] != observations[1]).any()


def test_each_copy_has_a_stream_of_its_own_that_its_seed_alone_decides():
    first = PointMaze(4).reset(seed=10)[0]
    np.testing.assert_array_equal(PointMaze(2).reset(seed=12)[0], first[2:])
    np.testing.assert_array_equal(PointMaze(2).reset(seed=[13, 10])[0], first[[3, 0]])
    assert len(np.unique(first[:, 0])) == 4


def test_streams_go_on_without_a_seed():
    left, right = PointMaze(2), PointMaze(2)
    left.reset(seed=1)
    right.reset(seed=1)
    np.testing.assert_array_equal(left.reset()[0], right.reset()[0])
    assert (left.reset()[0] != right.reset(seed=1)[0]).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PointMaze(0), "expected at least 1"),
        (lambda: PointMaze(1, autoreset_mode="SameStep"), "NEXT_STEP or DISABLED"),
        (lambda: PointMaze(1).step(np.zeros((1, 2))), "before the first reset"),
        (lambda: _ready(2).step(np.zeros((2, 3))), r"\(2, 3\); expected \(2, 2\)"),
        (lambda: _ready(2).reset(seed=[1, 2, 3]), "3 seeds for 2"),
        (lambda: _ready(2).reset(options={"reset_mask": np.ones(3, bool)}), "2 booleans"),
    ],
)
def test_bad_calls_say_what_was_expected(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def _ready(copies):
    env = PointMaze(copies)
    env.reset(seed=0)
    return env
