"""lab/tools/gpu_lease.sh: stages in the background, each begun when the one before is nearly trained."""

import json
import os
import re
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from lab.tests.tools import load_tool

spare = load_tool("spare")
LEASE = Path(__file__).parents[2] / "tools" / "gpu_lease.sh"

# Stands in for Python. A stage trains to 100,000 steps, waits, notes whether the next one is there too early, goes on
# to 910,000, and has rows only if the next one then begins while it is at work (the last has them in any case).
RUNNER = """#!/usr/bin/env bash
case "$*" in
  *"data build"*) sleep 2; echo "built ${@: -1}" ;;
  *"data cards"* | *"bench larger"*) echo "$*" ;;
  *"paper run"*)
    out=$6
    next=${out%-*}-$((${out##*-} + 1))
    metrics=$out/work/group/group-0/metrics.jsonl
    mkdir -p "$(dirname "$metrics")"
    case "$*" in *broken*) echo "no such table"; exit 2 ;; esac
    if [[ $* == *"needs rewind/b-v0"* ]]; then cp "$REWIND_SCRATCH/have" "$out/rows.jsonl"; exit; fi
    echo '{"run": 0, "name": "td3_bc", "step": 100000}' > "$metrics"
    sleep 3
    if [ -e "$next" ]; then echo "the next one began too early" > "$out/rows.jsonl"; exit; fi
    echo '{"run": 0, "name": "td3_bc", "step": 910000}' >> "$metrics"
    case "$*" in *last*) echo "$*" > "$out/rows.jsonl"; exit ;; esac
    for second in $(seq 20); do [ -e "$next/log" ] && break; sleep 1; done
    if [ -e "$next/log" ]; then echo "$*" > "$out/rows.jsonl"; fi ;;
esac
"""


@pytest.fixture
def lease(tmp_path):
    """The script in a tree of its own."""
    tree, tools = tmp_path / "tree", tmp_path / "bin"
    for folder in (tree / "lab" / "results" / "paper", tree / "wheels-gpu", tools, tmp_path / "empty"):
        folder.mkdir(parents=True)
    (tree / "lab" / "results" / "paper" / "finished.json").write_text("{}")
    subprocess.run(["tar", "cJf", tree / "wheels-gpu" / "site.tar.xz", "-C", tmp_path, "empty"], check=True)
    (tools / "python3").write_text(RUNNER)
    (tools / "python3").chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "REWIND_SCRATCH": str(tmp_path / "scratch")}

    def call(*words, **more):
        own = environment | more
        return subprocess.run([LEASE, *map(str, words)], cwd=tree, env=own, capture_output=True, text=True)

    return call


@pytest.fixture
def stages(tmp_path):
    def write(*lines):
        path = tmp_path / "stages"
        path.write_text("\n".join(("rewind/a-v0 rewind/b-v0", *lines)))  # no newline at the end
        return path

    return write


def brought_home(folder):
    """What a call of `wait` has left, by name."""
    with tarfile.open(folder / "home.tar.gz") as archive:
        return {member.name: archive.extractfile(member).read().decode() for member in archive.getmembers()}


def test_a_stage_begins_when_the_one_before_is_nearly_trained_and_rows_come_back(lease, stages, tmp_path):
    rows = tmp_path / "rows"
    plan = stages("--tables broken", "--tables 2 --datasets rewind/a-v0", "", "--tables 1 --algorithms last")
    assert lease("begin", 600, plan).returncode == 0
    again = lease("begin", 600, plan)
    assert again.returncode == 1 and "a lease has begun" in again.stderr
    said = lease("wait", 90, rows).stdout
    assert "built: built rewind/b-v0" in said and said.endswith("all stages have ended\n")
    assert "no such table" in said  # of the first, whose failure costs the others nothing
    home = brought_home(rows)
    assert sorted(name for name in home if name.endswith(".jsonl")) == ["stage-2/rows.jsonl", "stage-3/rows.jsonl"]
    second, third = (home[f"stage-{number}/rows.jsonl"] for number in (2, 3))
    assert f"--out {tmp_path}/scratch/stage-2 --budget 5" in second  # what is left of 600 seconds
    assert "--tables 2 --datasets rewind/a-v0" in second and "--tables 1 --algorithms last" in third


def test_a_command_runs_alone_and_archives_are_unpacked_once(lease, tmp_path):
    unpacked = tmp_path / "scratch" / "site" / "empty"
    said = lease("alone", 30, "bench", "larger", "--steps", 500)
    assert (said.returncode, said.stdout) == (0, "-m rewind_lab bench larger --steps 500\n") and unpacked.is_dir()
    unpacked.rmdir()
    assert lease("alone", 30, "bench", "larger").returncode == 0 and not unpacked.exists()


def test_of_an_ogbench_set_without_a_task_the_card_is_made(lease, tmp_path):
    names = ("rewind/ogbench-scene-play-task1-v0", "rewind/ogbench-scene-play-v0")
    assert lease("build", *names).returncode == 1  # before a lease there is no folder
    (tmp_path / "scratch").mkdir()
    built, card = lease("build", *names).stdout.splitlines()
    assert built == f"built {names[0]}"
    assert card == f"-m rewind_lab data cards {names[1]} --out {tmp_path}/scratch/cards"


def test_a_stage_waits_for_its_data(lease, stages, tmp_path):
    lease("begin", 600, stages("--tables needs rewind/b-v0"))
    lease("wait", 90, tmp_path / "rows")
    assert brought_home(tmp_path / "rows")["stage-1/rows.jsonl"] == "rewind/a-v0\nrewind/b-v0\n"


@pytest.mark.parametrize("mps", [True, False])
def test_several_stages_train_at_a_time_where_processes_can_share_the_gpu(lease, stages, tmp_path, mps):
    if mps:
        (tmp_path / "bin" / "nvidia-cuda-mps-control").write_text("#!/bin/sh\n")
        (tmp_path / "bin" / "nvidia-cuda-mps-control").chmod(0o755)
    lease("begin", 600, stages("--tables 2", "--tables last"), LANES="2")
    said = lease("wait", 90, tmp_path / "rows").stdout
    assert f"{1 + mps} at a time" in said and "all stages have ended" in said
    first = brought_home(tmp_path / "rows")["stage-1/rows.jsonl"]
    assert ("the next one began too early" in first) == mps  # for one lane


def test_no_stage_begins_without_time(lease, stages, tmp_path):
    lease("begin", 30, stages("--tables last"))
    said = lease("wait", 60, tmp_path / "rows", RESERVE="0").stdout
    assert "no time is left for stage 1" in said
    assert not [name for name in brought_home(tmp_path / "rows") if name.startswith("stage")]


def test_what_it_takes_is_said_where_it_was_not_understood(lease, tmp_path):
    refused = lease("help")
    assert refused.returncode == 2 and "gpu_lease.sh begin SECONDS STAGES" in refused.stdout
    early = lease("wait", 5, tmp_path / "rows")
    assert early.returncode == 1 and "no lease has begun" in early.stderr


def test_the_time_of_a_lease_counts_from_the_first_call(lease, stages, tmp_path):
    lease("unpack")
    (tmp_path / "scratch" / "first").write_text(str(int(time.time()) - 500))
    lease("begin", 570, stages("--tables 1 --algorithms last"), LEAST="5")
    said = lease("wait", 60, tmp_path / "rows", RESERVE="0").stdout
    (left,) = re.findall(r"began with (\d+) s left", said)
    assert 55 <= int(left) <= 70


def test_data_is_built_while_the_rest_travels_and_only_once(lease, stages, tmp_path):
    lease("unpack", stages("--tables 1 --algorithms last --datasets rewind/b-v0"))
    have = tmp_path / "scratch" / "have"
    deadline = time.monotonic() + 60
    while have.read_text().split() != ["rewind/a-v0", "rewind/b-v0"] and time.monotonic() < deadline:
        time.sleep(0.1)
    lease("begin", 570, tmp_path / "stages")
    lease("wait", 60, tmp_path / "rows")
    assert have.read_text().split() == ["rewind/a-v0", "rewind/b-v0"]
    assert (tmp_path / "scratch" / "stage-1" / "rows.jsonl").exists()


def test_waiting_ends_before_the_lease_does(lease, stages, tmp_path):
    lease("begin", 600, stages("--tables 1 --algorithms last"))
    begin = time.monotonic()
    said = lease("wait", 90, tmp_path / "rows", RESERVE="10000").stdout
    assert "still at work" in said and time.monotonic() - begin < 30
    lease("wait", 90, tmp_path / "rows")


def test_after_a_stage_was_paused_no_other_begins(lease, stages, tmp_path):
    lease("unpack")
    (tmp_path / "scratch" / "full").touch()
    lease("begin", 600, stages("--tables 1", "--tables 2 --algorithms last"))
    said = lease("wait", 60, tmp_path / "rows").stdout
    assert "stage 1 and those after it do not begin" in said and "all stages have ended" in said


def test_what_trained_stages_have_left_comes_home_in_one_call(lease, tmp_path):
    for stage in (1, 2, 3):
        group = tmp_path / "scratch" / f"stage-{stage}" / "work" / "group"
        (group / "group-0").mkdir(parents=True)
        for name in ("work.json", "clock.json", "group-0/metrics.jsonl", *(["trained.json"] if stage > 1 else [])):
            (group / name).write_text("{}")
        (group / "group-0" / "evaluation-1000.npz").write_bytes(bytes(1000))
    said = lease("take", tmp_path / "rows").stdout.splitlines()
    assert said == [f"stage {stage}: took 1 evaluations; 0 wait for the next call" for stage in (2, 3)]
    assert sorted(path.parent.name for path in (tmp_path / "rows").rglob("left.tar.*")) == ["stage-2", "stage-3"]


def test_stages_that_end_leave_their_speed_to_the_others():
    fast, slow = spare.Stage("fast", 100.0, 2.0), spare.Stage("slow", 100.0, 1.0)
    # The fast one ends after 50 s; the other then has 50 updates left, at 0.85 of 3 a second: 19.6 s more.
    assert spare.too_late([fast, slow], 71) == []
    assert spare.too_late([fast, slow], 69) == ["slow"]
    assert spare.too_late([fast, slow], 49) == ["fast", "slow"]
    assert spare.too_late([spare.Stage("stuck", 100.0, 0.0)], 1e6) == ["stuck"]


def write_stage(scratch, number, runs, steps):
    group = scratch / f"stage-{number}" / "work" / "group" / "group-0"
    group.mkdir(parents=True, exist_ok=True)
    (group.parent / "work.json").write_text(json.dumps({"runs": [{}] * runs}))
    (group / "metrics.jsonl").write_text(f'{{"run": 0, "step": {steps}}}\n')


@pytest.mark.parametrize(("seconds", "paused"), [(300, [2]), (650, []), (2000, [])])
def test_the_least_advanced_stage_is_paused_where_one_would_be_too_late(tmp_path, monkeypatch, seconds, paused):
    seen = {}
    for now in range(0, 60, 10):  # 10 runs each, 1,000 and 500 steps a second
        monkeypatch.setattr(spare.time, "monotonic", lambda now=now: float(now))
        write_stage(tmp_path, 1, 10, 800_000 + 1000 * now)
        write_stage(tmp_path, 2, 10, 400_000 + 500 * now)
        spare.look(tmp_path, seen, seconds)
    assert [number for number in (1, 2) if (tmp_path / f"stage-{number}" / "paused").exists()] == paused
    assert (tmp_path / "full").exists() == any(tmp_path.glob("stage-*/paused"))


def test_a_stage_that_only_starts_is_the_first_to_be_paused(tmp_path, monkeypatch):
    starting = tmp_path / "stage-3" / "work" / "group"
    starting.mkdir(parents=True)
    (starting / "work.json").write_text(json.dumps({"runs": [{}]}))
    test_the_least_advanced_stage_is_paused_where_one_would_be_too_late(tmp_path, monkeypatch, 300, [])
    assert (tmp_path / "stage-3" / "paused").exists()


def test_a_paused_process_is_stopped(tmp_path):
    process = subprocess.Popen(["bash", "-c", "sleep 60; :", "x", "--out", str(tmp_path / "stage-1"), "--more"])
    try:
        (tmp_path / "stage-1").mkdir()
        spare.pause(tmp_path / "stage-1")
        _, status = os.waitpid(process.pid, os.WUNTRACED)  # comes back when it is stopped, or after a minute
        assert os.WIFSTOPPED(status)
    finally:
        process.kill()
