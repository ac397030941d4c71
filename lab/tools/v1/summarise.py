"""What was measured of the -v1 walkers and policies, as the JSON files of results/behaviour.

    python lab/tools/v1/summarise.py FOLDER OUT

FOLDER holds final_*.out of measure.py and mujoco_*.jsonl of measure_mujoco.py. A set's walkers give the same number of
rows each: shares of rows are means over walkers, shares of episodes are weighted by how many episodes each walker needs
for its rows.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from rewind.files import write_json
from rewind_lab.behaviour.likeness import PUBLISHED, distance, ending_table, mixed, walker_figures

COUNTED = ("episodes", "rows", "reached", "steps", "back", "ended_on_back", "saturated", "square", "mean")
ENDINGS = ("episodes", "rows", "rewarded", "ended_rewarded", "met")


def main() -> None:
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    chunks = [json.loads(line) for path in sorted(folder.glob("final_*.out")) for line in path.read_text().splitlines()]
    failed = [chunk for chunk in chunks if "error" in chunk]
    assert not failed, failed[:1]
    walkers = {"sets": {kind: walker_set(kind, [c for c in chunks if c["set"] == kind]) for kind in PUBLISHED}}
    about = {
        "measured": "the shipped walkers as the recipe plays them: noise 0.2, seed 1, whole chunks of 32 episodes",
        "on_back": "rows whose torso's z axis points down: 1 - 2 (x^2 + y^2) < 0 of the quaternion (w, x, y, z)",
        "saturated": "entries of actions beyond 0.999 in absolute value",
        "distance": "from the published figure, as a share of what is tolerated; 1 is the limit",
        "fragments": "per million rows, of episodes that never stop, cut afterwards; over 32 evaluation goals",
    }
    write_json(out / "v1_walkers.json", about | walkers)
    lines = "".join(path.read_text() for path in sorted(folder.glob("mujoco_*.jsonl"))).splitlines()
    sets = [json.loads(line) for line in lines]
    made = "the sets made with seed 0, sampled actions, equal shares"
    write_json(out / "v1_mujoco.json", {"measured": made, "sets": sets})


def walker_set(kind: str, chunks: list[dict[str, Any]]) -> dict[str, Any]:
    names = sorted({Path(chunk["policy"]).stem for chunk in chunks})
    alone: dict[str, dict[str, float]] = {}
    endings = []
    for name in names:
        own = [chunk for chunk in chunks if Path(chunk["policy"]).stem == name]
        sums: dict[str, float] = defaultdict(float)
        for chunk in own:
            for field in COUNTED if chunk.get("stop", True) else ():
                sums[field] += chunk[field]
        alone[name] = walker_figures(sums)
        never = [chunk for chunk in own if not chunk.get("stop", True)]
        endings.append({field: np.sum([chunk[field] for chunk in never], axis=0) for field in ENDINGS})
    together = mixed(list(alone.values()))
    dwells = next(chunk["dwells"] for chunk in chunks if "dwells" in chunk)
    return {
        "together": rounded(together),
        "published": dict(PUBLISHED[kind]),
        "distance": rounded(distance(kind, together)),
        "walkers": {name: rounded(figures) for name, figures in alone.items()},
        "endings": ending_table(dwells, endings),
    }


def rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in figures.items()}


if __name__ == "__main__":
    main()
