"""Evaluations that are played beside the training, as on an accelerator, give what they give in between."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("equinox")
gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("mujoco")

from rewind.agents.td3_bc import TD3BC
from rewind.behaviour.point import wander
from rewind.training import Stopped, make_runs, train
from rewind.training.checkpoint import read_latest
from rewind.training.course import Course
from rewind.training.group import Group
from rewind.training.scoring import Scorer, Telling, acting, kept_networks

ROOT = Path(__file__).parents[2]
QUIET = {"progress": False, "batch_size": 8, "steps": 60, "evaluate_at": (20, 40), "log_every": 20}


@pytest.fixture(scope="module")
def data():
    return wander("umaze", 20, horizon=30)


def runs_of(data):
    return make_runs(data, "td3_bc", samplers=["baseline", "tr"], hidden=(8, 8))


def scorer():
    return Scorer("rewind/PointMaze-umaze-v0", 2)


def scores(trained):
    return [(r["step"], r["length"], r["score"]) for result in trained for r in result.records if "score" in r]


def test_beside_the_training_is_the_same_as_in_between(data, beside, monkeypatch):
    between = scores(train(data, runs_of(data), scorer(), **QUIET))
    assert [step for step, _, _ in between] == [20, 40, 60] * 2
    monkeypatch.undo()
    assert np.allclose(scores(train(data, runs_of(data), Telling(scorer(), ["a", "b"]), **QUIET)), between, atol=1e-4)


@pytest.mark.parametrize("algorithm", ["td3_bc", "iql", "edac"])
def test_the_networks_that_are_handed_over_act_as_the_policies_do(data, algorithm):
    runs = make_runs(data, algorithm, seeds=range(3), hidden=(8, 8))
    group = Group(data, runs, range(3), 8)
    observations = data.observations[:12].reshape(3, 4, -1)
    networks = kept_networks(group)()
    np.testing.assert_allclose(networks(observations), acting(group)(observations), atol=1e-5)


@pytest.fixture(scope="module")
def mixed(data):
    """Runs on two data sets in turns, whose observations are far from each other."""
    other = replace(data, observations=10 * data.observations + 3, final_observations=10 * data.final_observations + 3)
    return [
        replace(run, data=own)
        for run in make_runs(data, "td3_bc", seeds=range(2), hidden=(8, 8))
        for own in (data, other)
    ]


def test_each_run_sees_its_own_data_normalised_by_itself(data, mixed):
    group = Group(data, mixed, range(4), 8)
    observations = np.random.default_rng(0).normal(size=(4, 3, 4))
    alone = np.stack([acting(Group(data, [run], [0], 8))(observations[[at]])[0] for at, run in enumerate(mixed)])
    assert np.abs(alone[0] - alone[1]).max() > 1e-3 and np.abs(alone[0] - alone[2]).max() > 1e-3
    np.testing.assert_allclose(acting(group)(observations), alone, atol=1e-5)
    for rows in ([3, 0], [1], [2, 1, 0]):
        for act in (acting(group, rows), kept_networks(group)().of(rows)):
            np.testing.assert_allclose(act(observations[rows]), alone[rows], atol=1e-5)


def test_each_run_plays_in_its_own_environment(data, mixed, monkeypatch):
    judge = Scorer(["here", "there", "here", "there"], 2)
    played = []

    def play(environment, act, seeds):
        played.append((environment, len(seeds)))
        return {"score": np.array(seeds) % 1000 + (0.5 if environment == "there" else 0.0)}

    monkeypatch.setattr(judge, "_play", play)
    monkeypatch.setattr(judge, "_play_elsewhere", play)
    group = Group(data, mixed, range(4), 8)
    for figures in (judge(group, 20), judge.later(group, 20)()):
        np.testing.assert_array_equal(figures["score"], figures["evaluation_seed"] % 1000 + [0, 0.5, 0, 0.5])
    assert played == [("here", 2), ("there", 2)] * 2
    judge(Group(data, mixed[1:2], [1], 8), 20)  # by its number, whatever group it is in
    assert played[-1] == ("there", 1)


def test_a_policy_that_acts_in_its_own_way_is_evaluated_in_place(data, beside):
    class Shy(TD3BC):
        def act(self, policy, observations):
            return 0.1 * super().act(policy, observations)

    (run,) = make_runs(data, "td3_bc", hidden=(8, 8))
    agent = Shy(**{name: getattr(run.agent, name) for name in ("observation_size", "action_size", "hidden")})
    group = Group(data, [replace(run, agent=agent)], range(1), 8)
    assert kept_networks(group) is None
    np.testing.assert_equal(scorer().later(group, 20)(), scorer()(group, 20))


def test_an_environment_that_only_this_process_knows_is_played_here(data, beside, capfd):
    point_maze = {"entry_point": "rewind.envs.pointmaze:single", "kwargs": {"maze": "umaze"}}
    gymnasium.register("OnlyHere-v0", max_episode_steps=30, disable_env_checker=True, **point_maze)
    try:
        trained = train(data, runs_of(data), Scorer("OnlyHere-v0", 2), **QUIET)
    finally:
        del gymnasium.registry["OnlyHere-v0"]
    assert [step for step, _, _ in scores(trained)] == [20, 40, 60] * 2
    said = capfd.readouterr().out
    assert said.count("played in this process") == 1 and "OnlyHere-v0" in said


def test_a_player_that_is_gone_is_replaced_by_this_process(data, beside, capfd):
    judge, group = scorer(), Group(data, runs_of(data), range(2), 8)
    expected = judge.later(group, 20)()
    judge._player._process.kill()
    again = judge.later(group, 20)()
    np.testing.assert_equal(again, expected)
    assert "played in this process: the process that plays evaluations ended with status -9" in capfd.readouterr().out


def test_a_player_ends_with_whoever_asked_it(data, beside):
    judge, group = scorer(), Group(data, runs_of(data), range(2), 8)
    judge.later(group, 20)()
    process = judge._player._process
    assert process.poll() is None
    del judge
    assert process.wait(10) == -signal.SIGKILL


def test_training_goes_on_while_an_evaluation_waits(data, beside):
    """The first evaluation is not let go before training has reached the second."""
    second = threading.Event()

    class Slow(Scorer):
        def later(self, group, step):
            if step == 40:
                second.set()
            play = super().later(group, step)

            def wait_first():
                assert second.wait(60)
                return play()

            return wait_first

    trained = train(data, runs_of(data), Slow("rewind/PointMaze-umaze-v0", 2), **QUIET)
    assert [step for step, _, _ in scores(trained)] == [20, 40, 60] * 2


def test_what_an_evaluation_raises_ends_the_training(data, beside):
    class Broken(Scorer):
        def later(self, group, step):
            def fail():
                raise RuntimeError("no simulator")

            return fail

    with pytest.raises(RuntimeError, match="no simulator"):
        train(data, runs_of(data), Broken("rewind/PointMaze-umaze-v0", 2), **QUIET)


def test_a_checkpoint_has_all_evaluations_before_it(data, beside, tmp_path):
    asked = []

    def stop():
        asked.append(0)
        return len(asked) == 2

    with pytest.raises(Stopped):
        train(data, runs_of(data), scorer(), out=tmp_path, stop=stop, **QUIET)
    lines = [json.loads(line) for line in (tmp_path / "group-0" / "metrics.jsonl").read_text().splitlines()]
    assert sorted({line["step"] for line in lines if "score" in line}) == [20, 40]
    resumed = train(data, runs_of(data), scorer(), out=tmp_path, resume=True, **QUIET)
    whole = train(data, runs_of(data), scorer(), **QUIET)
    np.testing.assert_equal(scores(resumed), scores(whole))


PROGRAM = """
import os, signal, sys, time
from types import SimpleNamespace
from rewind.training import evaluations, train
from tests.training.test_evaluation_aside import QUIET, Scorer, runs_of, wander

class Endless(Scorer):
    def later(self, group, step):
        def play():
            for _ in range(2):
                time.sleep(0.5)
                os.kill(os.getpid(), signal.SIGINT)
            while True:
                time.sleep(0.01)
        return play

evaluations.current_device = lambda: SimpleNamespace(platform="gpu")
data = wander("umaze", 20, horizon=30)
train(data, runs_of(data), Endless("rewind/PointMaze-umaze-v0", 2), out=sys.argv[1], checkpoint_minutes=0,
      **{**QUIET, "evaluate_at": (40,)})
"""


def test_a_second_ctrl_c_does_not_wait_for_an_evaluation(data, tmp_path):
    """Neither does the end of the process, and what was saved before is whole."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "run")]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == -signal.SIGINT and "again to stop at once" in ended.stderr, ended.stderr
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt")
    content, problems = read_latest(tmp_path / "run" / "group-0")
    assert content is not None and not problems
    again = {**QUIET, "evaluate_at": (40,), "out": tmp_path / "run", "resume": True}
    assert [step for step, _, _ in scores(train(data, runs_of(data), scorer(), **again))] == [40, 60] * 2


@pytest.mark.parametrize(("under_way", "minutes", "due"), [(False, 1.5, True), (True, 1.5, False), (True, 2.5, True)])
def test_a_checkpoint_is_put_off_while_an_evaluation_is_under_way(under_way, minutes, due):
    course = SimpleNamespace(
        options=SimpleNamespace(checkpoint_minutes=1.0),
        evaluations=SimpleNamespace(under_way=under_way),
        _saved_at=time.monotonic() - 60 * minutes,
    )
    assert Course._checkpoint_due(course) is due
