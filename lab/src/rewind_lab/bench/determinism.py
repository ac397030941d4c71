"""`rewind bench determinism`: whether training twice, or stopping and resuming, gives the same bits."""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rewind.agents import AGENTS
from rewind.cli.arguments import Rare
from rewind.data import save_npz
from rewind.errors import RewindError, UsageError
from rewind.files import write_json
from rewind.table import table
from rewind_lab.bench.memory import random_trajectories
from rewind_lab.bench.timing import machine

BLOCK = 100  # training stops after whole blocks


@dataclass
class BenchDeterminism:
    """Train three times in separate processes, one of them stopped and resumed, and compare the bits.

    Example: rewind bench determinism --algorithm iql --steps 1000
    """

    algorithm: str = "td3_bc"
    """td3_bc, iql, edac or bc."""
    samplers: tuple[str, ...] = ("tr", "lower_uqm_unc")
    """Samplers of rewind train."""
    seeds: int = 4
    """Runs of each sampler, all trained together."""
    steps: int = 3000
    """Updates of each run, a multiple of 200."""
    size: Rare[int] = 50_000
    """Transitions in the data, which is random."""
    deterministic: bool = True
    """Use rewind train --deterministic; without it, a GPU may sum in any order."""
    json: Rare[Path | None] = None
    """Also write the figures to this file."""

    def run(self) -> None:
        if self.steps < 1 or self.steps % (2 * BLOCK) or self.seeds < 1:
            raise UsageError(
                f"--steps is {self.steps}, --seeds {self.seeds}; expected a multiple of {2 * BLOCK}, and at least 1"
            )
        with tempfile.TemporaryDirectory() as folder:
            figures = self.measure(Path(folder))
        print_figures(figures)
        if self.json is not None:
            write_json(self.json, figures)

    def measure(self, folder: Path) -> dict[str, Any]:
        save_npz(random_trajectories(self.size, 100, 300), folder / "data.npz")
        for name in ("whole", "again"):
            self._train(folder, name, self.steps)
        self._train(folder, "resumed", self.steps // 2)
        self._train(folder, "resumed", self.steps, "--resume")
        begun = json.loads((folder / "whole/config.json").read_text())
        return {
            "machine": machine() | begun["versions"],
            "device": begun["device"],
            "algorithm": self.algorithm,
            "samplers": self.samplers,
            "runs": len(begun["config"]["runs"]),
            "steps": self.steps,
            "deterministic": self.deterministic,
            "trained again": difference(folder / "whole", folder / "again"),
            "stopped in the middle and resumed": difference(folder / "whole", folder / "resumed"),
        }

    def _train(self, folder: Path, name: str, steps: int, *more: str) -> None:
        """Train in a new process, so that everything is compiled and tuned again."""
        arguments = ["--dataset", folder / "data.npz", "--out", folder / name, "--steps", steps, "--env", "none"]
        arguments += ["--algorithm", self.algorithm, "--samplers", *self.samplers, "--betas", 0.5]
        arguments += ["--seeds", *range(self.seeds), "--log-every", BLOCK, "--evaluate-every", 0]
        arguments += ["--deterministic"] if self.deterministic else []
        for setting, value in AGENTS[self.algorithm].defaults(self.steps).items():  # as if nothing ended in the middle
            arguments += ["--set", f"{setting}={value}"]
        command = [sys.executable, "-P", "-m", "rewind.cli", "train", *map(str, arguments), *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RewindError(f"training ended with status {done.returncode}: {done.stderr.strip()}")


def difference(one: Path, other: Path) -> dict[str, Any]:
    """Whether two trainings wrote equal policies and metrics, and the largest difference of the policies."""
    apart = []
    for path in sorted((one / "policies").glob("*/policy.npz")):
        with np.load(path) as mine, np.load(other / path.relative_to(one)) as theirs:
            apart += [float(np.abs(mine[name] - theirs[name]).max()) for name in mine.files]
    logged = [regular(folder) for folder in (one, other)]
    return {"equal": not any(apart), "metrics equal": logged[0] == logged[1], "largest difference": max(apart)}


def regular(folder: Path) -> list[dict[str, Any]]:
    """The metrics of training, without evaluations: a stopped training has one more, which changes the digests."""
    lines = (folder / "group-0/metrics.jsonl").read_text().splitlines()
    return [record | {"check": None} for record in map(json.loads, lines) if "alive" in record]


def print_figures(figures: dict[str, Any]) -> None:
    how = "--deterministic" if figures["deterministic"] else "without --deterministic"
    print(f"{figures['algorithm']}, {figures['runs']} runs of {figures['steps']:,} steps, {how}; {figures['device']}\n")
    rows = [
        {
            "against the first training": name,
            "policies equal to the bit": figures[name]["equal"],
            "metrics": figures[name]["metrics equal"],
            "largest difference": f"{figures[name]['largest difference']:.3g}",
        }
        for name in ("trained again", "stopped in the middle and resumed")
    ]
    print(table(rows))
