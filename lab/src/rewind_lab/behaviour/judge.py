"""Choose the snapshots of a training that become behaviour policies, by their returns with drawn actions.

    expert     of the run with the best end, the snapshot with the highest mean return
    medium     of the same run, the earlier one whose score is nearest to a third of the expert's
    replay-i   of all runs, up to eight until the step of the medium and not better than it, in order

Chosen policies are evaluated again, so that the returns they ship with are not those they were chosen by.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.envs.locomotion import HORIZON
from rewind.envs.make import known_task
from rewind.errors import DataError, UsageError
from rewind.progress import progress
from rewind.rebuilt.policy import BehaviourPolicy
from rewind_lab.behaviour.online import make_task, snapshots
from rewind_lab.behaviour.sac import draw

STAGES = 8
EPISODES, FINAL_EPISODES = 10, 100  # to choose by, to report


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The policy of one run at one step: (in, out) weights, (out,) biases, and the returns of its episodes."""

    run: int
    step: int
    weights: Sequence[Array]
    biases: Sequence[Array]
    returns: Array

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    def policy(self, meta: Mapping[str, Any]) -> BehaviourPolicy:
        figures: dict[str, Any] = {"step": self.step, "episodes": len(self.returns)}
        figures |= {"return": round(self.mean, 1), "deviation": round(float(self.returns.std()), 1)}
        return BehaviourPolicy(self.weights, self.biases, "relu", meta={**meta, **figures})


def judge(task: str, candidates: Sequence[Snapshot], episodes: int, seed: int = 0) -> list[Snapshot]:
    """The same snapshots with their returns: one episode per simulation, with drawn actions, all together."""
    weights = [np.stack(layer) for layer in zip(*(snapshot.weights for snapshot in candidates), strict=True)]
    biases = [np.stack(layer) for layer in zip(*(snapshot.biases for snapshot in candidates), strict=True)]
    count = len(candidates)
    env = make_task(task, count * episodes)
    stream = np.random.default_rng(seed)
    observations, _ = env.reset(seed=seed)
    returns, playing = np.zeros(env.num_envs), np.ones(env.num_envs, bool)
    shape = (count, episodes, *(env.single_action_space.shape or ()))
    for _ in progress(range(env.max_episode_steps or HORIZON), f"{count} policies, {episodes} episodes each"):
        noise = stream.standard_normal(shape, np.float32)
        actions = draw(weights, biases, observations.reshape(count, episodes, -1), noise)
        observations, rewards, terminated, truncated, _ = env.step(actions.reshape(-1, shape[-1]))
        returns += rewards * playing
        playing &= ~(terminated | truncated)
        if not playing.any():
            break
    env.close()
    by_candidate = zip(candidates, returns.reshape(count, episodes), strict=True)
    return [replace(snapshot, returns=its_returns) for snapshot, its_returns in by_candidate]


def read(folder: Path) -> tuple[str, list[int], list[Snapshot]]:
    """A training's task, the seeds of its runs, and all their snapshots, step by step."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        task, seeds = str(config["task"]), list(config["seeds"])
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{folder} contains no training of a behaviour policy: {error}") from error
    candidates = [
        Snapshot(run, step, [layer[run] for layer in weights], [layer[run] for layer in biases], np.zeros(0))
        for step, weights, biases in snapshots(folder)
        for run in range(len(weights[0]))
    ]
    if not candidates:
        raise DataError(f"{folder} has no snapshots yet")
    return task, seeds, candidates


def best_run(folder: Path) -> int:
    """The run with the highest mean return in the last tenth of training."""
    lines = [json.loads(line) for line in (folder / "curve.jsonl").read_text(encoding="utf-8").splitlines()]
    late = 0.9 * lines[-1]["step"] if lines else 0.0
    returns: dict[int, list[float]] = {}
    for line in lines:
        if line["step"] >= late and "return" in line:
            returns.setdefault(line["run"], []).append(line["return"])
    if not returns:
        raise DataError(
            f"{folder}: no episode ended in the last tenth of training; train longer, or choose a run with --seed-index"
        )
    return max(returns, key=lambda run: float(np.mean(returns[run])))


def choose(task: str, candidates: Sequence[Snapshot], run: int, episodes: int = EPISODES) -> dict[str, Snapshot]:
    """The chosen snapshots by the names they ship under."""
    judged = judge(task, [snapshot for snapshot in candidates if snapshot.run == run], episodes)
    expert = max(judged, key=lambda snapshot: snapshot.mean)
    if task == "ant":
        return {"ant": expert}
    known = known_task(task)
    floor = 0.0 if known is None else known.minimum_score
    third = floor + (expert.mean - floor) / 3.0
    earlier = [snapshot for snapshot in judged if snapshot.step <= expert.step]
    medium = min(earlier, key=lambda snapshot: abs(snapshot.mean - third))
    early = judge(task, [snapshot for snapshot in candidates if snapshot.step <= medium.step], episodes)
    # The medium itself always belongs to them, even if its second evaluation is better.
    place = (medium.run, medium.step)
    stages = [one for one in early if one.mean <= medium.mean or (one.run, one.step) == place]
    spaced = np.unique(np.linspace(0, len(stages) - 1, min(STAGES, len(stages))).round().astype(int))
    name = task.split("-")[0].lower()
    chosen = {f"{name}-expert": expert, f"{name}-medium": medium}
    return chosen | {f"{name}-replay-{at}": stages[stage] for at, stage in enumerate(spaced)}


def ship(folder: Path, out: Path, run: int | None = None, episodes: int = EPISODES) -> dict[str, BehaviourPolicy]:
    """Choose the policies of a training, write them into `out`, and return them by name."""
    task, seeds, candidates = read(folder)
    if episodes < 1:
        raise UsageError(f"episodes is {episodes}; expected at least 1")
    if run is not None and run not in range(len(seeds)):
        raise UsageError(f"there is no run {run}; expected 0 to {len(seeds) - 1}")
    chosen = choose(task, candidates, best_run(folder) if run is None else run, episodes)
    played = judge(task, list(chosen.values()), FINAL_EPISODES, seed=1_000_000)
    meta = {"environment": task, "algorithm": "SAC", "trained_by": "rewind behaviour train"}
    policies = {name: one.policy({**meta, "seed": seeds[one.run]}) for name, one in zip(chosen, played, strict=True)}
    for name, policy in policies.items():
        policy.save(out / f"{name}.npz")
    return policies
