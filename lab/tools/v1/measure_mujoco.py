"""Make the -v1 medium and medium-replay sets of a task as the recipes will, and print their figures as a line of JSON.

    python lab/tools/v1/measure_mujoco.py TASK KIND POLICIES OUT     KIND: medium, medium-replay

Every policy gives the same share of the rows, in order; sampled actions; seed 0.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from rewind.data.catalogue import normalised_score
from rewind.rebuilt.collect import Episodes, join, play
from rewind.rebuilt.players import find_player
from rewind.rebuilt.recipes import find_recipe


def main() -> None:
    task, kind, folder, out = sys.argv[1:5]
    recipe = find_recipe(f"rewind/{task}-{kind}-v0")
    recipe = replace(recipe, name=f"rewind/{task}-{kind}-v1")
    pattern = f"{task}-medium.npz" if kind == "medium" else f"{task}-replay-*.npz"
    paths = sorted(Path(folder).glob(pattern))
    bounds = [recipe.size * index // len(paths) for index in range(len(paths) + 1)]
    parts, stages = [], []
    for part, path in enumerate(paths):
        player, share = find_player(recipe, str(path)), bounds[part + 1] - bounds[part]
        chunks = []
        while sum(chunk.rows for chunk in chunks) < share:
            chunks.append(play(player, recipe, 0, part, len(chunks)))
        parts.append(join(chunks).cut(share))
        stages.append(figures(task, parts[-1]))
    line = {"set": recipe.name, "policies": [path.stem for path in paths]}
    line |= figures(task, join(parts)) | {"parts": stages}
    with Path(out).open("a") as file:
        file.write(json.dumps(line) + "\n")


def figures(task: str, played: Episodes) -> dict[str, float]:
    """Trajectories as the data has them, the last of a part cut where its share ends."""
    starts = np.cumsum(played.lengths) - played.lengths
    returns = np.add.reduceat(played.rewards.astype(np.float64), starts)
    scores = np.asarray(normalised_score(f"{task}-medium-v2", returns))
    best = np.sort(scores)[::-1]
    return {
        "rows": played.rows,
        "trajectories": len(scores),
        "mean_length": round(float(played.lengths.mean()), 1),
        "mean_score": round(float(scores.mean()), 2),
        "deviation": round(float(scores.std()), 2),
        "best_score": round(float(best[0]), 2),
        "best_tenth": round(float(best[: max(1, len(best) // 10)].mean()), 2),
    }


if __name__ == "__main__":
    main()
