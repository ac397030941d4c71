"""lab/tools/gpu_lease.sh: stages in the background, each begun when the one before is nearly trained."""

import os
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

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
    said = lease("wait", 60, tmp_path / "rows").stdout
    assert "no time is left for stage 1" in said
    assert not [name for name in brought_home(tmp_path / "rows") if name.startswith("stage")]


def test_what_it_takes_is_said_where_it_was_not_understood(lease, tmp_path):
    refused = lease("help")
    assert refused.returncode == 2 and "gpu_lease.sh begin SECONDS STAGES" in refused.stdout
    early = lease("wait", 5, tmp_path / "rows")
    assert early.returncode == 1 and "no lease has begun" in early.stderr


def test_a_paused_stage_waits_and_no_other_begins(lease, stages, tmp_path):
    assert lease("begin", 600, stages("--tables 1", "--tables 2 --algorithms last")).returncode == 0
    scratch = tmp_path / "scratch"
    deadline = time.monotonic() + 60
    while not (scratch / "stage-1" / "log").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    paused = lease("pause", 1, 7)
    try:
        assert paused.returncode == 0 and paused.stdout == "stage 7 is not at work\n"
        time.sleep(6)  # stage 1 would go on to 910,000 steps, and stage 2 begin
        assert "910000" not in lease("wait", 0, tmp_path / "rows").stdout and not (scratch / "stage-2").exists()
    finally:
        subprocess.run(["pkill", "-KILL", "-f", "--", f"--out {scratch}/stage-"])
        os.kill(int((scratch / "pid").read_text()), signal.SIGKILL)
