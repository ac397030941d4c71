"""The runner: stopped, killed or left alone, it ends with the same results."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

for package in ("jax", "equinox", "optax", "gymnasium", "tyro"):
    pytest.importorskip(package)

from lab.tests.paper.small import STEPS, figures, options, row

from rewind import RewindError, UsageError
from rewind.cli import main
from rewind.evaluation.rows import read_jsonl, write_jsonl
from rewind.processes import never
from rewind.run_spec import RunSpec
from rewind.training import Stopped
from rewind.training.evaluations import InPlace
from rewind_lab.paper import job
from rewind_lab.paper.clock import Clock, Deadline, parse_duration
from rewind_lab.paper.ray_runner import scratch_folder
from rewind_lab.paper.results import read_rows
from rewind_lab.paper.runner import Runner, RunnerOptions
from rewind_lab.paper.work import begun, only_runner, work_folder, write_work

ROOT = Path(__file__).parents[3]
OPTIONS = options()


class Impatient(Deadline):
    """Over after so many blocks."""

    def __init__(self, blocks):
        super().__init__()
        self.blocks = blocks

    def over(self):
        self.blocks -= 1
        self.passed = self.blocks <= 0
        return self.passed


def test_all_runs_are_trained_in_groups_and_evaluated(whole, runs):
    rows = read_rows(whole)
    assert {each["run"] for each in rows} == {spec.run for spec in runs} and len(runs) == 6
    assert len(rows) == 6 * 4 and {each["step"] for each in rows} == {100, 200, 300, 400}
    assert {each["runs_together"] for each in rows} == {3} and len({each["group"] for each in rows}) == 2
    first = rows[0]
    assert first["suite"] == "other" and first["episodes"] == 2 and json.loads(first["settings"]) == {"hidden": [8]}
    assert first["seconds_per_update"] > 0 and first["group_seconds"] > first["seconds_per_update"] * 3 * STEPS
    assert first["block"] == 100 and first["device"].startswith("cpu") and "jax" in json.loads(first["versions"])
    assert all((each["q"] is not None) == (each["step"] == STEPS) for each in rows)  # metrics are logged at the end
    # The same seed plays the same episodes, whatever the sampler.
    assert len({(each["seed"], each["step"]) for each in rows}) == len({each["evaluation_seed"] for each in rows})
    assert not list((whole / "work").glob("*/*"))


def test_stopped_again_and_again_it_ends_with_the_same_results(tmp_path, runs, whole, capsys):
    calls = 0
    while not calls or begun(tmp_path) or len({each["run"] for each in read_rows(tmp_path)}) < 6:
        Runner(tmp_path, runs, Impatient(3), OPTIONS).run()
        calls += 1
        assert calls < 10
    assert calls >= 3 and "the next call continues from here" in capsys.readouterr().out
    assert figures(tmp_path) == figures(whole)


def test_ctrl_c_says_how_to_go_on_here(tmp_path, runs, monkeypatch):
    """The runner has no --resume: its commands always go on."""

    def stopped(*given, **named):
        raise Stopped("stopped at step 1; --resume goes on")

    monkeypatch.setattr("rewind_lab.paper.runner.train_group", stopped)
    with pytest.raises(Stopped, match="the same command resumes it"):
        Runner(tmp_path, runs, Deadline(), OPTIONS).run()


PROGRAM = "import sys; from rewind.cli import main; main(['paper', 'run', *sys.argv[1:]])"


def start(definitions, out, *more):
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'lab/src'}"}
    arguments = [
        "--definitions",
        definitions,
        "--out",
        out,
        "--checkpoint-minutes",
        "0",
        "--runs-per-group",
        "3",
        *more,
    ]
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def wait_for(process, condition, seconds=120):
    begin = time.monotonic()
    while not condition():
        assert process.poll() is None, process.stdout.read().decode()
        assert time.monotonic() - begin < seconds
        time.sleep(0.01)


def test_killed_it_loses_nothing_finished_and_goes_on(tmp_path, definitions, runs, whole):
    process = start(definitions, tmp_path)
    first, second = (work_folder(tmp_path, group) for group in (runs[:3], runs[3:]))
    wait_for(process, lambda: list(second.glob("*/*.checkpoint")))
    process.kill()
    assert process.wait() == -signal.SIGKILL
    before = figures(tmp_path)
    assert len(before) == 3 * 4
    assert begun(tmp_path) == [runs[3:]] and not first.exists()
    Runner(tmp_path, runs, Deadline(), OPTIONS).run()
    assert [each for each in figures(tmp_path) if each in before] == before
    assert figures(tmp_path) == figures(whole) and not begun(tmp_path)
    assert {each["group"] for each in read_rows(tmp_path)} == {each["group"] for each in read_rows(whole)}


def test_the_command_ends_inside_its_budget_with_a_checkpoint(tmp_path, definitions, capsys):
    begin = time.monotonic()
    arguments = ["--definitions", str(definitions), "--out", str(tmp_path), "--runs-per-group", "3"]
    main(["paper", "run", *arguments, "--budget", "2s", "--steps", "10000000", "--group-minutes", "1e9"])
    assert time.monotonic() - begin < 60  # ten million steps would take half an hour
    assert "the time is over" in capsys.readouterr().out
    assert list(tmp_path.glob("work/*/*/*.checkpoint")) and not list(tmp_path.glob("groups/*"))


def test_time_is_kept_for_an_evaluation_that_training_waits_for(tmp_path):
    deadline = Deadline(100)
    clock = Clock(tmp_path, InPlace(lambda group, step: time.sleep(0.3) or {}), deadline)
    clock.evaluate(clock.request(SimpleNamespace(engine=SimpleNamespace(alive=True)), 996), never)
    assert 0.3 <= deadline.evaluation < 10 and not deadline.over()
    deadline.evaluation = 96.0  # five seconds are for the way out
    assert deadline.over()


def test_a_call_trains_no_more_groups_than_it_may(tmp_path, runs, capsys):
    for done in (1, 2):
        Runner(tmp_path, runs, Deadline(), replace(OPTIONS, groups=1)).run()
        assert len({each["group"] for each in read_rows(tmp_path)}) == done
        assert ("1 group of this call: done" in capsys.readouterr().out) == (done == 1)


def test_an_error_that_is_not_about_the_folder_costs_no_checkpoint(tmp_path, runs, monkeypatch):
    Runner(tmp_path, runs[:3], Impatient(2), OPTIONS).run()
    before = list((tmp_path / "work").glob("*/*/*.checkpoint"))

    def broken(*arguments):
        raise UsageError("the simulator is not there")

    monkeypatch.setattr(job.Scorer, "evaluate", broken)
    with pytest.raises(UsageError, match="simulator"):
        Runner(tmp_path, runs[:3], Deadline(), OPTIONS).run()
    assert before and all(checkpoint.exists() for checkpoint in before)


def test_what_was_killed_between_results_and_tidying_is_tidied(tmp_path, runs, whole):
    for path in (whole / "groups").iterdir():
        write_jsonl(tmp_path / "groups" / path.name, read_jsonl(path))
    stale = work_folder(tmp_path, runs[:3])
    stale.mkdir(parents=True)
    (stale / "work.json").write_text(json.dumps({"runs": [spec.record() for spec in runs[:3]]}))
    Runner(tmp_path, runs, Deadline(), OPTIONS).run()
    assert not stale.exists() and figures(tmp_path) == figures(whole)


def test_work_on_a_configuration_that_has_changed_starts_anew(tmp_path, runs, whole, capsys):
    Runner(tmp_path, runs[:3], Impatient(2), OPTIONS).run()
    (config,) = (tmp_path / "work").glob("*/config.json")
    config.write_text(config.read_text().replace('"data": "', '"data": "other'))
    Runner(tmp_path, runs[:3], Deadline(), OPTIONS).run()
    assert "this group starts anew" in capsys.readouterr().out
    assert figures(tmp_path) == [each for each in figures(whole) if each["run"] in {spec.run for spec in runs[:3]}]


def test_runs_that_do_not_fit_into_memory_can_be_given_smaller_groups(tmp_path, runs, monkeypatch):
    def too_much(*arguments):
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate")

    monkeypatch.setattr(job.Trainer, "train", too_much)
    with pytest.raises(RewindError, match="3 runs of td3_bc do not fit into the device's memory"):
        Runner(tmp_path, runs, Deadline(), OPTIONS).run()
    assert Runner(tmp_path, runs, Deadline(), OPTIONS).begun_group(runs) == runs[:3]
    smaller = Runner(tmp_path, runs, Deadline(), replace(OPTIONS, runs_per_group=1))
    assert smaller.begun_group(runs) == [] and smaller.new_group(runs) == runs[:1]


def test_data_that_cannot_be_had_is_left_out_and_said_at_the_end(tmp_path, runs, whole):
    missing = RunSpec(str(tmp_path / "missing.npz"), settings=runs[0].settings, steps=STEPS)
    with pytest.raises(RewindError, match=r"missing.npz was left out: "):
        Runner(tmp_path, [missing, *runs[:3]], Deadline(), OPTIONS).run()
    assert len(figures(tmp_path)) == 3 * 4


def test_one_set_that_cannot_be_had_costs_its_neighbours_nothing(tmp_path, monkeypatch):
    names = [f"rewind/antmaze-{name}-v0" for name in ("umaze", "medium-play", "large-play")]
    runs = [RunSpec(name, seed=seed) for seed in range(2) for name in names]

    def check(asked):
        return {name: "not today" for name in asked if name == names[1]}

    monkeypatch.setattr("rewind_lab.paper.runner.check_datasets", check)
    runner = Runner(tmp_path, runs, Deadline(), RunnerOptions(group_seconds=3600))
    assert [(spec.dataset, spec.seed) for spec in runner._next()] == [
        (names[at], seed) for at in (0, 2) for seed in (0, 1)
    ]
    assert runner.refused == {names[1]: "not today"}
    again = Runner(tmp_path, runs, Deadline(), RunnerOptions(group_seconds=3600))
    write_work(work_folder(tmp_path, runs), runs)  # begun when all of it was there
    assert {spec.dataset for spec in again._next()} == {names[0], names[2]}


def test_two_runners_in_one_folder_are_refused(tmp_path, runs):
    with only_runner(tmp_path), pytest.raises(UsageError, match="another `rewind paper` is at work"):
        Runner(tmp_path, runs, Deadline(), OPTIONS).run()


def test_what_does_not_fit_into_the_time_that_is_left_waits_for_the_next_call(tmp_path, runs):
    patient = RunnerOptions(group_seconds=3600, device="gpu")
    long = [RunSpec("hopper-medium-v2", seed=seed) for seed in range(60)]
    runner = Runner(tmp_path, long, Deadline(9 * 60), patient)
    first = runner.new_group(long)
    assert 20 < len(first) < 60  # smaller than an hour's, so that it ends in time
    runner.started = 1
    runner.deadline = Deadline(120)
    assert runner.new_group(long) == []
    fresh = Runner(tmp_path, long, Deadline(30), patient)
    assert len(fresh.new_group(long)) == 60  # nothing fits: a call must begin something, or nothing ever happens


def test_a_begun_group_is_gone_on_with_only_where_the_time_is_worth_its_start(tmp_path, monkeypatch, capsys):
    group = [RunSpec("hopper-medium-v2", seed=seed) for seed in range(8)]
    write_work(work_folder(tmp_path, group), group)
    loaded = []
    monkeypatch.setattr("rewind_lab.paper.runner.check_datasets", lambda names: loaded.extend(names) or {})
    later = Runner(tmp_path, group, Deadline(20), RunnerOptions())
    later.started = 1
    assert later._next() == [] and not loaded  # the data is not paid for either
    assert "too short to start with hopper-medium-v2; the next call continues" in capsys.readouterr().out
    later.deadline = Deadline(90)
    assert later._next() == group and loaded == ["hopper-medium-v2"]
    first = Runner(tmp_path, group, Deadline(20), RunnerOptions())
    assert first._next() == group  # a call must do something, or nothing ever happens


def test_data_without_a_simulator_here_is_left_out_and_the_rest_is_trained(tmp_path, runs, monkeypatch):
    def missing(name, copies):
        raise UsageError("gymnasium-robotics is not installed")

    monkeypatch.setattr("rewind.evaluation.scoring.make", missing)
    with pytest.raises(RewindError, match="was left out: gymnasium-robotics is not installed"):
        Runner(tmp_path, runs, Deadline(), OPTIONS).run()
    assert not begun(tmp_path)


def test_status_counts_runs_once_and_json_is_read_by_programs(whole, definitions, capsys):
    def status(*arguments):
        main(["paper", "status", "--definitions", str(definitions), "--out", str(whole), *arguments])
        return capsys.readouterr().out

    found = json.loads(status("--json"))
    assert (found["runs"], found["done"], found["left"]) == (6, 6, 0) and found["hours_left"] == 0
    assert found["cpu_hours_spent"] > 0 == found["hours_spent"]
    assert {name: (t["runs"], t["done"]) for name, t in found["tables"].items()} == {
        "sampling": (6, 6),
        "again": (2, 2),
    }
    more = json.loads(status("--json", "--seeds", "0", "1", "2", "3"))
    assert (more["runs"], more["done"], more["left"]) == (12, 6, 6) and more["hours_left"] > 0
    assert "6 of 6 runs done" in status() and "Three samplers" in status()


def test_commands_name_what_is_wrong_in_one_line(definitions, tmp_path, capsys):
    for arguments, message in (
        (["run", "--budget", "nine"], "a time of 'nine'"),
        (["run", "--tables", "22"], "did you mean '2'"),
        (["status", "--group-minutes", "0"], "--group-minutes is 0"),
        (["run", "--seeds", "0", "-1"], "--seeds has -1"),
        (["collect"], "nothing to collect"),
        (["collect", "--jsonl", "x", "--add", "y"], "one at a time"),
    ):
        with pytest.raises(SystemExit):
            main(["paper", *arguments, "--out", str(tmp_path / "none")])
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1


def test_a_dry_run_shows_the_groups_and_trains_nothing(definitions, tmp_path, capsys):
    arguments = ["--definitions", str(definitions), "--out", str(tmp_path / "none"), "--runs-per-group", "4"]
    main(["paper", "run", "--dry-run", *arguments])
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()[1:]] == ["4", "2"]
    main(["paper", "run", "--dry-run", *arguments, "--groups", "1", "--budget", "100h"])
    _, only, told = capsys.readouterr().out.splitlines()
    assert only.split()[2] == "4" and told == "--budget 100h: by the estimate 1 of 1 as they are here"
    assert not (tmp_path / "none").exists()


def test_rows_are_gathered_after_every_group_for_a_machine_that_may_vanish(tmp_path, runs, whole):
    out = tmp_path / "out"
    for path in (whole / "groups").iterdir():
        write_jsonl(out / "groups" / path.name, read_jsonl(path))
    runner = Runner(out, runs, Deadline(), RunnerOptions(jsonl=tmp_path / "home.jsonl"))
    runner.finish([runs[0]], [row("new", group="new")])
    assert len({each["run"] for each in read_jsonl(tmp_path / "home.jsonl")}) == 7


def test_other_data_under_the_same_name_is_noticed(tmp_path, runs, capsys):
    runner = Runner(tmp_path, runs, Deadline(), OPTIONS)
    runner.finish([runs[0]], [row("a", group="a", data_fingerprint="before")])
    assert "other data" not in capsys.readouterr().out
    runner.finish([runs[1]], [row("b", group="b", data_fingerprint="after")])
    assert "hopper-medium-v2 is now other data (after) than that of earlier results (before)" in capsys.readouterr().out


def test_durations():
    assert [parse_duration(text) for text in ("9m", "1h30m", "540s", "540", "0.5h")] == [540, 5400, 540, 540, 1800]
    for text in ("", "9x", "m", "0s", "-3m", "1h30"):
        with pytest.raises(UsageError, match="a time of"):
            parse_duration(text)


def test_the_scratch_folder_of_workers_is_for_one_user_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = scratch_folder()
    assert folder == scratch_folder() and folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    with pytest.raises(UsageError, match="not a folder of this user alone"):
        scratch_folder()
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(UsageError, match="not a folder of this user alone"):
        scratch_folder()
