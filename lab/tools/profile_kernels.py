"""Where the time of an update goes, kernel by kernel: python lab/tools/profile_kernels.py [RUNS [STEPS]]

Trains groups of this many runs (64) with fused kernels for some steps (200) under JAX's profiler, on random data, and
prints the kernels that take most, in microseconds per update of the group. Where there is no GPU, networks are plain.
"""

import gzip
import json
import sys
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np

from rewind.training.engine import current_device
from rewind_lab.bench.memory import random_trajectories
from rewind_lab.bench.train import FUSED, BenchTrain, training_job

AGENTS = {  # and how often the 23 observations and actions of the data are repeated
    "TD3+BC": ("td3_bc", {}, 1),
    "TD3+BC, layer norm": ("td3_bc", {"layer_norm": True}, 1),
    "TD3+BC, layer norm, 69 inputs as on Adroit": ("td3_bc", {"layer_norm": True}, 3),
    "IQL": ("iql", {}, 1),
}
MOST = 15  # kernels that are named


def by_kernel(folder: Path) -> dict[str, float]:
    """Microseconds of each kernel in a profile, on the accelerator if it has one, otherwise on the host."""
    (path,) = folder.rglob("perfetto_trace.json.gz")
    with gzip.open(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event.get("name") == "process_name"}
    devices = {pid for pid, name in names.items() if "GPU" in name} or set(names)
    took: dict[str, float] = defaultdict(float)
    for event in events:
        if event.get("ph") == "X" and event["pid"] in devices:
            took[event["name"]] += event["dur"]
    return dict(took)


def profile(algorithm: str, settings: dict[str, object], runs: int, steps: int, wider: int = 1) -> dict[str, float]:
    bench = BenchTrain(algorithm, settings=settings)
    data = random_trajectories(100_000, 400, 600)
    names = ("observations", "final_observations", "actions")
    data = replace(data, **{name: np.tile(getattr(data, name), wider) for name in names})
    group = bench._group(data, FUSED if current_device().platform == "gpu" else "uniform", runs)
    job = training_job(group, steps)
    job()  # compiles
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, create_perfetto_trace=True):
            job()
        return {name: took / steps for name, took in by_kernel(Path(folder)).items()}


def main() -> None:
    given = [int(word) for word in sys.argv[1:3]]
    runs, steps = [*given, *(64, 200)[len(given) :]]
    for name, (algorithm, settings, wider) in AGENTS.items():
        took = profile(algorithm, settings, runs, steps, wider)
        print(f"\n{name}, {runs} runs: {sum(took.values()):.0f} us per update of the group")
        for kernel, each in sorted(took.items(), key=lambda item: -item[1])[:MOST]:
            print(f"{each:9.1f}  {kernel[:100]}", flush=True)


if __name__ == "__main__":
    main()
