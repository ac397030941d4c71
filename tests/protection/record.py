"""Write expected.json, and the fixtures of tests/protection, with the code that Python imports.

PYTHONPATH=OLD/src python -m tests.protection.record           all of expected.json
PYTHONPATH=OLD/src python -m tests.protection.record data      one part: results, plans, data or policies
PYTHONPATH=OLD/src python -m tests.protection.record fixtures  the fixtures, and what belongs to them
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.protection import facts
from tests.protection.facts import ALGORITHMS, FIXTURES, HERE, SIZES, TRAINING, command, succeeded


def results() -> dict[str, Any]:
    return {
        "ids": {name: facts.result_ids(name) for name in ("paper", "unfused")},
        "files": facts.other_results(),
        "status": {f"{name} {data}": facts.paper_status(name, data) for name, data in facts.STATUS},
        "wanted": {data: facts.wanted_ids(data) for data in ("rewind", "d4rl")},
    }


def data() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return {"machine": facts.machine(), "sets": {name: facts.rebuilt(name, Path(folder)) for name in facts.REBUILT}}


def policies() -> dict[str, Any]:
    return {
        "actions": {name: facts.policy_actions(FIXTURES / "policies" / name) for name in ALGORITHMS},
        "resumed": facts.resumed_actions(),
    }


def fixtures() -> None:
    """Small trainings: of each agent the first policy, one folder with a checkpoint, one that was scored."""
    shutil.rmtree(FIXTURES, ignore_errors=True)
    FIXTURES.mkdir()
    write_data(FIXTURES / "data.npz")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(FIXTURES / "data.npz", folder)
        for algorithm in ALGORITHMS:
            options = ("--dataset", "data.npz", "--algorithm", algorithm, "--samplers", "tr", "--env", "none", *SIZES)
            succeeded(command("train", *options, "--steps", 20, "--out", algorithm, cwd=folder))
            shutil.copytree(folder / algorithm / "policies" / "000", FIXTURES / "policies" / algorithm)
        succeeded(command("train", *TRAINING, "--steps", 20, cwd=folder))
        options = ("--dataset", "data.npz", "--samplers", "tr", "--seeds", 0, 1, *SIZES, "--episodes", 1)
        environment = ("--env", "rewind/PointMaze-umaze-v0", "--evaluate-every", 10)
        succeeded(command("train", *options, *environment, "--steps", 20, "--out", "scored", cwd=folder))
        for path in (folder / "scored").rglob("*.checkpoint"):
            path.unlink()
        for kept in ("training", "scored"):
            shutil.copytree(folder / kept, FIXTURES / kept)


def write_data(path: Path) -> None:
    """Flat random data of the shape of a point in a maze."""
    random = np.random.default_rng(0)
    lengths = random.integers(4, 16, 12)
    rows, ends = int(lengths.sum()), np.cumsum(lengths) - 1
    observations = random.standard_normal((rows, 4)).astype(np.float32)
    successors = np.roll(observations, -1, axis=0)
    successors[ends] = random.standard_normal((len(ends), 4))
    terminals, timeouts = np.zeros(rows, bool), np.zeros(rows, bool)
    terminals[ends[::2]], timeouts[ends[1::2]] = True, True
    np.savez(
        path, observations=observations, actions=random.uniform(-1, 1, (rows, 2)).astype(np.float32),
        rewards=random.standard_normal(rows).astype(np.float32), next_observations=successors,
        terminals=terminals, timeouts=timeouts,
    )  # fmt: skip


PARTS = {"results": results, "plans": facts.all_plans, "data": data, "policies": policies}


def main(names: list[str]) -> None:
    if "fixtures" in names:
        fixtures()
        names = ["policies" if name == "fixtures" else name for name in names]
    path = HERE / "expected.json"
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in names or PARTS:
        content[name] = PARTS[name]()
        path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"recorded {name} in {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
