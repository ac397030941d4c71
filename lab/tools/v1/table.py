"""What `measure.py` counted, candidate by candidate, and how far it is from the published figures.

python lab/tools/v1/table.py OUT... [--best N]
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from rewind_lab.behaviour.likeness import PUBLISHED, distance, walker_figures

KNOBS = {"run": 0, "gain": 1, "spread": 0, "noise": 0.2}
COUNTED = ("episodes", "rows", "reached", "steps", "back", "ended_on_back", "saturated", "square", "mean")


def read(paths: list[str]) -> dict[tuple[Any, ...], dict[str, dict[str, float]]]:
    """By candidate and set, what was counted over all chunks."""
    sums: dict[tuple[Any, ...], dict[str, dict[str, float]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(float))
    )
    for path in paths:
        for line in Path(path).read_text().splitlines():
            chunk = json.loads(line)
            if "error" in chunk:
                print(chunk["error"], chunk["policy"])
                continue
            if not chunk.get("stop", True):
                continue
            key = (chunk["policy"], *(chunk.get(name, usual) for name, usual in KNOBS.items()))
            for name in COUNTED:
                sums[key][chunk["set"]][name] += chunk[name]
    return sums


def main() -> None:
    arguments = sys.argv[1:]
    best = int(arguments[arguments.index("--best") + 1]) if "--best" in arguments else 20
    paths = arguments[: arguments.index("--best")] if "--best" in arguments else arguments
    ranked = []
    for key, sets in read(paths).items():
        figures = {kind: walker_figures(sets[kind]) for kind in PUBLISHED if kind in sets}
        away = {kind: distance(kind, figures[kind]) for kind in figures}
        values = [value for each in away.values() for value in each.values()]
        ranked.append((sum(v * v for v in values) / len(values), max(map(abs, values)), key, figures, away))
    for square, worst, key, figures, away in sorted(ranked, key=lambda row: row[0])[:best]:
        knobs = ", ".join(f"{name} {value}" for name, value in zip(KNOBS, key[1:], strict=True))
        print(f"{key[0].split('/')[-1]}, {knobs}: rms {square**0.5:.2f} worst {worst:.2f}")
        for kind, figure in figures.items():
            shown = [f"{kind:15}{figure['rows']:9.0f} rows"]
            for name, value in away[kind].items():
                shown.append(f"{name} {100 * figure[name]:5.1f}% ({value:+.2f})")
            shown.append(f"steps {figure['steps']:4.0f}  std {figure['action_std']:.2f}")
            print("  ", "  ".join(shown))


if __name__ == "__main__":
    main()
