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
from rewind.errors import Abandoned, DataError, UsageError
from rewind.evaluation.scoring import Scorer, acting, networks_of, say_scores
from rewind.processes import Processes
from rewind.rebuilt.point import wander
from rewind.training import Stopped, make_runs, train
from rewind.training.evaluations import kept_in
from rewind.training.group import Group
from rewind.training.journal import Journal
from rewind.training.log import JsonLines
from rewind.training.trainer import Trainer

ROOT = Path(__file__).parents[2]
QUIET = {"progress": False, "batch_size": 8, "steps": 60, "evaluate_at": (20, 40), "log_every": 20}


@pytest.fixture(scope="module")
def data():
    return wander("umaze", 20, horizon=30)


def runs_of(data):
    return make_runs(data, "td3_bc", samplers=["baseline", "tr"], hidden=(8, 8))


def scorer():
    return Scorer("rewind/PointMaze-umaze-v0", 2)


def the_player(judge):
    """The program that answered last, and is asked next."""
    return judge._players._idle.queue[-1]._process


def scores(trained):
    return [(r["step"], r["length"], r["score"]) for result in trained for r in result.records if "score" in r]


def test_beside_the_training_is_the_same_as_in_between(data, beside, monkeypatch, capsys):
    between = scores(train(data, runs_of(data), scorer(), **QUIET))
    assert [step for step, _, _ in between] == [20, 40, 60] * 2
    monkeypatch.undo()
    again = train(data, runs_of(data), scorer(), on_evaluation=say_scores(["a", "b"]), **QUIET)
    assert np.allclose(scores(again), between, atol=1e-4)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [["step", str(step), "a"] for step in (20, 40, 60)]


@pytest.mark.parametrize("algorithm", ["td3_bc", "iql", "edac"])
def test_the_networks_that_are_handed_over_act_as_the_policies_do(data, algorithm):
    runs = make_runs(data, algorithm, seeds=range(3), hidden=(8, 8))
    group = Group(data, runs, range(3), 8)
    observations = data.observations[:12].reshape(3, 4, -1)
    networks = networks_of(group)
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
        for act in (acting(group, rows), networks_of(group).of(rows)):
            np.testing.assert_allclose(act(observations[rows]), alone[rows], atol=1e-5)


def test_each_run_plays_in_its_own_environment(data, mixed, monkeypatch):
    judge = Scorer(["here", "there", "here", "there"], 2)
    played = []

    def play(environment, act, seeds, stop):
        played.append((environment, len(seeds)))
        return {"score": np.array(seeds) % 1000 + (0.5 if environment == "there" else 0.0)}

    monkeypatch.setattr(judge, "_play", play)
    group = Group(data, mixed, range(4), 8)
    for portable in (False, True):
        monkeypatch.setattr(Scorer, "beside", portable)
        request = judge.request(group, 20)
        assert request.portable is portable
        monkeypatch.setattr(Scorer, "beside", False)  # no process of its own
        figures = judge.evaluate(request)
        np.testing.assert_array_equal(figures["score"], figures["evaluation_seed"] % 1000 + [0, 0.5, 0, 0.5])
    assert played == [("here", 2), ("there", 2)] * 2
    judge.evaluate(judge.request(Group(data, mixed[1:2], [1], 8), 20))  # by its number, whatever group it is in
    assert played[-1] == ("there", 1)


def test_a_policy_that_acts_in_its_own_way_is_evaluated_in_place(data, beside):
    class Shy(TD3BC):
        def act(self, policy, observations):
            return 0.1 * super().act(policy, observations)

    (run,) = make_runs(data, "td3_bc", hidden=(8, 8))
    agent = Shy(**{name: getattr(run.agent, name) for name in ("observation_size", "action_size", "hidden")})
    group = Group(data, [replace(run, agent=agent)], range(1), 8)
    assert networks_of(group) is None and not scorer().request(group, 20).portable
    journal = Journal({0: "x"}, scorer(), None, 0)
    journal.evaluate(group)
    assert journal.poll() == 0
    expected = {name: values[0] for name, values in scorer().evaluate(scorer().request(group, 0)).items()}
    assert journal.records == {0: [{"run": 0, "name": "x", "step": 0} | expected]}


def test_an_environment_that_only_this_process_knows_is_played_here(data, beside, capfd):
    point_maze = {"entry_point": "rewind.envs.pointmaze:single", "kwargs": {"maze": "umaze"}}
    gymnasium.register("OnlyHere-v0", max_episode_steps=30, disable_env_checker=True, **point_maze)
    try:
        trained = train(data, runs_of(data), Scorer("OnlyHere-v0", 2), **QUIET)
    finally:
        del gymnasium.registry["OnlyHere-v0"]
    assert [step for step, _, _ in scores(trained)] == [20, 40, 60] * 2
    said = capfd.readouterr().out
    assert said.count("evaluating in this process") == 1 and "OnlyHere-v0" in said


def test_runs_in_a_simulator_of_python_are_shared_among_players_who_give_what_one_gives(data, beside):
    """Pendulum has no array of simulations here. Each run's episodes are its own, whoever plays beside it."""
    swings = wander("umaze", 3, horizon=5)
    swings = replace(
        swings,
        observations=swings.observations[:, :3],
        final_observations=swings.final_observations[:, :3],
        actions=swings.actions[:, :1],
    )
    group = Group(swings, make_runs(swings, "td3_bc", seeds=range(3), hidden=(8, 8)), range(3), 8)
    figures = []
    for count in (1, 2):
        judge = Scorer("Pendulum-v1", 2)
        judge._players = Processes("rewind.evaluation.player", count)
        figures.append(judge.evaluate(judge.request(group, 20)))
        assert sum(player._process is not None for player in judge._players._idle.queue) == count
    np.testing.assert_equal(*figures)
    assert len(set(figures[0]["score"])) == 3


def test_a_player_that_is_gone_is_replaced_by_this_process(data, beside, capfd):
    judge, group = scorer(), Group(data, runs_of(data), range(2), 8)
    expected = judge.evaluate(judge.request(group, 20))
    the_player(judge).kill()
    again = judge.evaluate(judge.request(group, 20))
    np.testing.assert_equal(again, expected)
    assert (
        "evaluating in this process: the process rewind.evaluation.player ended with status -9"
        in capfd.readouterr().out
    )


def test_a_player_ends_with_whoever_asked_it(data, beside):
    judge, group = scorer(), Group(data, runs_of(data), range(2), 8)
    judge.evaluate(judge.request(group, 20))
    process = the_player(judge)
    assert process.poll() is None
    del judge
    assert process.wait(10) == -signal.SIGKILL


def test_training_goes_on_while_an_evaluation_waits(data, beside):
    """The first evaluation is not let go before training has reached the second."""
    second = threading.Event()

    class Slow(Scorer):
        def request(self, group, step):
            if step == 40:
                second.set()
            return super().request(group, step)

        def evaluate(self, request, stop):
            assert second.wait(60)
            return super().evaluate(request, stop)

    trained = train(data, runs_of(data), Slow("rewind/PointMaze-umaze-v0", 2), **QUIET)
    assert [step for step, _, _ in scores(trained)] == [20, 40, 60] * 2


def test_what_an_evaluation_raises_ends_the_training(data, beside):
    class Broken(Scorer):
        def evaluate(self, request, stop):
            raise RuntimeError("no simulator")

    with pytest.raises(RuntimeError, match="no simulator"):
        train(data, runs_of(data), Broken("rewind/PointMaze-umaze-v0", 2), **QUIET)


class Endless(Scorer):
    """Nobody comes back from its simulator, unless it is abandoned; it can be told to raise signals from there."""

    signals, deaf = 0, False

    def evaluate(self, request, stop):
        for _ in range(self.signals):
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGINT)
        while self.deaf or not stop():
            time.sleep(0.01)
        raise Abandoned


def endless():
    return Endless("rewind/PointMaze-umaze-v0", 2)


def stopping(after):
    """Asked so many times, it says stop."""
    asked = []
    return lambda: asked.append(0) or len(asked) == after


@pytest.mark.parametrize("there", ["gpu", "cpu"])
def test_whoever_stops_does_not_wait_for_evaluations_and_they_are_played_when_it_goes_on(
    data, beside, tmp_path, monkeypatch, there
):
    with pytest.raises(Stopped):
        train(data, runs_of(data), endless(), out=tmp_path, stop=stopping(2), **QUIET)
    folder = tmp_path / "group-0"
    assert [step for step, _ in kept_in(folder)] == [20, 40]
    monkeypatch.setattr(Scorer, "beside", there == "gpu")
    resumed = train(data, runs_of(data), scorer(), out=tmp_path, resume=True, **QUIET)
    whole = train(data, runs_of(data), scorer(), **QUIET)
    np.testing.assert_allclose(sorted(scores(resumed)), sorted(scores(whole)), atol=1e-4)
    assert not kept_in(folder)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert sorted(line["step"] for line in lines if "score" in line) == [20, 20, 40, 40, 60, 60]


def test_an_evaluation_after_the_checkpoint_or_in_the_log_is_not_played_twice(data, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Scorer, "beside", True)
        request = scorer().request(Group(data, runs_of(data), range(2), 8), 20)
    with pytest.raises(Stopped):
        train(data, runs_of(data), scorer(), out=tmp_path, stop=stopping(2), **QUIET)
    folder = tmp_path / "group-0"
    logged = {
        json.loads(line)["step"] for line in (folder / "metrics.jsonl").read_text().splitlines() if "score" in line
    }
    for step in (*logged, 60):  # killed before the file went; and beyond the checkpoint
        np.savez(folder / f"evaluation-{step:012d}.npz", **request.arrays)
    resumed = train(data, runs_of(data), scorer(), out=tmp_path, resume=True, **QUIET)
    assert sorted(step for step, _, _ in scores(resumed)) == [20, 20, 40, 40, 60, 60]
    np.testing.assert_allclose(sorted(scores(resumed)), sorted(scores(train(data, runs_of(data), scorer(), **QUIET))))


def test_an_evaluation_that_cannot_be_kept_is_waited_for(data, beside, tmp_path, monkeypatch, capfd):
    def full(*arguments, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rewind.training.evaluations.whole_file", full)
    with pytest.raises(Stopped):
        train(data, runs_of(data), scorer(), out=tmp_path, stop=stopping(2), **QUIET)
    lines = [json.loads(line) for line in (tmp_path / "group-0" / "metrics.jsonl").read_text().splitlines()]
    assert sorted({line["step"] for line in lines if "score" in line}) == [20, 40]
    assert "cannot be kept" in capfd.readouterr().out and not kept_in(tmp_path / "group-0")


def test_a_damaged_evaluation_is_named(data, beside, tmp_path):
    with pytest.raises(Stopped):
        train(data, runs_of(data), endless(), out=tmp_path, stop=stopping(2), **QUIET)
    _, first = kept_in(tmp_path / "group-0")[0]
    whole = first.read_bytes()
    for damaged in (whole[:-100], whole.replace(b"seeds.npy", b"seedy.npy")):
        first.write_bytes(damaged)
        with pytest.raises(DataError, match=r"evaluation-000000000020.npz, .* is damaged"):
            train(data, runs_of(data), scorer(), out=tmp_path, resume=True, **QUIET)
    first.unlink()
    resumed = train(data, runs_of(data), scorer(), out=tmp_path, resume=True, **QUIET)
    assert {step for step, _, _ in scores(resumed)} == {40, 60}


def test_what_was_left_is_played_as_it_was_to_be(data, beside, tmp_path):
    with pytest.raises(Stopped):
        train(data, runs_of(data), endless(), out=tmp_path, stop=stopping(2), **QUIET)
    with pytest.raises(UsageError, match="evaluated with 2 episodes, not 3"):
        train(data, runs_of(data), Scorer("rewind/PointMaze-umaze-v0", 3), out=tmp_path, resume=True, **QUIET)


def test_an_evaluation_of_which_only_a_part_was_logged_is_played_again(data, beside, tmp_path):
    with pytest.raises(Stopped):
        train(data, runs_of(data), endless(), out=tmp_path, stop=stopping(2), **QUIET)
    log = tmp_path / "group-0" / "metrics.jsonl"
    torn = json.dumps({"run": 0, "name": "x", "step": 20, "score": 77.0}) + '\n{"run": 1, "na'
    log.write_text(log.read_text() + torn)
    resumed = train(data, runs_of(data), scorer(), out=tmp_path, resume=True, **QUIET)
    whole = train(data, runs_of(data), scorer(), **QUIET)
    np.testing.assert_allclose(sorted(scores(resumed)), sorted(scores(whole)), atol=1e-4)


def test_an_evaluation_that_could_not_be_logged_stays_kept(data, beside, tmp_path, monkeypatch):
    def full(self, records):
        return "score" not in records[0] and write(self, records)

    write = JsonLines.write
    with monkeypatch.context() as patch:
        patch.setattr(JsonLines, "write", full)
        train(data, runs_of(data), scorer(), out=tmp_path, **QUIET)
    assert [step for step, _ in kept_in(tmp_path / "group-0")] == [20, 40, 60]
    resumed = train(data, runs_of(data), scorer(), out=tmp_path, resume=True, **QUIET)
    assert sorted(step for step, _, _ in scores(resumed)) == [20, 20, 40, 40, 60, 60]


def test_a_signal_ends_the_wait_for_the_last_evaluations(data, beside, tmp_path, monkeypatch):
    monkeypatch.setattr(Endless, "signals", 1)
    with pytest.raises(Stopped, match="while the last evaluations were under way"):
        train(data, runs_of(data), endless(), out=tmp_path, **{**QUIET, "evaluate_at": ()})
    resumed = train(data, runs_of(data), scorer(), out=tmp_path, resume=True, **{**QUIET, "evaluate_at": ()})
    assert [step for step, _, _ in scores(resumed)] == [60, 60]


PROGRAM = """
import sys
from rewind.training import train
from tests.evaluation.test_evaluation_aside import QUIET, Endless, endless, runs_of, wander

Endless.beside, Endless.signals, Endless.deaf = True, 2, True
data = wander("umaze", 20, horizon=30)
train(data, runs_of(data), endless(), **{**QUIET, "evaluate_at": ()})
"""


def test_a_second_ctrl_c_does_not_wait_for_an_evaluation_that_is_not_kept():
    """Neither does the end of the process."""
    command = [sys.executable, "-c", PROGRAM]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == -signal.SIGINT and "again to stop at once" in ended.stderr, ended.stderr
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize(
    ("folder", "unkept", "minutes", "due"),
    [("x", False, 1.5, True), ("x", True, 1.5, False), ("x", True, 2.5, True), (None, True, 2.5, False)],
)
def test_a_checkpoint_is_put_off_while_an_evaluation_would_be_lost(folder, unkept, minutes, due):
    trainer = SimpleNamespace(
        options=SimpleNamespace(checkpoint_minutes=1.0),
        folder=folder,
        journal=SimpleNamespace(unkept=unkept),
        _saved_at=time.monotonic() - 60 * minutes,
    )
    assert Trainer._checkpoint_due(trainer) is due
