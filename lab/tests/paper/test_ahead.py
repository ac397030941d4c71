"""Evaluations that are left when a group is trained: nothing waits for them, and none is lost."""

import json
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

for package in ("jax", "equinox", "optax", "gymnasium", "tyro"):
    pytest.importorskip(package)

from lab.tests.paper.small import STEPS, figures, options

from rewind.cli import main
from rewind.errors import Abandoned, RewindError
from rewind.evaluation.rows import read_jsonl
from rewind.training.evaluations import kept_in
from rewind_lab.paper import job
from rewind_lab.paper.clock import Deadline
from rewind_lab.paper.job import TrainedGroup
from rewind_lab.paper.results import read_rows
from rewind_lab.paper.runner import Runner
from rewind_lab.paper.work import begun, is_trained, work_folder

OPTIONS = options()
TAKE = Path(__file__).parents[2] / "tools" / "take_evaluations.sh"


def test_the_next_group_is_trained_while_the_last_evaluations_of_one_are_played(
    tmp_path, runs, whole, beside, monkeypatch
):
    second_began, order = threading.Event(), []

    class Patient(job.Scorer):
        def request(self, group, step):
            if order.count(STEPS):
                second_began.set()
            order.append(step)
            return super().request(group, step)

        def evaluate(self, request, stop):
            assert request.step < STEPS or second_began.wait(60)
            return super().evaluate(request, stop)

    monkeypatch.setattr(job, "Scorer", Patient)
    Runner(tmp_path, runs, Deadline(), OPTIONS).run()
    assert order == [100, 200, 300, 400] * 2 and second_began.is_set()
    assert figures(tmp_path) == figures(whole) and not begun(tmp_path)


class Endless(job.Scorer):
    """Nobody comes back from its last evaluation."""

    def evaluate(self, request, stop):
        while request.step == STEPS:
            time.sleep(0.01)
            if stop():
                raise Abandoned
        return super().evaluate(request, stop)


@pytest.fixture
def left(tmp_path, runs, beside, monkeypatch, capsys):
    """A folder with a group that is trained, whose last evaluation was not over when the time was."""

    with monkeypatch.context() as patch:
        patch.setattr(job, "Scorer", Endless)
        patch.setattr(TrainedGroup, "wait", lambda *given: False)
        Runner(tmp_path, runs[:3], Deadline(), OPTIONS).run()
    (folder,) = (tmp_path / "work").glob("*/")
    assert (folder / "trained.json").exists() and not list(folder.glob("*/*.checkpoint"))
    assert kept_in(folder / "group-0")[-1][0] == STEPS and not read_rows(tmp_path)
    assert "all runs are finished" not in capsys.readouterr().out
    return tmp_path


def test_a_trained_group_needs_nothing_but_its_folder_to_be_finished(left, runs, whole, monkeypatch, capsys):
    """It may have been trained elsewhere: no data, no device."""

    def gone(*arguments):
        raise AssertionError("data")

    monkeypatch.undo()  # on a CPU
    monkeypatch.setattr(job, "load", gone)
    job.load_data.cache_clear()
    main(["paper", "finish", "--out", str(left), "--jsonl", str(left / "rows.jsonl")])
    said = capsys.readouterr().out
    assert "trained; doing the evaluations that are left" in said and "all runs are finished" in said
    wanted = [each for each in figures(whole) if each["run"] in {spec.run for spec in runs[:3]}]
    assert figures(left) == wanted and not begun(left) and len(read_jsonl(left / "rows.jsonl")) == len(wanted)
    main(["paper", "finish", "--out", str(left)])
    assert "no trained group" in capsys.readouterr().out


def test_status_tells_what_is_trained_from_what_is_begun(left, definitions, capsys):
    main(["paper", "status", "--definitions", str(definitions), "--out", str(left)])
    said = capsys.readouterr().out
    assert "trained: " in said and "3 runs of td3_bc; evaluations are left (paper finish)" in said
    next((left / "work").glob("*/trained.json")).unlink()
    main(["paper", "status", "--definitions", str(definitions), "--out", str(left), "--json"])
    assert [each["trained"] for each in json.loads(capsys.readouterr().out)["begun"]] == [False]


def test_what_is_left_can_be_brought_home_in_pieces(left, runs, whole, tmp_path_factory, monkeypatch):
    monkeypatch.undo()
    home, pieces = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("pieces")
    (home / "work").mkdir()
    for call in range(20):
        command = [TAKE, left, pieces / str(call), "3", "12288"]  # not enough for all at once
        taken = subprocess.run(command, check=True, capture_output=True, text=True)
        if "nothing is left to take" in taken.stdout:
            break
        assert len(list((pieces / str(call)).iterdir())) <= 3
        joined = b"".join(path.read_bytes() for path in sorted((pieces / str(call)).iterdir()))
        subprocess.run(["tar", "x", "-C", home / "work"], input=joined, check=True)
    assert call > 1
    tight = subprocess.run([TAKE, left, pieces / "0", "1", "4096"], check=False, capture_output=True, text=True)
    assert tight.returncode == 0  # all was taken before
    (left / "work" / "taken").unlink()
    tight = subprocess.run([TAKE, left, pieces / "0", "1", "4096"], check=False, capture_output=True, text=True)
    assert tight.returncode == 1 and "does not fit into 1 x 4096 bytes" in tight.stderr
    main(["paper", "finish", "--out", str(home)])
    assert figures(home) == [each for each in figures(whole) if each["run"] in {spec.run for spec in runs[:3]}]


def test_an_evaluation_that_was_not_brought_along_is_named(left, runs):
    (_, path) = kept_in(work_folder(left, runs[:3]) / "group-0")[-1]
    path.unlink()
    for _ in range(2):  # it costs the others nothing, whether it comes first or not
        with pytest.raises(RewindError, match=f"no evaluation of step {STEPS}, .* copy the files from where"):
            Runner(left, runs, Deadline(), OPTIONS).run()
        assert len({each["run"] for each in read_rows(left)}) == 3


def test_evaluations_that_were_left_are_played_while_the_next_group_is_trained(left, runs, whole, monkeypatch):
    began, order = threading.Event(), []

    class Patient(job.Scorer):
        def request(self, group, step):
            began.set()
            return super().request(group, step)

        def evaluate(self, request, stop):
            assert began.wait(60)
            order.append(request.step)
            return super().evaluate(request, stop)

    monkeypatch.setattr(job, "Scorer", Patient)
    Runner(left, runs, Deadline(), replace(OPTIONS, device="gpu")).run()
    assert began.is_set() and order.count(STEPS) == 2
    assert figures(left) == figures(whole)


def test_an_evaluation_that_is_over_is_logged_before_the_others_are(left, runs, whole, monkeypatch):
    """So that calls that are too short for all of them come to an end some day."""
    monkeypatch.undo()
    monkeypatch.setattr(job, "Scorer", Endless)
    folder = work_folder(left, runs[:3]) / "group-0"
    deadline = Deadline()
    monkeypatch.setattr(deadline, "over", lambda: [step for step, _ in kept_in(folder)] == [STEPS])
    Runner(left, runs[:3], deadline, OPTIONS).run()  # only the last one is left
    monkeypatch.undo()
    played = []

    class Counting(job.Scorer):
        def evaluate(self, request, stop):
            played.append(request.step)
            return super().evaluate(request, stop)

    monkeypatch.setattr(job, "Scorer", Counting)
    Runner(left, runs[:3], Deadline(), OPTIONS).run()
    assert played == [STEPS] and len(figures(left)) == 3 * 4


def test_a_group_whose_evaluations_cannot_be_kept_does_not_count_as_trained(
    tmp_path, runs, beside, monkeypatch, capsys
):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rewind.training.evaluations.whole_file", full)
    monkeypatch.setattr(job, "Scorer", Endless)
    monkeypatch.setattr(TrainedGroup, "wait", lambda *given: False)
    Runner(tmp_path, runs[:3], Deadline(), OPTIONS).run()
    (folder,) = (tmp_path / "work").glob("*/")
    assert not is_trained(folder) and list(folder.glob("*/*.checkpoint"))
    assert "the next call resumes from its last checkpoint" in capsys.readouterr().out


def test_the_rows_are_of_the_runs_that_the_folder_names(left, runs, whole, monkeypatch):
    monkeypatch.undo()
    turned = runs[:3][::-1]
    trained = job.train_group(turned, work_folder(left, turned), Deadline(), OPTIONS.job)
    assert trained.wait(Deadline())
    rows = trained.rows()
    wanted = {(each["run"], each["step"]): (each["score"], each["q"]) for each in figures(whole)}
    assert {(row["run"], row["step"]): (row["score"], row["q"]) for row in rows}.items() <= wanted.items()


def test_when_the_time_is_over_no_other_group_is_taken(left, runs, monkeypatch, capsys):
    monkeypatch.undo()
    monkeypatch.setattr(job, "Scorer", Endless)
    capsys.readouterr()
    Runner(left, runs, Deadline(3), OPTIONS).run()
    said = capsys.readouterr().out
    assert said.count("the next call does the evaluations that are left") == 1 and "training: " not in said


def test_time_that_is_over_ends_the_wait_for_evaluations(tmp_path, runs, whole, beside, monkeypatch, capsys):
    monkeypatch.setattr(job, "Scorer", Endless)
    deadline = Deadline()
    monkeypatch.setattr(deadline, "over", lambda: any((tmp_path / "work").glob("*/trained.json")))
    Runner(tmp_path, runs[:3], deadline, OPTIONS).run()
    assert "the next call does the evaluations that are left" in capsys.readouterr().out
    assert [is_trained(work_folder(tmp_path, group)) for group in begun(tmp_path)] == [True]


def test_ctrl_c_while_evaluations_are_waited_for_loses_none(tmp_path, runs, whole, beside, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(job, "Scorer", Endless)
        patch.setattr(TrainedGroup, "wait", lambda *given: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            Runner(tmp_path, runs, Deadline(), OPTIONS).run()
    assert sorted(map(len, begun(tmp_path))) == [3, 3] and not read_rows(tmp_path)
    Runner(tmp_path, runs, Deadline(), OPTIONS).run()
    assert figures(tmp_path) == figures(whole)
