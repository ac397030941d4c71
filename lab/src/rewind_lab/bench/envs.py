"""`rewind bench envs`: what stepping an environment costs over the bare simulator, and how long an evaluation takes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rewind.envs import make
from rewind.errors import require
from rewind.evaluation import Evaluator
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
    """Measure the environments: steps per second, and the ratio to bare mujoco.batch in one run."""

    copies: int = 256
    """Simulations stepped together."""
    steps: int = 200
    """Steps of each environment; the median counts."""
    threads: int = 0
    """Of the simulator; 0: all cores."""
    runs: int = 16
    """Policies of the timed evaluation."""
    episodes: int = 10
    """Episodes of each policy."""
    json: Path | None = None
    """Also write the figures to this file."""

    def run(self) -> None:
        figures: dict[str, Any] = {"machine": machine(), "copies": self.copies, "steps": self.steps}
        figures["threads"] = self.threads
        figures["machine"]["mujoco"] = require("mujoco", "envs").__version__
        figures["stepping"] = {
            name: measure_stepping(name, self.copies, self.steps, self.threads) for name in ENVIRONMENTS
        }
        figures["evaluation"] = measure_evaluation("Hopper-v4", self.runs, self.episodes, self.steps, self.threads)
        print_figures(figures)
        if self.json is not None:
            write_json(self.json, figures)


def measure_stepping(name: str, copies: int, steps: int, threads: int = 0) -> dict[str, float]:
    """Medians of one step of all copies, in turns, from the same states with the same random actions.

    Where an episode is over, the environment resets that copy, and the bare simulator leaves it out.
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
        for job in (0, 1) if step % 2 else (1, 0):  # each is first every other time
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


def measure_evaluation(name: str, runs: int, episodes: int, steps: int, threads: int = 0) -> dict[str, Any]:
    """An evaluation of random linear policies, which end early; and the longest one there is, by its first steps."""
    evaluator = Evaluator(name, runs, episodes, threads=threads)
    env: Any = make(name, runs * episodes, seed=0, threads=threads)  # copies that are over begin again: all are busy
    weights = np.random.default_rng(0).normal(0, 0.1, (runs, env.observation_space.shape[1], env.action_space.shape[1]))

    def act(observations: Any) -> Any:
        return np.tanh(observations @ weights)

    begin = time.perf_counter()
    result = evaluator(act)
    seconds = time.perf_counter() - begin
    observations, _ = env.reset(seed=0)
    begin = time.perf_counter()
    for _ in range(steps):
        actions = act(observations.reshape(runs, episodes, -1)).reshape(env.action_space.shape)
        observations, *_ = env.step(actions)
    per_step = (time.perf_counter() - begin) / steps
    horizon = evaluator.horizon or env.max_episode_steps
    return {
        "environment": name,
        "runs": runs,
        "episodes": episodes,
        "seconds": seconds,
        "steps": int(result.lengths.sum()),
        "longest_seconds": per_step * horizon,
        "longest_steps": runs * episodes * horizon,
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
    evaluation = figures["evaluation"]
    print(f"\nevaluation of {evaluation['runs']} runs x {evaluation['episodes']} episodes on ", end="")
    print(f"{evaluation['environment']}: {evaluation['seconds']:.2f} s for random policies ", end="")
    print(f"({evaluation['steps']:,} steps), {evaluation['longest_seconds']:.1f} s when no episode ends early ", end="")
    print(f"({evaluation['longest_steps']:,} steps, from the first {figures['steps']} of each)")
