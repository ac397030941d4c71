"""From log.csv to a decision and policy.onnx, with the commands that you would type; then what the simulator says.

python examples/heating/run.py                    # everything into the folder runs/heating
python examples/heating/run.py --steps 2000       # shorter
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import rewind
from rewind.evaluation.offline_table import preferred

sys.path.insert(0, str(Path(__file__).parents[1]))  # when this file is run as a script

from heating.simulator import worth, write_log

MAP = Path(__file__).with_name("map.toml")
STARTS = 200  # days from whose first state the simulator plays


def run_path(folder: Path, steps: int = 10_000) -> list[dict[str, Any]]:
    """The log, the training, the page and the model, all in `folder`; then each policy's estimate beside its truth."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(MAP, folder)
    write_log(folder / "log.csv")
    command(folder, "inspect", "log.csv", "--map", "map.toml")
    command(
        folder, "train", "--dataset", "log.csv", "--map", "map.toml", "--hold-out", "0.1", "--recommended",
        "--set", "alpha=0.25,2.5,20", "--hidden", "64", "64", "--steps", str(steps), "--out", "run",
    )  # fmt: skip
    command(folder, "report", "run")
    offline = json.loads((folder / "run" / "offline.json").read_text(encoding="utf-8"))
    chosen = preferred(offline)["folder"]  # what the page says to start with
    command(folder, "export", chosen, "--onnx", "policy.onnx", "--clip", "--fallback", "40")
    return beside_the_truth(folder, offline)


def command(folder: Path, *arguments: str) -> None:
    print(f"\n$ rewind {' '.join(arguments)}", flush=True)
    subprocess.run([sys.executable, "-m", "rewind.cli", *arguments], cwd=folder, check=True)


def beside_the_truth(folder: Path, offline: dict[str, Any]) -> list[dict[str, Any]]:
    """What you do not have: the simulator. Estimates and truths, the best estimate first."""
    data = rewind.load(folder / "log.csv", map=folder / "map.toml")
    starts = data.observations[data.starts][:: max(1, len(data) // STARTS)]
    rows = []
    for ranked in offline["policies"]:
        policy = rewind.load_policy(folder / ranked["folder"], fallback=40.0, clip=True)
        rows.append(
            {
                "policy": ranked["name"],
                "estimate": ranked["estimate"],
                "truth": float(worth(policy, starts, offline["discount"]).mean()),
                "outside": float(policy.outside(data.observations).mean()),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="a messy log, a policy, and whether the estimate was right")
    parser.add_argument("--out", type=Path, default=Path("runs/heating"))
    parser.add_argument("--steps", type=int, default=10_000)
    options, begin = parser.parse_args(), time.monotonic()
    rows = run_path(options.out, options.steps)
    print(f"\nall of it: {time.monotonic() - begin:.0f} s, the simulator included. What the simulator says:")
    for row in rows:
        value, low, high = row["estimate"]
        inside = "inside" if low <= row["truth"] <= high else "outside"
        interval = f"{value:.1f} [{low:.1f}, {high:.1f}]"
        print(f"  {row['policy']}: estimate {interval}, truth {row['truth']:.1f}, {inside} the interval")


if __name__ == "__main__":
    main()
