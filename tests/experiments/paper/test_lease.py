"""tools/gpu_lease.sh: stages in the background, each begun before the one before has ended."""

import os
import subprocess
from pathlib import Path

import pytest

LEASE = Path(__file__).parents[3] / "tools" / "gpu_lease.sh"

# Stands in for Python: the first stage has rows only if the second one begins while it is at work.
RUNNER = """#!/usr/bin/env bash
case "$*" in
  *"data build"*) echo "built ${@: -1}" ;;
  *"paper run"*)
    out=$6
    mkdir -p "$out/work/group/group-0"
    echo '{"run": 0, "name": "td3_bc", "step": 910000}' > "$out/work/group/group-0/metrics.jsonl"
    for second in $(seq 20); do [ -e "$(dirname "$out")/stage-2/log" ] && break; sleep 1; done
    [ -e "$(dirname "$out")/stage-2/log" ] && echo "$*" > "$out/rows.jsonl"
    echo "trained by $*" ;;
esac
"""


@pytest.fixture
def lease(tmp_path):
    """The script in a tree of its own."""
    tree, tools = tmp_path / "tree", tmp_path / "bin"
    for folder in (tree / "results" / "paper", tree / "wheels-gpu", tools, tmp_path / "rows"):
        folder.mkdir(parents=True)
    (tree / "results" / "paper" / "finished.json").write_text("{}")
    subprocess.run(["tar", "cJf", tree / "wheels-gpu" / "site.tar.xz", "-C", tmp_path, "rows"], check=True)
    (tools / "python3").write_text(RUNNER)
    (tools / "python3").chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "REWIND_SCRATCH": str(tmp_path / "scratch")}

    def call(*words):
        told = subprocess.run([LEASE, *words], cwd=tree, env=environment, check=True, capture_output=True, text=True)
        return told.stdout

    return call


def test_a_stage_begins_before_the_one_before_has_ended_and_rows_come_back(lease, tmp_path):
    stages, rows = tmp_path / "stages", tmp_path / "rows"
    stages.write_text("rewind/a-v0 rewind/b-v0\n--tables 2 --datasets rewind/a-v0\n--tables 1 --algorithms iql\n")
    lease("begin", "600", str(stages))
    said = lease("wait", "60", str(rows))
    assert "the last: built rewind/b-v0" in said and said.endswith("all stages have ended\n")
    first, second = ((rows / f"stage-{number}.jsonl").read_text() for number in (1, 2))
    assert "--tables 2 --datasets rewind/a-v0" in first and "--tables 1 --algorithms iql" in second
    assert f"--out {tmp_path}/scratch/stage-1 --budget 5" in first  # what is left of 600 seconds


def test_what_it_takes_is_said_where_it_was_not_understood(lease):
    with pytest.raises(subprocess.CalledProcessError) as refused:
        lease("help")
    assert refused.value.returncode == 2 and "gpu_lease.sh begin SECONDS STAGES" in refused.value.stdout
