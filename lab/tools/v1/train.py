"""Train the behaviour policies of the -v1 sets, with many snapshots (see results/behaviour/v1_NOTES.md).

python lab/tools/v1/train.py PLAN OUT SECONDS [STEPS]     PLAN: a name of PLANS
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from rewind_lab.behaviour.online import BehaviourPlan, Online
from rewind_lab.behaviour.walk import Walk

FREE = 100.0  # metres a second: no limit

FIRST = (
    Walk("open", 0.0, FREE, ends=False),
    Walk("open", 0.0, 1.5, ends=False),
    Walk("open", 0.0, FREE, ends=True),
    Walk("open", 0.2, 1.5, ends=True),
)
SECOND = (
    Walk("open", 0.2, FREE, ends=False),
    Walk("large-data", 0.0, FREE, ends=False),
    Walk("large-data", 0.2, 1.5, ends=False),
    Walk("large-data", 0.0, FREE, ends=True),
)
ANT = BehaviourPlan(
    "ant", 800_000, (0, 1, 2), copies=64, rounds=2, capacity=800_000, early=25_000, early_until=800_000, threads=2
)
PLANS = {
    "ant-first": replace(ANT, walks=FIRST),
    "ant-second": replace(ANT, walks=SECOND, seeds=(3, 4, 5)),
    "hopper": BehaviourPlan("Hopper-v4", 300_000, early=5_000, threads=1),
    "halfcheetah": BehaviourPlan("HalfCheetah-v4", 200_000, early=5_000, threads=2),
    "walker2d": BehaviourPlan("Walker2d-v4", 600_000, early=10_000, early_until=600_000, threads=1),
}


class Unsaved(Online):
    """Snapshots are what is wanted; the rings of many runs take long to write."""

    def _save(self) -> None:
        pass


def main() -> None:
    name, out, seconds = sys.argv[1:4]
    plan = PLANS[name]
    if len(sys.argv) > 4:
        plan = replace(plan, steps=int(sys.argv[4]))
    Unsaved(plan, Path(out)).train(float(seconds))


if __name__ == "__main__":
    main()
