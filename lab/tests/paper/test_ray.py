"""The same groups on a Ray cluster of several worker processes, one of them killed in the middle."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

for package in ("jax", "equinox", "optax", "gymnasium", "tyro", "ray"):
    pytest.importorskip(package)

from lab.tests.paper.small import write_definitions

from rewind.cli import main
from rewind.run_spec import digest
from rewind_lab.paper.clock import Deadline
from rewind_lab.paper.definitions import RunChoice, in_order, load_definitions
from rewind_lab.paper.job import JobOptions
from rewind_lab.paper.ray_runner import scratch_folder
from rewind_lab.paper.results import read_rows
from rewind_lab.paper.runner import Runner, RunnerOptions

ROOT = Path(__file__).parents[3]
MEASURED = ("seconds_per_update", "group_seconds", "finished")
PROGRAM = "import sys; from rewind.cli import main; main(['paper', 'run', *sys.argv[1:]])"


def figures(out):
    return [{name: value for name, value in each.items() if name not in MEASURED} for each in read_rows(out)]


def working(folder):
    """Of each group that is being trained: which process is at it, and its checkpoints."""
    found = {}
    for clock in folder.glob("work/*/clock.json"):
        checkpoints = sorted(path.name for path in clock.parent.glob("*/*.checkpoint"))
        if checkpoints:
            found[clock.parent.name] = (json.loads(clock.read_text())["process"], checkpoints[-1])
    return found


@pytest.mark.long
def test_a_killed_worker_costs_nothing_but_time(tmp_path):
    definitions = write_definitions(tmp_path, steps=40_000)
    out = tmp_path / "out"
    arguments = ["--definitions", definitions, "--out", out, "--ray", "local", "--runs-per-group", "3"]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'lab/src'}"}
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments), "--checkpoint-minutes", "0.01"]
    driver = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    there = scratch_folder() / digest([str(out.resolve())])
    begin = time.monotonic()
    while len(working(there)) < 2:  # both groups are under way, on two workers
        assert driver.poll() is None, driver.stdout.read().decode()
        assert time.monotonic() - begin < 240
        time.sleep(0.05)
    processes = {process for process, _ in working(there).values()}
    assert len(processes) == 2 and driver.pid not in processes
    victim = next(iter(working(there).values()))[0]
    os.kill(victim, signal.SIGKILL)
    printed, _ = driver.communicate(timeout=400)
    assert driver.returncode == 0 and b"all runs are finished" in printed, printed.decode()

    runs = in_order(load_definitions(definitions).wanted(RunChoice()))
    options = RunnerOptions(runs_per_group=3, device="cpu", job=JobOptions(points=4, progress=False))
    Runner(tmp_path / "whole", runs, Deadline(), options).run()
    assert figures(out) == figures(tmp_path / "whole") and len({each["run"] for each in read_rows(out)}) == 6
    assert not list(there.glob("work/*")) and not list((out / "work").glob("*/*"))


def test_a_cluster_that_is_not_there_is_one_line(tmp_path, capsys):
    definitions = write_definitions(tmp_path)
    arguments = ["--definitions", str(definitions), "--out", str(tmp_path / "out"), "--ray", "127.0.0.1:1"]
    with pytest.raises(SystemExit):
        main(["paper", "run", *arguments])
    error = capsys.readouterr().err
    assert "rewind: no Ray cluster at '127.0.0.1:1'" in error and "--ray local" in error


def test_what_goes_wrong_on_a_worker_is_told_with_its_group(tmp_path, capfd):
    """A shape that is no whole number breaks the building of networks, with an exception that is none of ours."""
    definitions = write_definitions(tmp_path)
    definitions.write_text(definitions.read_text().replace("[[8]]", "[[8.5]]"))
    with pytest.raises(SystemExit):
        main(["paper", "run", "--definitions", str(definitions), "--out", str(tmp_path / "out"), "--ray", "local"])
    printed, error = capfd.readouterr()
    assert "in train_there" in printed  # the worker's traceback
    assert "points.npz was left out: group " in error and ", 6 runs of td3_bc: TypeError: " in error
