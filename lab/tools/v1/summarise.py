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
from rewind_lab.behaviour.likeness import PUBLISHED, distance, fragments_per_million, walker_figures

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
        "published": PUBLISHED[kind],
        "distance": rounded(distance(kind, together)),
        "walkers": {name: rounded(figures) for name, figures in alone.items()},
        "endings": ending_table(dwells, endings),
    }


def mixed(alone: list[dict[str, float]]) -> dict[str, float]:
    """Of the same number of rows from each."""
    each = np.array([figures["episodes_per_million"] for figures in alone])
    reached = each * [figures["reached"] for figures in alone]
    by_episode = {}
    for name in ("reached", "ended_on_back"):
        by_episode[name] = float((each * [f[name] for f in alone]).sum() / each.sum())
    by_row = {name: float(np.mean([f[name] for f in alone])) for name in ("back", "saturated", "action_std")}
    steps = float((reached * [f["steps"] for f in alone]).sum() / reached.sum())
    counted = {name: sum(f[name] for f in alone) for name in ("rows", "episodes")}
    return counted | {"episodes_per_million": float(each.mean()), "steps": steps} | by_episode | by_row


def ending_table(dwells: list[int | None], walkers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    pieces = np.mean([fragments_per_million(sums) for sums in walkers], axis=0)  # (dwells, goals)
    rewarded = np.mean([sums["rewarded"] / sums["rows"][:, None] for sums in walkers], axis=0)
    episodes = np.mean([1e6 * sums["episodes"] / sums["rows"] for sums in walkers], axis=0)
    met = np.mean([sums["met"] / sums["episodes"][:, None] for sums in walkers], axis=0)
    rows = np.sum([sums["rows"] for sums in walkers], axis=0)
    return [
        {
            "dwell": "never stops" if dwell is None else dwell,
            "rows": int(rows[at]),
            "episodes": round(float(episodes[at])),
            "fragments": round(float(pieces[at].mean())),
            "least": round(float(pieces[at].min())),
            "most": round(float(pieces[at].max())),
            "rewarded_rows": round(float(rewarded[at].mean()), 5),
            "episodes_that_meet_the_goal": round(float(met[at].mean()), 4),
        }
        for at, dwell in enumerate(dwells)
    ]


def rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in figures.items()}


if __name__ == "__main__":
    main()
