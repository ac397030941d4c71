"""Checkpoints: whole or not at all, and continued exactly."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("jax")
pytest.importorskip("equinox")

from rewind import RewindError, UsageError
from rewind.training import Stopped, make_runs, train
from rewind.training.checkpoint import (
    DamagedCheckpoint,
    checkpoints,
    read_checkpoint,
    read_latest,
    write_checkpoint,
)
from rewind.training.log import WeightsAndBiases
from tests.helpers import make

ROOT = Path(__file__).parents[2]
SMALL = {"hidden": (16, 16)}


def test_content_out_and_in_is_equal(tmp_path):
    content = {"a": np.arange(3), "b": [1, 2.5, "x", None, True], "c": {"d": np.zeros((2, 0), np.float32)}}
    back = read_checkpoint(write_checkpoint(tmp_path, 7, content))
    assert np.array_equal(back["a"], content["a"]) and back["b"] == content["b"]
    assert back["c"]["d"].shape == (2, 0) and back["c"]["d"].dtype == np.float32


def test_the_last_two_are_kept(tmp_path):
    for step in (1, 20, 3, 100):
        write_checkpoint(tmp_path, step, {"step": step})
    assert [read_checkpoint(path)["step"] for path in checkpoints(tmp_path)] == [100, 20]


@settings(deadline=None, max_examples=60)
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_one_flipped_bit_anywhere_is_detected(tmp_path_factory, where, bit):
    folder = tmp_path_factory.mktemp("flip")
    path = write_checkpoint(folder, 1, {"a": np.arange(100)})
    data = bytearray(path.read_bytes())
    data[int(where * len(data))] ^= 1 << bit
    path.write_bytes(data)
    with pytest.raises(DamagedCheckpoint):
        read_checkpoint(path)


def test_a_damaged_checkpoint_is_passed_over(tmp_path):
    write_checkpoint(tmp_path, 1, {"step": 1})
    newer = write_checkpoint(tmp_path, 2, {"step": 2})
    newer.write_bytes(newer.read_bytes()[:-10])
    content, problems = read_latest(tmp_path)
    assert content["step"] == 1 and "step-000000000002.checkpoint is damaged" in problems[0]


# Training and resuming

DATA = make(np.random.default_rng(0).integers(5, 25, 40), known=1.0)
STEPS = 1000


def described():
    return make_runs(DATA, "td3_bc", samplers=["baseline", "tr", "lower_uqm_unc"], betas=[0.5], seeds=[0, 1], **SMALL)


def leaves(trained):
    import jax

    return [leaf for result in trained for leaf in jax.tree.leaves(result.policy)]


def go(out=None, **settings):
    settings = {"steps": STEPS, "batch_size": 8, "block": 10, "log_every": 50, "progress": False, **settings}
    return train(DATA, described(), out=out, **settings)


def assert_same(first, second):
    for a, b in zip(leaves(first), leaves(second), strict=True):
        assert np.array_equal(a, b)
    for one, other in zip(first, second, strict=True):
        assert regular(one.records) == regular(other.records)


def regular(records):
    """Those of the regular intervals; where training was told to end earlier there is one more."""
    return [record for record in records if record["step"] % 50 == 0]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    return go(tmp_path_factory.mktemp("whole") / "run")


def test_resuming_continues_bit_for_bit(tmp_path, uninterrupted):
    go(tmp_path / "run", steps=130)
    assert_same(go(tmp_path / "run", resume=True), uninterrupted)
    lines = [json.loads(line) for line in (tmp_path / "run/group-0/metrics.jsonl").read_text().splitlines()]
    steps = [line["step"] for line in lines if line["run"] == 0]
    assert steps == sorted(set(steps)) and steps[-1] == STEPS


def test_a_damaged_checkpoint_costs_only_the_steps_since_the_one_before(tmp_path, uninterrupted, capsys):
    go(tmp_path / "run", steps=130, checkpoint_minutes=0)
    newest = checkpoints(tmp_path / "run/group-0")[0]
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    assert_same(go(tmp_path / "run", resume=True), uninterrupted)
    assert "is damaged" in capsys.readouterr().err


def test_another_configuration_is_refused_with_the_difference(tmp_path):
    go(tmp_path / "run", steps=20)
    with pytest.raises(UsageError, match=r"batch_size: was 8, is 16"):
        go(tmp_path / "run", steps=20, batch_size=16, resume=True)
    with pytest.raises(UsageError, match="resume it"):
        go(tmp_path / "run", steps=20)


def no_space(*arguments):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_record_is_compared_as_it_was_written(tmp_path):
    about = {"log": tmp_path / "log.csv", "share": float("nan")}
    go(tmp_path / "run", steps=20, record=about)
    go(tmp_path / "run", steps=40, record=about, resume=True)


def test_a_full_disk_stops_nothing(tmp_path, monkeypatch, capsys, uninterrupted):
    with monkeypatch.context() as patch:
        patch.setattr("rewind.training.checkpoint.whole_file", no_space)
        trained = go(tmp_path / "run", checkpoint_minutes=0)
    assert "could not be written" in capsys.readouterr().err
    assert_same(trained, uninterrupted)  # nothing that was learned is lost
    assert not list((tmp_path / "run/group-0").glob("*.tmp*")) and not checkpoints(tmp_path / "run/group-0")
    assert_same(go(tmp_path / "run", resume=True), uninterrupted)


PROGRAM = """
import sys
from pathlib import Path
from tests.training.test_checkpoint import go, leaves
import numpy as np
trained = go(Path(sys.argv[1]), resume=True, checkpoint_minutes=0)
np.savez(sys.argv[1] + ".npz", *leaves(trained))
"""


def start(folder):
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)


def newest(folder):
    found = checkpoints(folder / "group-0")
    return found[0].name if found else ""


def wait_for_checkpoint(folder, process, after, seconds=120):
    """Until the process has written a checkpoint of its own."""
    begin = time.monotonic()
    while newest(folder) <= after:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() - begin < seconds
        time.sleep(0.01)


@pytest.mark.long  # lab/tests/test_chaos.py has a short one
def test_killed_at_random_moments_it_still_ends_where_the_uninterrupted_run_ends(tmp_path, uninterrupted):
    folder = tmp_path / "run"
    moments = random.Random(0)
    for _ in range(3):
        before = newest(folder)
        process = start(folder)
        wait_for_checkpoint(folder, process, before)
        time.sleep(moments.uniform(0.0, 0.3))
        process.kill()
        assert process.wait() == -signal.SIGKILL, "it ended before it was killed: train longer"
    process = start(folder)
    assert process.wait(timeout=240) == 0, process.stderr.read()
    with np.load(f"{folder}.npz") as archive:
        for name, leaf in zip(archive.files, leaves(uninterrupted), strict=True):
            assert np.array_equal(archive[name], leaf)


def test_a_stop_signal_saves_and_exits(tmp_path, uninterrupted):
    def evaluate(group, step):
        if step == 100:
            os.kill(os.getpid(), signal.SIGTERM)
        return {"score": np.zeros(len(group.runs))}

    settings = {"steps": STEPS, "batch_size": 8, "block": 10, "log_every": 50, "progress": False}
    with pytest.raises(Stopped, match=r"stopped at step 100 of 1,000; everything is in"):
        train(DATA, described(), evaluate=evaluate, out=tmp_path / "run", evaluate_every=100, **settings)
    assert newest(tmp_path / "run") == "step-000000000100.checkpoint"
    resumed = train(DATA, described(), out=tmp_path / "run", resume=True, evaluate_every=100, **settings)
    for a, b in zip(leaves(resumed), leaves(uninterrupted), strict=True):
        assert np.array_equal(a, b)


def test_a_stop_signal_that_cannot_save_says_so(tmp_path, monkeypatch):
    def evaluate(group, step):
        os.kill(os.getpid(), signal.SIGTERM)
        return {"score": np.zeros(len(group.runs))}

    monkeypatch.setattr("rewind.training.checkpoint.whole_file", no_space)
    with pytest.raises(RewindError, match=r"could not be written .* make room and resume"):
        settings = {"steps": 100, "batch_size": 8, "block": 10, "log_every": 50, "progress": False}
        train(DATA, described(), evaluate=evaluate, out=tmp_path / "run", evaluate_every=50, **settings)


def test_metrics_go_to_tensorboard_when_asked(tmp_path):
    pytest.importorskip("tensorboardX")
    go(tmp_path / "run", steps=100, tensorboard=True)
    events = list((tmp_path / "run/group-0/tensorboard").rglob("events*"))
    assert len(events) == len(described()) and all(path.stat().st_size > 200 for path in events)


def test_metrics_go_to_weights_and_biases_when_asked(tmp_path, monkeypatch):
    calls = []

    class Wandb(ModuleType):
        def init(self, **settings):
            number = len(calls)
            calls.append({**settings, "logged": [], "finished": False})
            return SimpleNamespace(
                log=calls[number]["logged"].append,
                define_metric=lambda names, step_metric: calls[number].update(axis=step_metric),
                finish=lambda: calls[number].update(finished=True),
            )

    monkeypatch.setitem(sys.modules, "wandb", Wandb("wandb"))
    runs = dict(enumerate(run.describe() for run in described()))
    for step in (50, 100):  # begun, and resumed
        sink = WeightsAndBiases(tmp_path / "run/group-0", runs, "mine")
        sink.write([{"run": run, "name": "x", "step": step, "alive": True, "q": 0.5} for run in runs])
        sink.close()
    first, resumed = calls[: len(runs)], calls[len(runs) :]
    assert [call["id"] for call in first] == [call["id"] for call in resumed]  # W&B goes on with the same run
    assert len({call["id"] for call in first}) == len(runs)
    assert [call["config"] for call in first] == list(runs.values())
    for call in calls:
        assert call["finished"] and (call["project"], call["resume"], call["axis"]) == ("mine", "allow", "step")
    assert first[0]["logged"] == [{"step": 50, "alive": True, "q": 0.5}]
    assert resumed[0]["logged"] == [{"step": 100, "alive": True, "q": 0.5}]


def test_a_logger_that_is_not_installed_is_named_before_anything_is_written(tmp_path, monkeypatch):
    for package, extra, asked in (("wandb", "wandb", "mine"), ("tensorboardX", "log", True)):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(RewindError, match=rf"\[{extra}\]"):
            go(tmp_path / "run", steps=100, **{"wandb" if package == "wandb" else "tensorboard": asked})
        assert not (tmp_path / "run").exists()
