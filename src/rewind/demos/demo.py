"""The demonstration: a sparse maze, wandering data, and four ways to replay it in one training."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, save_npz
from rewind.demos.demo_plots import draw_demo
from rewind.demos.settings import DemoSettings
from rewind.errors import UsageError
from rewind.evaluation import Evaluator, evaluation_steps
from rewind.evaluation.results import Variant, interval, score_table, scores, variants
from rewind.evaluation.scoring import Scorer, say_scores
from rewind.files import write_json
from rewind.rebuilt.point import wander
from rewind.training import Run, Sampler, Trained, View, make_runs, train
from rewind.training.policies import save_policies, to_policy

# What is compared: a memory and the beta of its target.
WAYS: dict[str, tuple[str, float]] = {
    "uniform": ("baseline", 1.0),
    "TR": ("tr", 1.0),
    "PTR avg_reward": ("avg_reward", 1.0),
    "TR weighted 0.5": ("tr", 0.5),
}
POINTS = 20  # evaluations on the way


def run_demo(command: DemoSettings) -> None:
    """Make the data, train, print, draw."""
    least = {
        "seeds": 1,
        "steps": 2 * POINTS,
        "trajectories": 1,
        "batch_size": 1,
        "episodes": 1,
        "noise": 0,
        "data_seed": 0,
    }
    for name, smallest in least.items():
        if getattr(command, name) < smallest:
            given = f"--{name.replace('_', '-')} is {getattr(command, name)}"
            raise UsageError(f"{given}; expected at least {smallest}")
    begin = time.monotonic()
    data = wander(command.maze, command.trajectories, command.noise, seed=command.data_seed)
    crossed = float((data.returns > 0).mean())
    print(f"{len(data):,} trajectories, {data.rows:,} steps of a point that wanders through the {command.maze} maze;")
    print(f"{crossed:.1%} of them come across the goal, {(data.rewards > 0).mean():.2%} of the rewards are not 0.")
    runs, names = describe_runs(command, data)
    environment = data.notes["environment"]
    print(f"TD3+BC, {len(runs)} runs of {command.steps:,} steps. Episodes that get from the start to the goal, in %:\n")
    steps = command.steps + command.steps % 2  # TD3+BC learns in twos
    every = steps // POINTS // 2 * 2
    at = tuple(evaluation_steps(steps, every))
    trained = train(
        data, runs, Scorer(environment, command.episodes), steps=steps, batch_size=command.batch_size, evaluate_at=at,
        log_every=every, on_evaluation=say_scores(names),
    )  # fmt: skip
    found = variants(trained, names)
    rows = scores(found)
    print(f"\n{score_table(rows)}\n\n{finding(found)}\n")
    write(command, data, found, rows, names, trained)
    print(f"{time.monotonic() - begin:.0f} s in all")


def describe_runs(command: DemoSettings, data: Trajectories) -> tuple[list[Run], list[str]]:
    runs, names = [], []
    for name, (sampler, beta) in WAYS.items():
        these = make_runs(
            data, "td3_bc", samplers=[Sampler(sampler)], betas=[beta], seeds=range(command.seeds),
            view=View(normalise_states=True), hidden=command.hidden,
        )  # fmt: skip
        runs += these
        names += [name] * len(these)
    return runs, names


def finding(found: Sequence[Variant]) -> str:
    """What came out against uniform sampling, for better or worse, at the end and on the way."""
    lines = []
    for words, figure in (("At the end (score)", _end), ("On the way (mean of the whole curve)", _way)):
        lines.append(f"{words}, against uniform {np.mean(figure(found[0])):.1f}:")
        lines += [f"  {_against(figure(found[0]), variant.name, figure(variant))}" for variant in found[1:]]
    return "\n".join(lines)


def _end(variant: Variant) -> Array:
    return np.array([curve.score for curve in variant.curves()])


def _way(variant: Variant) -> Array:
    return np.array([curve.mean for curve in variant.curves()])


def _against(uniform: Array, name: str, values: Array) -> str:
    """The difference, and whether it can be told from none; seeds are paired."""
    differences = values - uniform
    bounds = interval(differences)
    difference = f"{name:16} {values.mean():5.1f}, {differences.mean():+.1f}"
    if bounds is None:
        return f"{difference}; one seed tells nothing of chance"
    low, high = bounds
    verdict = "ahead" if low > 0 else "behind" if high < 0 else f"not to be told apart with {len(values)} seeds"
    return f"{difference} [{low:+.1f}, {high:+.1f}]: {verdict}"


def learned_paths(trained: Sequence[Trained], environment: str) -> tuple[list[Array], Array]:
    """One episode of each run: (steps, 2) x and y, and whether it reached the goal."""
    policies = [to_policy(result, {}) for result in trained]
    seen: list[Array] = []

    def act(observations: Array) -> Array:
        seen.append(observations[:, 0, :2].copy())
        return np.stack([policy(rows) for policy, rows in zip(policies, observations, strict=True)])

    result = Evaluator(environment, len(trained), 1)(act, [0] * len(trained))
    walked = np.stack(seen, axis=1)  # (runs, steps, 2); those that are over stand still
    return [path[:length] for path, length in zip(walked, result.lengths[:, 0], strict=True)], result.returns[:, 0] > 0


def write(
    command: DemoSettings,
    data: Trajectories,
    found: Sequence[Variant],
    rows: list[dict[str, Any]],
    names: Sequence[str],
    trained: Sequence[Trained],
) -> None:
    """Data, policies, figures and pictures."""
    environment = data.notes["environment"]
    walked, reached = learned_paths(trained, environment)
    by_name: dict[str, list[tuple[Array, bool]]] = {name: [] for name in WAYS}
    for name, way, arrived in zip(names, walked, reached, strict=True):
        by_name[name].append((way, bool(arrived)))
    written = draw_demo(found, by_name, command.maze, command.out)
    save_npz(data, command.out / "data.npz")
    folders = save_policies(trained, command.out, {"environment": environment, "steps": command.steps})
    curves = {
        variant.name: [{"steps": c.steps.tolist(), "scores": c.values.tolist()} for c in variant.curves()]
        for variant in found
    }
    figures = {"environment": environment, "steps": command.steps, "variants": rows, "curves": curves}
    for path in (command.out / "results.json", *([command.json] if command.json else [])):
        write_json(path, figures)
        written.append(path)
    for path in (*written, command.out / "data.npz"):
        print(f"wrote {path}")
    print(f"policies: {folders[0]} ... {folders[-1].name}; rewind watch {folders[-1]} films one")
