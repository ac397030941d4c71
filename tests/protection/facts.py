"""The facts that are recorded in expected.json, computed from the code of today."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import rewind

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FIXTURES = HERE / "fixtures"
RESULTS = ROOT / "lab" / "results"

PRIORITIES = (
    "return", "avg_reward", "uqm_reward", "uhm_reward", "min_reward", "max_reward",
    "lower_mean_unc", "lower_lqm_unc", "lower_uqm_unc", "higher_mean_unc", "higher_lqm_unc", "higher_uqm_unc",
)  # fmt: skip
ALGORITHMS = ("td3_bc", "iql", "edac", "bc")


def expected(part: str) -> Any:
    return json.loads((HERE / "expected.json").read_text(encoding="utf-8"))[part]


def command(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `rewind` with the code that this process imports."""
    source = str(Path(rewind.__file__).parents[1])
    paths = os.pathsep.join([source, *(path for path in sys.path if path)])
    return subprocess.run(
        [sys.executable, "-c", "from rewind.cli import main; main()", *map(str, arguments)],
        cwd=cwd, env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": paths, **environment},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


def succeeded(ended: subprocess.CompletedProcess[str]) -> str:
    """What a command printed; an error where it failed."""
    assert ended.returncode == 0, f"exit status {ended.returncode}\n{ended.stderr}"
    return ended.stdout


# Results


def digest_of(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def counted(ids: Iterable[str]) -> dict[str, Any]:
    """How many different ones there are, and their digest."""
    unique = set(ids)
    return {"count": len(unique), "digest": digest_of(unique)}


def result_ids(name: str) -> dict[str, Any]:
    """The runs and evaluations of a folder of results."""
    from pyarrow import parquet

    folder = RESULTS / name
    table = parquet.read_table(folder / "results.parquet")
    columns = [table[column].to_pylist() for column in ("run", "step", "evaluation_seed", "score")]
    return {
        "runs": counted(columns[0]),
        "finished": counted(json.loads((folder / "finished.json").read_text(encoding="utf-8"))["runs"]),
        "evaluations": counted(repr(row) for row in zip(*columns, strict=True)),
    }


def other_results() -> dict[str, str]:
    """The digest of every other file of results, by its path in the folder of results."""
    paths = [RESULTS / path for path in _tracked(RESULTS)]
    names = ("behaviour", "bench", "impossible_q")
    return {
        path.relative_to(RESULTS).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths)
        if path.relative_to(RESULTS).parts[0] in names
    }


def _tracked(folder: Path) -> list[str]:
    ended = subprocess.run(["git", "ls-files"], cwd=folder, capture_output=True, text=True, check=True)
    return ended.stdout.split()


STATUS = (("paper", "rewind"), ("paper", "d4rl"), ("unfused", "rewind"))


def paper_status(name: str, data: str) -> dict[str, Any]:
    """The counts of `rewind paper status`, in all and by table; no estimates of time."""
    figures = json.loads(
        succeeded(command("paper", "status", "--json", "--data", data, "--out", RESULTS / name, cwd=ROOT))
    )
    return {**_counts(figures), "tables": {table: _counts(counts) for table, counts in figures["tables"].items()}}


def _counts(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: figures[name] for name in ("runs", "done", "left", "measured") if name in figures}


def wanted_ids(data: str) -> dict[str, dict[str, Any]]:
    """The ids of all runs that the tables of the paper want."""
    from rewind_lab.paper.definitions import RunChoice, load_definitions

    wanted = load_definitions().wanted(RunChoice(data=data))
    return {table: counted(spec.run for spec in specs) for table, specs in wanted.items()}


# Plans


def trajectories(count: int = 30, seed: int = 0) -> rewind.Trajectories:
    """Random data of varied lengths; every third trajectory ends by a time-out, some without a final observation."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 21, count)
    lengths[:3] = 20, 1, 7
    rows = int(lengths.sum())
    return rewind.Trajectories(
        observations=random.standard_normal((rows, 3)).astype(np.float32),
        actions=random.uniform(-1, 1, (rows, 2)).astype(np.float32),
        rewards=random.standard_normal(rows).astype(np.float32),
        lengths=lengths,
        terminated=np.arange(count) % 3 != 0,
        final_observations=random.standard_normal((count, 3)).astype(np.float32),
        final_known=np.arange(count) % 6 != 0,
    )


def memories() -> dict[str, Any]:
    """Every sampler, by a name for people."""
    made: dict[str, Any] = {"uniform transitions": rewind.UniformReplay(seed=7)}
    made |= {f"prioritized alpha {alpha}": rewind.PrioritizedReplay(alpha=alpha, seed=7) for alpha in (0.6, 1.0)}
    given = np.random.default_rng(3).standard_normal(30)
    for priority in ("uniform", *PRIORITIES):
        made[priority] = rewind.TrajectoryReplay(priority, seed=7)
        made[f"{priority} alpha 0.5"] = rewind.TrajectoryReplay(priority, alpha=0.5, seed=7)
        for reuse in ("epoch", "replacement"):
            made[f"{priority} {reuse}"] = rewind.TrajectoryReplay(priority, reuse=reuse, seed=7)
        made[f"{priority} stagger"] = rewind.TrajectoryReplay(priority, stagger=True, seed=7)
    made["given"] = rewind.TrajectoryReplay(given, seed=7)
    made["given alpha 0.5 epoch stagger"] = rewind.TrajectoryReplay(
        given, alpha=0.5, reuse="epoch", stagger=True, seed=7
    )
    return made


def plan_digest(memory: Any, batch_size: int = 8) -> str:
    """Of several plans in a row, with feedback after each."""
    digest, random = hashlib.sha256(), np.random.default_rng(11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # more slots than trajectories
        memory.load_offline_dataset(trajectories())
        for steps in (1, 5, 17, 40, 3, 60, 1, 25):
            plan = memory.plan(steps, batch_size)
            _add(digest, plan.indices, plan.fresh, plan.trajectories)
            values = random.uniform(0, 2, plan.indices.shape).astype(np.float32)
            memory.update_uncertainty(values, plan)
            memory.update_priorities(values - 1, plan)
    return digest.hexdigest()


def batch_digest(memory: Any) -> str:
    """Of several batches in a row, with all they hold."""
    digest, random = hashlib.sha256(), np.random.default_rng(11)
    memory.load_offline_dataset(trajectories())
    for _ in range(60):
        batch = memory.sample(8)
        _add(digest, batch.indices, batch.fresh, batch.trajectories, batch.timesteps, batch.terminals, batch.tails)
        for array in (batch.observations, batch.actions, batch.rewards, batch.next_observations):
            digest.update(np.ascontiguousarray(array, np.float32).tobytes())
        memory.update_uncertainty(random.uniform(0, 2, 8).astype(np.float32))
    return digest.hexdigest()


def _add(digest: Any, *arrays: Any) -> None:
    for array in arrays:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array, np.int64).tobytes())


def adding_digest(memory: Any) -> str:
    """Of plans of a memory of limited capacity to which trajectories are added in between."""
    digest, random = hashlib.sha256(), np.random.default_rng(11)
    memory.load_offline_dataset(trajectories())
    for seed in range(1, 7):
        plan = memory.plan(20, 8)
        _add(digest, plan.indices, plan.fresh, plan.trajectories)
        memory.update_uncertainty(random.uniform(0, 2, plan.indices.shape).astype(np.float32), plan)
        memory.add(trajectories(4, seed))
    return digest.hexdigest()


def all_plans() -> dict[str, str]:
    digests = {name: plan_digest(memory) for name, memory in memories().items()}
    digests |= {f"{name}, 40 slots": plan_digest(memory, 40) for name, memory in memories().items()}
    for priority in ("uniform", "uqm_reward", "lower_uqm_unc"):
        digests[f"{priority}, batches"] = batch_digest(rewind.TrajectoryReplay(priority, seed=7))
        digests[f"{priority}, adding"] = adding_digest(rewind.TrajectoryReplay(priority, seed=7, capacity=330))
    digests["uniform transitions, batches"] = batch_digest(rewind.UniformReplay(seed=7))
    digests["uniform transitions, adding"] = adding_digest(rewind.UniformReplay(seed=7, capacity=330))
    digests["prioritized, batches"] = batch_digest(rewind.PrioritizedReplay(seed=7))
    digests["prioritized, adding"] = adding_digest(rewind.PrioritizedReplay(seed=7, capacity=330))
    return digests


# Rebuilt data sets

LOCOMOTION = ("random", "medium", "medium-replay", "medium-expert", "expert")
REBUILT = (
    *(f"rewind/{task}-{kind}-v0" for task in ("hopper", "halfcheetah", "walker2d") for kind in LOCOMOTION),
    "rewind/antmaze-umaze-v0", "rewind/antmaze-umaze-diverse-v0",
    *(f"rewind/antmaze-{maze}-{kind}-v0" for maze in ("medium", "large") for kind in ("play", "diverse")),
    *(f"rewind/pointmaze-{maze}-v0" for maze in ("umaze", "medium", "large")),
)  # fmt: skip
REPRESENTATIVE = (
    "rewind/hopper-medium-v0", "rewind/halfcheetah-random-v0", "rewind/walker2d-expert-v0",
    "rewind/antmaze-umaze-v0", "rewind/antmaze-large-diverse-v0", "rewind/pointmaze-medium-v0",
)  # fmt: skip


def machine() -> dict[str, str]:
    """What the bits of a simulation depend on, besides the code."""
    found = {"python": platform.python_version(), "processor": _processor()}
    for package in ("numpy", "mujoco", "gymnasium"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    return found


def _processor() -> str:
    """Its name with family and model: virtual machines give different processors one name."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text(errors="replace").splitlines() if information.exists() else []
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    known = [fields[key] for key in ("model name", "cpu family", "model") if key in fields]
    return ", ".join(known) or platform.processor() or platform.machine()


def rebuilt(name: str, folder: Path) -> dict[str, Any]:
    """The digest and the counts of a rebuilt data set of 2000 transitions."""
    report = folder / "built.json"
    ended = command("data", "build", name, "--size", 2000, "--json", report, REWIND_DATA=str(folder))
    succeeded(ended)
    figures = json.loads(report.read_text(encoding="utf-8"))
    return {key: figures[key] for key in ("digest", "transitions", "trajectories")}


# Policies and training folders

SIZES = ("--batch-size", 4, "--hidden", 8, 8)
TRAINING = (
    "--dataset", "data.npz", "--algorithm", "td3_bc", "--samplers", "tr", "lower_uqm_unc", "--betas", 0.5, *SIZES,
    "--env", "none", "--out", "training",
)  # fmt: skip


def policy_actions(folder: Path) -> list[list[float]]:
    """What an exported policy does in fixed states."""
    policy = rewind.load_policy(folder)
    observations = np.linspace(-2, 2, 5 * policy.observation_size).reshape(5, -1)
    return [[float(number) for number in row] for row in policy(observations)]


def copied_training(folder: Path) -> None:
    """The data and the old training folder of the fixtures, in another folder."""
    shutil.copy(FIXTURES / "data.npz", folder)
    shutil.copytree(FIXTURES / "training", folder / "training")


def resume(folder: Path, steps: int) -> subprocess.CompletedProcess[str]:
    quickly = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    return command("train", *TRAINING, "--steps", steps, "--resume", cwd=folder, **quickly)


def all_actions(training: Path) -> dict[str, list[list[float]]]:
    """What all policies of a training folder do in fixed states."""
    return {path.parent.name: policy_actions(path.parent) for path in sorted(training.glob("policies/*/policy.json"))}


def resumed_actions() -> dict[str, list[list[float]]]:
    """What the policies of the old training folder do after ten more steps."""
    with tempfile.TemporaryDirectory() as name:
        copied_training(Path(name))
        succeeded(resume(Path(name), 30))
        return all_actions(Path(name) / "training")
