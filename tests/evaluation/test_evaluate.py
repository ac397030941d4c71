"""Evaluation plays what a loop over single environments would have played."""

import json
import sys

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from rewind.data.catalogue import normalised_score
from rewind.errors import Abandoned, UsageError
from rewind.evaluation import Evaluator, evaluate, evaluation_steps, paper_score
from rewind.evaluation.evaluate import Evaluation, episode_seeds

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def linear(runs, observations, actions, scale=0.1):
    """A policy for each run."""
    weights = np.random.default_rng(0).normal(0, scale, (runs, observations, actions))
    return lambda states: np.tanh(states @ weights).astype(np.float32), weights


def naive(name, weights, seeds, horizon):
    """Episode after episode, in single environments."""
    returns, lengths = np.zeros(seeds.shape), np.zeros(seeds.shape, int)
    for run, row in enumerate(seeds):
        for episode, seed in enumerate(row):
            env = gymnasium.make(name)
            state, _ = env.reset(seed=int(seed))
            for _ in range(horizon):
                action = np.tanh(state[None] @ weights[run])[0].astype(np.float32)
                state, reward, terminated, truncated, _ = env.step(action)
                returns[run, episode] += reward
                lengths[run, episode] += 1
                if terminated or truncated:
                    break
    return returns, lengths


@pytest.mark.parametrize(
    ("name", "environment", "sizes", "horizon"),
    [
        ("hopper-medium-v2", "Hopper-v4", (11, 3), 1000),
        ("walker2d-medium-v2", "Walker2d-v4", (17, 6), 1000),
        ("halfcheetah-medium-v2", "HalfCheetah-v4", (17, 6), 30),
        ("antmaze-umaze-v0", "rewind/AntMaze-umaze-v0", (29, 8), 30),
        ("rewind/PointMaze-umaze-v0", "rewind/PointMaze-umaze-v0", (4, 2), 400),
        ("Pendulum-v1", "Pendulum-v1", (3, 1), 50),
    ],
)
def test_equals_a_loop_over_single_environments(name, environment, sizes, horizon):
    if environment not in ("Pendulum-v1", "rewind/PointMaze-umaze-v0"):
        pytest.importorskip("mujoco.batch")
    act, weights = linear(2, *sizes)
    result = evaluate(act, name, runs=2, episodes=3, seed=5, horizon=horizon)
    returns, lengths = naive(environment, weights, result.seeds, horizon)
    np.testing.assert_array_equal(result.lengths, lengths)
    np.testing.assert_allclose(result.returns, returns, rtol=1e-12)


def test_does_not_depend_on_the_number_of_threads():
    pytest.importorskip("mujoco.batch")
    act, _ = linear(2, 11, 3)
    one, two = (evaluate(act, "Hopper-v4", 2, 4, threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.returns, two.returns)


def test_an_evaluator_gives_the_same_again():
    act, _ = linear(1, 4, 2, scale=1.0)
    evaluator = Evaluator("rewind/PointMaze-umaze-v0", 1, 5)
    first, other, again = (evaluator(act, seed) for seed in (0, 1, 0))
    np.testing.assert_array_equal(first.lengths, again.lengths)
    np.testing.assert_array_equal(first.seeds, again.seeds)
    assert (first.seeds != other.seeds).all()


def test_an_episodes_seed_does_not_depend_on_how_many_there_are():
    many = episode_seeds(3, 4, 10)
    np.testing.assert_array_equal(episode_seeds(3, 2, 5), many[:2, :5])
    assert len(np.unique(many)) == many.size
    own = episode_seeds([8, 9], 2, 5)
    np.testing.assert_array_equal(episode_seeds([9], 1, 5), own[1:])


def test_episodes_end_at_the_next_step_once_nobody_waits_for_them():
    asked = iter([False, False, True])
    acted = []
    with pytest.raises(Abandoned):
        Evaluator("Pendulum-v1", 1, 1)(lambda states: acted.append(0) or np.zeros((1, 1, 1)), stop=lambda: next(asked))
    assert len(acted) == 2


def test_copies_with_simulators_of_their_own_are_played_in_parts(monkeypatch):
    act, _ = linear(2, 3, 1)
    whole = evaluate(act, "Pendulum-v1", 2, 6, horizon=10)
    monkeypatch.setattr(sys.modules["rewind.evaluation.evaluate"], "MOST_COPIES", 5)
    parts = Evaluator("Pendulum-v1", 2, 6, horizon=10)
    assert (parts.together, parts.env.num_envs) == (2, 4)
    np.testing.assert_array_equal(parts(act).returns, whole.returns)


def test_scores_are_the_catalogues():
    pytest.importorskip("mujoco.batch")
    act, _ = linear(2, 11, 3)
    result = evaluate(act, "hopper-medium-v2", 2, 2)
    np.testing.assert_allclose(result.scores, normalised_score("hopper-medium-v2", result.returns))
    np.testing.assert_allclose(result.score, result.scores.mean(axis=1))
    assert result.horizon == 1000
    ants = evaluate(lambda states: np.zeros((*states.shape[:2], 8)), "rewind/AntMaze-umaze-v2", 1, 2, horizon=3)
    np.testing.assert_array_equal(ants.scores, 100 * ants.returns)


def test_without_a_reference_the_score_is_the_return():
    act, _ = linear(1, 3, 1)
    result = evaluate(act, "Pendulum-v1", 1, 2, horizon=5)
    assert result.scores is None
    np.testing.assert_array_equal(result.score, result.returns.mean(axis=1))


def test_a_broken_run_is_reported_and_breaks_no_other():
    act, _ = linear(2, 4, 2)
    healthy = evaluate(act, "rewind/PointMaze-umaze-v0", 2, 3)
    broken = evaluate(
        lambda states: np.where(np.arange(2)[:, None, None] == 0, np.nan, act(states)),
        "rewind/PointMaze-umaze-v0",
        2,
        3,
    )
    assert np.isnan(broken.returns[0]).all()
    np.testing.assert_array_equal(broken.returns[1], healthy.returns[1])
    assert json.loads(json.dumps(broken.record()))["returns"][0] == [None] * 3


@pytest.mark.parametrize("lost", [[np.nan, np.nan], np.nan, np.inf], ids=["one-hot", "NaN", "infinite"])
def test_a_broken_run_of_discrete_actions_is_reported_and_breaks_no_other(lost):
    taken = [0.0, 1.0] if np.ndim(lost) else 1.0

    def policies(first):
        actions = np.array([first, taken])[:, None]
        return lambda states: np.broadcast_to(actions, (2, 3, *actions.shape[2:]))

    healthy, broken = evaluate(policies(taken), "CartPole-v1", 2, 3), evaluate(policies(lost), "CartPole-v1", 2, 3)
    assert np.isnan(broken.returns[0]).all() and healthy.returns.min() > 1
    np.testing.assert_array_equal(broken.returns[1], healthy.returns[1])


@pytest.mark.parametrize("action", [0.5, 2, -1])
def test_a_discrete_action_that_the_environment_does_not_have_is_an_error(action):
    with pytest.raises(UsageError, match=rf"the action {action}; CartPole-v1 takes whole numbers from 0 to 1"):
        evaluate(lambda states: np.full((1, 2), action), "CartPole-v1", 1, 2)


def test_a_record_holds_counts_and_seeds():
    act, _ = linear(1, 4, 2)
    record = evaluate(act, "rewind/PointMaze-umaze-v0", 1, 3, seed=2).record()
    assert (record["runs"], record["episodes"]) == (1, 3)
    assert record["seeds"] == episode_seeds(2, 1, 3).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": 0}, "at least one"),
        ({"runs": 2, "seed": [1, 2, 3]}, "3 seeds for 2 runs"),
        ({"act": lambda states: states}, r"\(1, 10, 4\).*\(1, 10, 2\).*observations of 4"),
        ({"env_name": "FrozenLake-v1"}, "needs vectors"),
    ],
)
def test_bad_calls_say_what_was_expected(arguments, message):
    defaults = {"act": lambda states: states[..., :2], "env_name": "rewind/PointMaze-umaze-v0"}
    with pytest.raises(UsageError, match=message):
        evaluate(**{**defaults, **arguments})


def of(*scores):
    """An evaluation in which the only run's mean return is that."""
    return [
        Evaluation("x", np.full((1, 10), score), np.ones((1, 10)), np.ones((1, 10)), None, None) for score in scores
    ]


def test_the_papers_score_is_the_mean_of_the_last_five_evaluations():
    result = paper_score(of(100.0, 1.0, 2.0, 3.0, 4.0, 5.0))
    assert (result.score[0], result.last[0], result.best[0], result.evaluations) == (3.0, 5.0, 100.0, 5)
    assert paper_score(of(1.0, 2.0)).evaluations == 2
    with pytest.raises(UsageError, match="no evaluations"):
        paper_score([])


def test_the_papers_evaluations_are_the_last_five_thousands():
    assert evaluation_steps(1_000_000, 250_000) == [
        250_000, 500_000, 750_000, 996_000, 997_000, 998_000, 999_000, 1_000_000,
    ]  # fmt: skip
    assert evaluation_steps(2_000, 500) == [500, 1_000, 1_500, 2_000]


def test_every_episode_on_antmaze_has_a_goal_of_its_own_also_in_v0():
    pytest.importorskip("mujoco.batch")
    act, _ = linear(2, 29, 8)
    goals = []
    for _ in range(2):
        evaluator = Evaluator("antmaze-umaze-v0", 2, 3, horizon=2)
        evaluator(act, seed=0)
        goals.append(evaluator.env.goals.copy())
    assert len(np.unique(goals[0], axis=0)) == 6
    np.testing.assert_array_equal(*goals)  # which ones is decided by the seed
    evaluator(act, seed=1)
    assert not (evaluator.env.goals == goals[0]).any()
