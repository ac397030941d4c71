"""Play walkers on all cores and count what their data is like. A line of JSON for each chunk that was played.

    python lab/tools/v1/measure.py JOBS OUT [PROCESSES]

JOBS holds a line of JSON for each candidate and set:
    {"policy": FILE, "run": 0, "gain": 1, "spread": 0, "noise": 0.2, "set": "umaze", "chunks": [0, 2], "stop": true}
run: of a file of snapshots; gain: times the mean before the tanh; spread: added to its log_std
chunks: first and last + 1
With "stop": false, episodes never stop, and the line has the fragments of all endings.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

from rewind.rebuilt.collect import play  # noqa: E402
from rewind.rebuilt.players import AntPlayer  # noqa: E402
from rewind.rebuilt.policy import BehaviourPolicy, load_behaviour  # noqa: E402
from rewind.rebuilt.recipes import find_recipe  # noqa: E402
from rewind_lab.behaviour.likeness import evaluation_goals, fragment_sums, walker_sums  # noqa: E402

DWELLS = (0, 1, 2, 4, 8, 15, 30, 60, 120, 250, None)
GOALS = 32


def read_policy(path: str, run: int = 0, gain: float = 1.0, spread: float = 0.0) -> BehaviourPolicy:
    """A policy's file, or one run of a file of snapshots."""
    with np.load(path) as archive:
        stacked = archive["w0"].ndim == 3
        if stacked:
            layers = range(len(archive.files) // 2)
            weights = [archive[f"w{layer}"][run].astype(np.float32) for layer in layers]
            biases = [archive[f"b{layer}"][run].astype(np.float32) for layer in layers]
    policy = BehaviourPolicy(weights, biases, "relu") if stacked else load_behaviour(path)
    if (gain, spread) == (1.0, 0.0):
        return policy
    actions = policy.action_size
    scale = np.concatenate((np.full(actions, gain), np.ones(actions)))
    shift = np.concatenate((np.zeros(actions), np.full(actions, spread)))
    return replace(policy, out_scale=scale, out_shift=shift)


def work(job: dict[str, Any]) -> dict[str, Any]:
    try:
        recipe = find_recipe(f"rewind/antmaze-{job['set']}-v0")
        assert recipe.maze is not None
        stop = job.get("stop", True)
        way = replace(recipe.maze, noise=job.get("noise", 0.2), stop=stop)
        recipe = replace(recipe, maze=way, width=job.get("width", recipe.width))
        policy = read_policy(job["policy"], job.get("run", 0), job.get("gain", 1.0), job.get("spread", 0.0))
        player = AntPlayer(recipe, way, policy)
        played = play(player, recipe, job.get("seed", 0), 0, job["chunk"])
        if stop:
            return job | walker_sums(played)
        targets = evaluation_goals(job["set"], GOALS)
        return job | {"dwells": DWELLS} | fragment_sums(played, player.goals, targets, DWELLS)
    except Exception as error:  # one bad candidate must not end the others
        return job | {"error": repr(error)}


def main() -> None:
    jobs, out = Path(sys.argv[1]), Path(sys.argv[2])
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else len(os.sched_getaffinity(0))
    chunks = []
    for line in jobs.read_text().splitlines():
        job = json.loads(line)
        first, last = job.pop("chunks", (0, 1))
        chunks += [job | {"chunk": chunk} for chunk in range(first, last)]
    with get_context("spawn").Pool(processes) as pool, out.open("a") as file:
        for line in pool.imap_unordered(work, chunks):
            file.write(json.dumps(line) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
