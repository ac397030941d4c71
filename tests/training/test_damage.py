"""Folders of trainings: what was damaged, lost or mixed up is noticed, and what could not be written comes later."""

import errno
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("equinox")
pytest.importorskip("filelock")

from rewind.checked_log import Mark, read_log
from rewind.errors import DataError, RewindError, UsageError
from rewind.files import only_one, whole_file
from rewind.policy import load_policy
from rewind.report.train_folder import read_trainings
from rewind.training import Options, Stopped, Trainer, make_runs, train
from rewind.training.checkpoint import checkpoints
from rewind.training.determinism import keep_programs
from rewind.training.log import JsonLines
from rewind.training.options import CannotResume
from tests.training.small import DATA

STEPS = 60


def evaluate(group, step):
    return {"score": np.arange(len(group.runs)) + step / 7}


def go(out, evaluator=evaluate, **settings):
    usual = {"steps": STEPS, "batch_size": 8, "block": 10, "log_every": 10, "progress": False, "evaluate_every": 20}
    runs = make_runs(DATA, "bc", samplers=["baseline", "tr"], hidden=(8,))
    return train(DATA, runs, evaluator, out=out, checkpoint_minutes=0, **{**usual, **settings})


def told(trained):
    return [(result.records, result.policy.weights[0].tolist()) for result in trained]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A training that was stopped at step 40, with checkpoints of steps 30 and 40."""
    out = tmp_path_factory.mktemp("damage") / "run"
    asked = []
    with pytest.raises(Stopped):
        go(out, stop=lambda: asked.append(0) or len(asked) == 4)
    return out


@pytest.fixture(scope="module")
def whole(stopped):
    shutil.copytree(stopped, stopped.with_name("whole"))
    return told(go(stopped.with_name("whole"), resume=True))


@pytest.fixture
def run(stopped, tmp_path):
    return Path(shutil.copytree(stopped, tmp_path / "run"))


def log_of(run):
    return run / "group-0" / "metrics.jsonl"


# The log


def changed_digit(lines):
    at = next(number for number, line in enumerate(lines) if b'"score"' in line)
    return [*lines[:at], lines[at].replace(b'"score": 2', b'"score": 3'), *lines[at + 1 :]]


DAMAGE = {
    "a byte is missing": lambda lines: [lines[0][1:], *lines[1:]],
    "a digit is another": changed_digit,
    "a line twice": lambda lines: [lines[0], lines[0], *lines[1:]],
    "a line is missing": lambda lines: lines[1:],
    "two lines in another order": lambda lines: [lines[1], lines[0], *lines[2:]],
    "all is missing": lambda lines: [],
    "digests left out": lambda lines: [
        json.dumps({**json.loads(line), "q": 3, "check": None}).replace(', "check": null', "").encode() + b"\n"
        for line in lines
    ],
    "not UTF-8": lambda lines: [b"\xff\n", *lines[1:]],
    "not of metrics": lambda lines: [b"[1]\n", b'{"step": []}\n', *lines[2:]],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_scores_of_a_damaged_log_are_not_continued(run, damage):
    lines = log_of(run).read_bytes().splitlines(keepends=True)
    log_of(run).write_bytes(b"".join(DAMAGE[damage](lines)))
    for _ in range(2 if damage == "a line twice" else 1):  # the second time as well
        with pytest.raises(CannotResume, match=r"metrics\.jsonl.* (is damaged or cut off|is not the file)") as error:
            go(run, resume=True)
        assert "\n" not in str(error.value) and len(checkpoints(run / "group-0")) == 2


def test_damage_after_the_checkpoint_before_costs_only_the_steps_since(run, stopped, whole, capsys):
    lines = log_of(run).read_bytes().splitlines(keepends=True)
    log_of(run).write_bytes(b"".join([*lines[:-1], lines[-1].replace(b"4", b"5")]))
    assert told(go(run, resume=True)) == whole
    error = capsys.readouterr().err
    assert "line 12 of 12, is damaged or cut off; set aside, using the one before" in error
    assert "it and the lines after it are dropped, and come again" in error
    shutil.rmtree(run)
    shutil.copytree(stopped, run)
    log_of(run).write_bytes(b"".join(lines[:-1]))
    assert told(go(run, resume=True)) == whole
    assert "it has 11 lines; set aside, using the one before" in capsys.readouterr().err


def test_what_a_killed_process_logged_after_its_checkpoint_comes_again(run, whole, capsys):
    with log_of(run).open("ab") as file:
        file.write(b'{"run": 0, "name": "x", "step": 50, "al')
    assert told(go(run, resume=True)) == whole
    assert "line 13 of 13, is damaged or cut off; it and the lines after it are dropped" in capsys.readouterr().err


def test_logs_of_the_first_edition_have_no_digests_and_get_some(tmp_path):
    records = [{"run": run, "name": "x", "step": 10, "alive": True, "q": 0.1} for run in (0, 1)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    lines = JsonLines(tmp_path, 10, range(2))
    assert lines.kept == records and lines.write(records)
    mark = lines.sync()
    log = read_log(tmp_path / "metrics.jsonl", range(2))
    assert log.records == records * 2 and mark == Mark(4, log.checks[3]) and not log.lacks(mark)


def test_an_evaluation_that_was_logged_after_its_checkpoint_and_lost_is_an_error_each_time(tmp_path, capsys):
    names = (0, 1)
    lines = JsonLines(tmp_path, 40, names)
    lines.write([{"run": run, "name": "x", "step": 20, "score": 1.0} for run in names])
    lines.close()
    content = (tmp_path / "metrics.jsonl").read_bytes()
    (tmp_path / "metrics.jsonl").write_bytes(content.replace(b"1.0", b"2.0"))
    for _ in range(2):
        with pytest.raises(DataError, match=r"line 1 of 2, is damaged .* the evaluation of step 20 is lost"):
            JsonLines(tmp_path, 40, names, due=[20])
    JsonLines(tmp_path, 40, names).close()  # kept as a request: it comes again
    assert "dropped, and come again" in capsys.readouterr().err


# Full disks


def test_lines_that_could_not_be_written_are_written_later_and_in_order(tmp_path, monkeypatch, capsys):
    lines = JsonLines(tmp_path, 0, range(1))
    records = [{"run": 0, "name": "x", "step": step, "alive": True} for step in range(5)]
    lines.write(records[:1])
    real = lines._file

    class Full:
        def write(self, content):
            if len(content) > 10:
                return real.write(content[:10])  # a part fits
            raise OSError(errno.ENOSPC, "No space left on device")

        def __getattr__(self, name):
            return getattr(real, name)

    lines._file = Full()
    assert not lines.write(records[1:2]) and not lines.write(records[2:3])
    assert read_log(lines.path, range(1)).records == records[:1] and not read_log(lines.path, range(1)).problem
    with pytest.raises(OSError, match="No space left"):
        lines.sync()
    assert capsys.readouterr().err.count("\n") == 1
    lines._file = real
    assert lines.write(records[3:]) and read_log(lines.path, range(1)).records == records


def test_no_checkpoint_is_ahead_of_its_log(tmp_path, monkeypatch, capsys, whole):
    """Lines are not written between steps 10 and 40, and the process is killed at step 50."""
    write, out = JsonLines._write, tmp_path / "run"
    full, seen = [], []

    def no_space(self):
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self)

    class Killed(Exception):
        pass

    def stop():
        seen.append([int(path.name[5:17]) for path in checkpoints(out / "group-0")])
        full[:] = [0] if 1 <= len(seen) < 4 else []
        if len(seen) == 5:
            raise Killed
        return False

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(JsonLines, "_write", no_space)
        go(out, stop=stop)
    assert seen == [[], [], [], [], [40]]
    assert told(go(out, resume=True)) == whole


def test_the_older_checkpoint_makes_room_for_a_new_one(run, whole, monkeypatch, capsys):
    def crowded(path):
        if len(checkpoints(run / "group-0")) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole_file(path)

    monkeypatch.setattr("rewind.training.checkpoint.whole_file", crowded)
    assert told(go(run, resume=True)) == whole
    assert not capsys.readouterr().err
    assert [int(path.name[5:17]) for path in checkpoints(run / "group-0")] == [60, 50]


# Other files of the folder


def test_where_no_checkpoint_is_whole_each_try_says_so(run):
    before = log_of(run).read_bytes()
    for path in checkpoints(run / "group-0"):
        path.write_bytes(path.read_bytes()[:-1])
    for _ in range(2):
        with pytest.raises(CannotResume, match=r"no checkpoint can be used: .*0040\.checkpoint is damaged"):
            go(run, resume=True)
    for path in checkpoints(run / "group-0"):  # as earlier versions left them
        path.replace(path.with_suffix(".damaged"))
    with pytest.raises(CannotResume, match=r"step-000000000030\.damaged is damaged"):
        go(run, resume=True)
    assert log_of(run).read_bytes() == before


def test_a_missing_configuration_is_not_guessed(run):
    (run / "config.json").unlink()
    for resume in (True, False):
        with pytest.raises(CannotResume, match=r"config\.json is missing"):
            go(run, resume=resume, batch_size=16)
    assert not (run / "config.json").exists()


# Two at once


def test_a_folder_has_one_training_at_a_time(run):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with only_one(run / "training"), pytest.raises(UsageError, match="another process trains in"):
        go(run, resume=True)
    assert {path: path.read_bytes() for path in before} == before


def test_a_trainer_keeps_its_folder_until_it_is_closed(tmp_path):
    runs = make_runs(DATA, "bc", hidden=(8,))
    options = Options(steps=10, batch_size=8, out=tmp_path, progress=False)
    trainer = Trainer(DATA, runs, None, options)
    with pytest.raises(RewindError, match="another process trains"):
        Trainer(DATA, runs, None, options)
    trainer.close()
    Trainer(DATA, runs, None, options).close()


# Policies


def test_train_leaves_the_policies_in_its_folder(tmp_path):
    trained = go(tmp_path)
    for number, result in enumerate(trained):
        policy = load_policy(tmp_path / "policies" / f"{number:03d}")
        np.testing.assert_allclose(policy(DATA.observations[:9]), result.act(DATA.observations[:9]), atol=1e-5)
        assert policy.provenance["name"] == result.run.name and policy.provenance["steps"] == STEPS
        assert policy.provenance["data"]["fingerprint"] == DATA.fingerprint
    with pytest.raises(DataError, match=r"has no rows\.jsonl. If it was trained in Python: only `rewind train`"):
        read_trainings([tmp_path])


def test_policies_that_a_full_disk_does_not_take_are_saved_when_the_training_is_resumed(tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "policy.npz")

    with monkeypatch.context() as patched:
        patched.setattr("rewind.policy.Policy.save", full)
        trained = go(tmp_path)
    assert (
        "policy.npz: No space left on device; make room, and the same training with resume" in capsys.readouterr().err
    )
    assert told(go(tmp_path, resume=True)) == told(trained)
    assert len(list((tmp_path / "policies").iterdir())) == 2


# Programs


def test_compiled_programs_are_kept_in_the_home_folder_unless_jax_was_told_another(tmp_path, monkeypatch):
    settings = {}
    config = SimpleNamespace(jax_compilation_cache_dir=None, update=settings.__setitem__)
    monkeypatch.setattr("rewind.training.determinism.jax", SimpleNamespace(config=config))
    monkeypatch.setenv("HOME", str(tmp_path))
    keep_programs()
    (folder,) = (tmp_path / ".rewind" / "compiled").iterdir()
    assert settings["jax_compilation_cache_dir"] == str(folder) and folder.stat().st_mode & 0o77 == 0
    settings.clear()
    config.jax_compilation_cache_dir = "/elsewhere"
    keep_programs()
    assert not settings
    config.jax_compilation_cache_dir = None
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    keep_programs()
    assert not settings, "no folder can be made there"
