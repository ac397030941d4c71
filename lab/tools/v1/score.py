"""Returns and lengths of episodes that snapshots play as the data will be: a line of JSON for each policy.

    python lab/tools/v1/score.py TASK FOLDER RUNS FROM,TO,EVERY EPISODES OUT [CHUNK]

TASK: hopper, ...; steps in thousands
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from measure import read_policy

from rewind.data.catalogue import normalised_score
from rewind.rebuilt.collect import play
from rewind.rebuilt.players import PolicyPlayer, _environment
from rewind.rebuilt.recipes import find_recipe


def main() -> None:
    task, folder, runs, steps, episodes, out = sys.argv[1:7]
    chunk = int(sys.argv[7]) if len(sys.argv) > 7 else 0
    recipe = replace(find_recipe(f"rewind/{task}-medium-v0"), width=int(episodes))
    env = _environment(recipe)
    first, last, every = map(int, steps.split(","))
    files = {int(path.stem.removeprefix("step-")): path for path in Path(folder).glob("snapshots/step-*.npz")}
    wanted = [min(files, key=lambda at, k=k: abs(at - 1000 * k)) for k in range(first, last + 1, every)]
    with Path(out).open("a") as file:
        for step in wanted:
            for run in map(int, runs.split(",")):
                played = play(PolicyPlayer(env, read_policy(str(files[step]), run)), recipe, 0, 0, chunk)
                returns = np.add.reduceat(played.rewards.astype(np.float64), np.cumsum(played.lengths) - played.lengths)
                scores = normalised_score(f"{task}-medium-v2", returns)
                line = {"task": task, "step": step, "run": run, "chunk": chunk, "lengths": played.lengths.tolist()}
                line |= {"score": round(float(np.mean(scores)), 2), "scores": np.round(scores, 2).tolist()}
                file.write(json.dumps(line) + "\n")
                file.flush()


if __name__ == "__main__":
    main()
