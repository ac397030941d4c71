"""Write the chosen snapshots of the -v1 trainings as policies: python lab/tools/v1/ship.py TRAININGS OUT

Which ones, and why: lab/results/behaviour/v1_NOTES.md.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from measure import read_policy
from train import PLANS

ANTS = {  # training, run, step
    "ant-fast": ("ant-second", 9, 425_088),
    "ant-slow": ("ant-first", 8, 75_008),
}
GAIN = 1.5  # times the mean before the tanh: as many saturated actions as the published walker's
STAGES: dict[str, tuple[int, int, tuple[int, ...]]] = json.loads((Path(__file__).parent / "stages.json").read_text())


def write(folder: Path, run: int, step: int, path: Path, mean_gain: float = 1.0, **meta: Any) -> None:
    source = folder / "snapshots" / f"step-{step:010d}.npz"
    told = {"algorithm": "SAC", "trained_by": "lab/tools/v1/train.py", "plan": folder.name, "run": run, "step": step}
    replace(read_policy(str(source), run, mean_gain), meta=told | meta).save(path)


def main() -> None:
    trainings, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    for shipped, (name, run, step) in ANTS.items():
        plan = PLANS[name]
        walk, seed = plan.walks[run // len(plan.seeds)], plan.seeds[run % len(plan.seeds)]
        write(trainings / name, run, step, out / f"{shipped}.npz", GAIN, gain=GAIN, seed=seed, walk=asdict(walk))
    for task, (run, medium, stages) in STAGES.items():
        seed = PLANS[task].seeds[run]
        about = {"environment": PLANS[task].task, "seed": seed}
        write(trainings / task, run, medium, out / f"{task}-medium.npz", **about)
        for index, step in enumerate(stages):
            write(trainings / task, run, step, out / f"{task}-replay-{index:02}.npz", **about)


if __name__ == "__main__":
    main()
