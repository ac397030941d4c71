"""Episodes put together: cuts, streams, and what mazes are labelled with."""

import numpy as np
import pytest

from rewind.rebuilt.collect import Episodes, episode_stream, join, to_trajectories, with_goal
from rewind.rebuilt.recipes import find_recipe, recipes


def episodes(lengths, seed=0):
    stream = np.random.default_rng(seed)
    rows, n = sum(lengths), len(lengths)
    return Episodes(
        stream.standard_normal((rows, 4)).astype(np.float32),
        stream.standard_normal((rows, 2)).astype(np.float32),
        stream.standard_normal(rows).astype(np.float32),
        np.array(lengths),
        np.ones(n, bool),
        stream.standard_normal((n, 4)).astype(np.float32),
    )


@pytest.mark.parametrize("rows", range(1, 11))
def test_a_cut_keeps_the_first_rows_and_ends_the_last_episode_as_a_time_out_with_its_true_next_state(rows):
    whole = episodes([3, 2, 5])
    data = to_trajectories(whole.cut(rows), find_recipe("rewind/hopper-medium-v0"), {})
    assert data.rows == rows and data.final_known.all()
    np.testing.assert_array_equal(data.observations, whole.observations[:rows])
    ends = np.array([3, 5, 10])
    whole_episodes = int((ends <= rows).sum())
    assert data.terminated.tolist() == [True] * whole_episodes + [False] * (rows not in ends)
    if rows not in ends:
        np.testing.assert_array_equal(data.final_observations[-1], whole.observations[rows])
    np.testing.assert_array_equal(data.final_observations[:whole_episodes], whole.finals[:whole_episodes])


def test_joined_episodes_stand_one_after_another():
    one, other = episodes([2, 3]), episodes([4], seed=1)
    both = join([one, other])
    assert both.lengths.tolist() == [2, 3, 4]
    np.testing.assert_array_equal(both.actions[5:], other.actions)


def test_streams_differ_by_seed_set_part_and_episode_and_by_nothing_else():
    keys = [(s, n, p, e) for s in (0, 1) for n in ("a", "b") for p in (0, 1) for e in (0, 1)]
    drawn = {episode_stream(*key).random() for key in keys}
    assert len(drawn) == len(keys) and drawn == {episode_stream(*key).random() for key in keys}


@pytest.mark.parametrize("name", [name for name, recipe in recipes().items() if recipe.maze])
def test_a_maze_is_labelled_with_the_middle_of_the_evaluations_goals_or_with_one_draw_of_them(name):
    pytest.importorskip("gymnasium")
    envs = pytest.importorskip("rewind.envs")
    recipe = find_recipe(name)
    env = envs.make(recipe.environment, 64, seed=0)
    assert env.spec.max_episode_steps == recipe.horizon
    middle = find_recipe(name.replace("-v1", "-v0")).maze.target
    offsets = env.goals - np.array(middle)
    spread = 0.75 if "Ant" in recipe.environment else 0.0  # uniform(0, 1) + uniform(0, 0.5): 1.5 wide
    assert np.abs(offsets).max() <= spread
    assert np.abs(offsets.mean(axis=0)).max() <= spread / 4
    assert recipe.maze.reached == __import__(type(env).__module__, fromlist=["REACHED"]).REACHED
    targets = np.array([with_goal(recipe, seed).maze.target for seed in range(20)])
    if name.endswith("-v0"):
        assert (targets == middle).all()
    elif recipe.maze.target is not None:  # a draw of the evaluation's goals, written down
        assert (targets == recipe.maze.target).all() and 0 < np.abs(targets - middle).max() <= spread
    else:  # another for every seed, always the same for one
        assert (targets == [with_goal(recipe, seed).maze.target for seed in range(20)]).all()
        assert len(np.unique(targets)) == 40 and np.abs(targets - middle).max() <= spread
        assert np.ptp(targets, axis=0).min() > spread


def test_a_maze_is_rewarded_and_terminal_exactly_where_the_next_state_is_at_the_one_goal():
    recipe = find_recipe("rewind/antmaze-umaze-v0")
    there, away, edge = np.array([0.75, 8.75, 0, 0]), np.zeros(4), np.array([0.75, 8.26, 0, 0])
    # two episodes; states: a walk past the goal that goes on, and one that ends there; each has another third entry
    paths = [[away, away, there, edge, away, away, there], [away, away, away, there]]
    states = [
        np.array(path) + [[0, 0, step + 10 * index, 0] for step in range(len(path))] for index, path in enumerate(paths)
    ]
    played = Episodes(
        np.concatenate([path[:-1] for path in states]).astype(np.float32),
        np.zeros((9, 2), np.float32),
        np.full(9, 7.0, np.float32),  # the simulator's own rewards do not count
        np.array([6, 3]),
        np.array([False, True]),
        np.stack([path[-1] for path in states]).astype(np.float32),
    )
    data = to_trajectories(played, recipe, {"environment": recipe.environment})
    assert data.rewards.tolist() == [0, 1, 1, 0, 0, 1, 0, 0, 1]
    np.testing.assert_array_equal(data.terminals, data.rewards == 1)
    assert data.lengths.tolist() == [3, 3, 3]  # the run of successes ends a trajectory; what follows is another
    after = data.successors(np.arange(9))
    np.testing.assert_array_equal(after[:, 2], [1, 2, 3, 4, 5, 6, 11, 12, 13])
    assert data.final_known.all() and data.notes["environment"] == "rewind/AntMaze-umaze-v0"
