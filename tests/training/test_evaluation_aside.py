"""Evaluations that are played beside the training, as on an accelerator, give what they give in between."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("equinox")
pytest.importorskip("gymnasium")
pytest.importorskip("mujoco")

import jax.numpy as jnp

from rewind.agents.td3_bc import TD3BC
from rewind.behaviour.point import wander
from rewind.training import Stopped, evaluations, make_runs, train
from rewind.training.checkpoint import read_latest
from rewind.training.course import Course
from rewind.training.engine import to_host
from rewind.training.scoring import Scorer, Telling, acting_in_parts, acting_together

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


def test_beside_the_training_is_the_same_as_in_between(data, monkeypatch):
    between = scores(train(data, runs_of(data), scorer(), **QUIET))
    monkeypatch.setattr(evaluations, "current_device", lambda: SimpleNamespace(platform="gpu"))
    assert scores(train(data, runs_of(data), Telling(scorer(), ["a", "b"]), **QUIET)) == between
    assert [step for step, _, _ in between] == [20, 40, 60] * 2


def test_many_policies_act_in_parts_as_they_would_together():
    keys = jax.random.split(jax.random.PRNGKey(0), 40)
    agent = TD3BC(5, 2, hidden=(32, 32))
    agents = jax.tree.map(lambda leaf: jnp.stack([leaf] * 40), agent)
    policies = jax.vmap(lambda key: agent.init(key, 8).actor.params)(keys)
    observations = np.random.default_rng(0).normal(size=(40, 3, 5)).astype(np.float32)
    parts = acting_in_parts(TD3BC, to_host((agents, policies)), 40)
    together = acting_together(TD3BC)(agents, policies, observations)
    np.testing.assert_array_equal(parts(observations), together)


def test_without_a_cpu_in_jax_training_waits_and_says_what_to_set(data, beside, monkeypatch, capfd):
    """As with JAX_PLATFORMS=cuda."""
    there = jax.devices

    def devices(backend=None):
        if backend == "cpu":
            raise RuntimeError("Unknown backend cpu")
        return there(backend)

    monkeypatch.setattr(jax, "devices", devices)
    waited = scores(train(data, runs_of(data), scorer(), **QUIET))
    printed = capfd.readouterr().err
    assert "no CPU to play them on" in printed and ",cpu" in printed and printed.count("\n") == 1
    monkeypatch.undo()
    assert waited == scores(train(data, runs_of(data), scorer(), **QUIET))


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
