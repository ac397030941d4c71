"""Train every agent with the code of two source trees, and compare policies and metrics bit for bit.

    git worktree add --detach ../old COMMIT
    python lab/tools/same_trainings.py ../old .

Prints one line per run and exits with status 1 if any number differs. A tree compared with itself shows that training
is deterministic on this machine. Both trees run with this Python: its packages are the same for both.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ALGORITHMS = ("td3_bc", "iql", "edac", "bc")
SAMPLERS = ("tr", "uqm_reward", "lower_uqm_unc")
BETAS = ("1", "0.5")
TIMING = ("second",)  # words in the names of fields that measure time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="source tree of the reference")
    parser.add_argument("new", type=Path, help="source tree to compare with it")
    parser.add_argument("--algorithms", nargs="+", default=ALGORITHMS)
    parser.add_argument("--samplers", nargs="+", default=SAMPLERS)
    parser.add_argument("--betas", nargs="+", default=BETAS)
    parser.add_argument("--steps", type=int, default=1000, help="updates of each run (metrics are logged every 1000)")
    parser.add_argument("--old-module", default="rewind.cli", help="module of the old tree with the command's main()")
    parser.add_argument("--new-module", default="rewind.cli", help="likewise of the new tree")
    parser.add_argument("--out", type=Path, help="keep the trainings in this new folder; default: delete them")
    options = parser.parse_args()
    if options.out is not None:
        options.out.mkdir(parents=True)
        return compare(options, options.out.resolve())
    with tempfile.TemporaryDirectory(prefix="same-trainings-") as folder:
        return compare(options, Path(folder))


def compare(options: argparse.Namespace, folder: Path) -> int:
    trees = {"old": (options.old.resolve(), options.old_module), "new": (options.new.resolve(), options.new_module)}
    for side, (tree, _) in trees.items():
        print(f"{side}: {imported_from(tree, folder)}")
    write_data(folder / "data.npz")
    different = 0
    for algorithm in options.algorithms:
        begin = time.monotonic()
        for side, (tree, module) in trees.items():
            train(options, algorithm, tree, module, folder, f"{side}-{algorithm}")
        rows = compare_trainings(folder / f"old-{algorithm}", folder / f"new-{algorithm}")
        for name, differences in rows.items():
            different += bool(differences)
            print(f"{'different' if differences else 'equal':<10} {name}{': ' if differences else ''}{differences}")
        print(f"           {algorithm}: {time.monotonic() - begin:.0f} s", flush=True)
    print(f"{different} runs differ" if different else "all runs are equal")
    return 1 if different else 0


# Training


def run(tree: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the code of a tree. Both trees share compiled programs: an identical one is compiled once."""
    sources = [str(path) for path in (tree / "src", tree / "lab" / "src") if path.is_dir()]
    environment = {
        "PYTHONPATH": os.pathsep.join(sources),
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    program = [sys.executable, *arguments]
    return subprocess.run(
        program, env={**os.environ, **environment}, cwd=folder, capture_output=True, text=True, check=False
    )


def imported_from(tree: Path, folder: Path) -> Path:
    """Where the tree's `rewind` is imported from; an error where another copy comes first."""
    ended = run(tree, folder, "-c", "import rewind; print(rewind.__file__)")
    path = Path(ended.stdout.strip())
    if ended.returncode != 0 or not path.is_relative_to(tree):
        sys.exit(f"{tree}: `import rewind` does not give the code of this tree\n{ended.stdout}{ended.stderr}")
    return path.parent


def train(options: argparse.Namespace, algorithm: str, tree: Path, module: str, folder: Path, out: str) -> None:
    arguments = [
        "train", "--dataset", "data.npz", "--algorithm", algorithm, "--samplers", *options.samplers,
        "--betas", *options.betas, "--seeds", "0", "--steps", str(options.steps), "--batch-size", "8",
        "--hidden", "16", "16", "--env", "none", "--out", out,
    ]  # fmt: skip
    ended = run(tree, folder, "-c", f"from {module} import main; main()", *arguments)
    if ended.returncode != 0:
        sys.exit(f"{tree}: rewind {' '.join(arguments)}\nended with status {ended.returncode}\n{ended.stderr}")


def write_data(path: Path) -> None:
    """Flat random data: 40 trajectories of 4 to 39 steps, half of them ended by a time-out."""
    random = np.random.default_rng(0)
    lengths = random.integers(4, 40, 40)
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


# Comparing


def compare_trainings(old: Path, new: Path) -> dict[str, str]:
    """By the name of a run, what differs; empty where nothing does."""
    old_runs, new_runs = read_training(old), read_training(new)
    if not old_runs:
        sys.exit(f"{old} has no policies")
    return {
        name: differences(old_runs[name], new_runs[name])
        if name in old_runs and name in new_runs
        else f"only in {'old' if name in old_runs else 'new'}"
        for name in {**old_runs, **new_runs}
    }


def read_training(folder: Path) -> dict[str, dict[str, Any]]:
    """By the name of a run: by "policy ARRAY" the arrays of its policy, and by "step FIELD" the numbers of its metrics.

    Records without the name of a run belong to "all runs".
    """
    runs: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("policies/*/policy.npz")):
        about = json.loads(path.with_name("policy.json").read_text(encoding="utf-8"))
        with np.load(path) as archive:
            runs[about["provenance"]["name"]] = {f"policy {name}": archive[name] for name in archive.files}
    for path in sorted(folder.rglob("metrics.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            own = runs.setdefault(record.get("name", "all runs"), {})
            for field, value in record.items():
                if field not in ("run", "name", "step", "check") and not any(word in field for word in TIMING):
                    own[f"step {record['step']} {field}"] = value
    return runs


def differences(old: dict[str, Any], new: dict[str, Any]) -> str:
    """The first of the things that differ, and how many there are."""
    found = [f"{name} is missing" for name in old if name not in new]
    found += [f"{name} is additional" for name in new if name not in old]
    found += [name for name in old if name in new and not same(old[name], new[name])]
    if not old or not new:
        return "nothing to compare"
    return f"{found[0]} (and {len(found) - 1} more of {len(old)})" if found else ""


def same(old: Any, new: Any) -> bool:
    """Whether two values are equal bit for bit."""
    if isinstance(old, np.ndarray):
        return bool(old.dtype == new.dtype and old.shape == new.shape and old.tobytes() == new.tobytes())
    if isinstance(old, float) and isinstance(new, float) and math.isnan(old) and math.isnan(new):
        return True
    return type(old) is type(new) and bool(old == new)


if __name__ == "__main__":
    sys.exit(main())
