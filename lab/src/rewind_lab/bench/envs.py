"""`rewind bench envs`: the time of a step of an environment, relative to the bare simulator."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rewind.cli.arguments import Rare
from rewind.envs import make
from rewind.errors import require
from rewind.files import write_json
from rewind.table import table
from rewind_lab.bench.timing import machine

ENVIRONMENTS = (
    "Hopper-v4",
    "HalfCheetah-v4",
    "Walker2d-v4",
    "rewind/AntMaze-umaze-v2",
    "rewind/AntMaze-medium-v2",
    "rewind/AntMaze-large-v2",
)


@dataclass
class BenchEnvs:
    """Measure steps per second of the environments, and their ratio to bare mujoco.batch.

    Example: rewind bench envs --copies 256
    """

    copies: int = 256
    """Simulations stepped together."""
    steps: int = 200
    """Steps of each environment; the median counts."""
    threads: int = 0
    """Threads of the simulator, 0 for all cores."""
    json: Rare[Path | None] = None
    """Also write the figures to this file."""

    def run(self) -> None:
        sizes = {"copies": self.copies, "steps": self.steps, "threads": self.threads}
        figures: dict[str, Any] = {"machine": machine() | {"mujoco": require("mujoco", "envs").__version__}, **sizes}
        figures["stepping"] = {name: measure_stepping(name, **sizes) for name in ENVIRONMENTS}
        print_figures(figures)
        if self.json is not None:
            write_json(self.json, figures)


def measure_stepping(name: str, copies: int, steps: int, threads: int = 0) -> dict[str, float]:
    """Medians of one step of all copies, in turns, from the same states with the same random actions.

    When an episode is over, the environment resets that copy, and the bare simulator leaves it out.
    """
    env: Any = make(name, copies, seed=0, threads=threads)
    bare = require("mujoco.batch", "envs").Batch(env.model, copies, threads)
    high = env.single_action_space.high
    strength = env.model.actuator_ctrlrange[:, 1] / high
    stream = np.random.default_rng(0)
    over = np.zeros(copies, bool)
    seconds = np.zeros((steps, 2))
    for step in range(steps):
        actions = (high * stream.uniform(-1, 1, env.action_space.shape)).astype(np.float32)
        bare.state[:] = env.batch.state
        ids = np.flatnonzero(~over) if over.any() else None
        for job in (0, 1) if step % 2 else (1, 0):  # the first one alternates
            begin = time.perf_counter()
            if job:
                _, _, terminated, truncated, _ = env.step(actions)
            else:
                bare.ctrl = actions * strength
                bare.step(ids, nstep=env.frame_skip)
            seconds[step, job] = time.perf_counter() - begin
        over = terminated | truncated
    simulator, environment = np.median(seconds, axis=0)
    return {
        "env_us_per_step": environment / copies * 1e6,
        "bare_us_per_step": simulator / copies * 1e6,
        "ratio": environment / simulator,
        "steps_per_second": copies / environment,
    }


def print_figures(figures: dict[str, Any]) -> None:
    where = figures["machine"]
    print(f"{figures['copies']} copies; {where['processor']}, {where['cores']} cores, mujoco {where['mujoco']}\n")
    rows = [
        {
            "environment": name,
            "us per step": f"{row['env_us_per_step']:.1f}",
            "bare mujoco.batch": f"{row['bare_us_per_step']:.1f}",
            "ratio": f"{row['ratio']:.2f}",
            "steps per second": f"{row['steps_per_second']:,.0f}",
        }
        for name, row in figures["stepping"].items()
    ]
    print(table(rows))
