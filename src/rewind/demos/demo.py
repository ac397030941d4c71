"""The demonstration: a sparse maze, data of a wandering point, and four ways to replay it, trained together."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, save_npz
from rewind.demos.settings import DemoSettings
from rewind.envs.mazes import find_maze
from rewind.errors import UsageError
from rewind.evaluation import Evaluator, evaluation_steps
from rewind.evaluation.results import Variant, interval, score_table, scores, variants
from rewind.evaluation.scoring import Scorer, say_scores
from rewind.files import write_json
from rewind.rebuilt.point import wander
from rewind.report.figures import BLUE, GREEN, GREY, INK, RED, headed, new_figure, save, styled
from rewind.report.maze_plot import draw_goals, draw_maze, draw_paths
from rewind.training import Run, Sampler, Trained, View, make_runs, train
from rewind.training.policies import save_policies, to_policy

# The compared variants: a sampler and the beta of its target.
WAYS: dict[str, tuple[str, float]] = {
    "uniform": ("baseline", 1.0),
    "TR": ("tr", 1.0),
    "PTR avg_reward": ("avg_reward", 1.0),
    "TR weighted 0.5": ("tr", 0.5),
}
POINTS = 20  # evaluations during training
COLOURS = (GREY, BLUE, RED, GREEN)
Paths = Mapping[str, Sequence[tuple[Array, bool]]]  # (steps, 2) and whether it ended at the goal, one per run


def run_demo(command: DemoSettings) -> None:
    """Make the data, train, print, draw."""
    smallest = {"seeds": 1, "steps": 2 * POINTS, "trajectories": 1, "batch_size": 1, "episodes": 1}
    for name, least in (smallest | {"noise": 0, "data_seed": 0}).items():
        if getattr(command, name) < least:
            raise UsageError(f"--{name.replace('_', '-')} is {getattr(command, name)}; expected at least {least}")
    begin = time.monotonic()
    data = wander(command.maze, command.trajectories, command.noise, seed=command.data_seed)
    successes = float((data.returns > 0).mean())
    print(f"{len(data):,} trajectories, {data.rows:,} steps of a point that wanders through the {command.maze} maze;")
    print(f"{successes:.1%} of them reach the goal, {(data.rewards > 0).mean():.2%} of the rewards are not 0.")
    runs, names = describe_runs(command, data)
    environment = data.notes["environment"]
    print(f"TD3+BC, {len(runs)} runs of {command.steps:,} steps. Episodes that reach the goal from the start, in %:\n")
    steps = command.steps + command.steps % 2  # TD3+BC makes two updates at a time
    every = steps // POINTS // 2 * 2
    at = tuple(evaluation_steps(steps, every))
    trained = train(
        data, runs, Scorer(environment, command.episodes), steps=steps, batch_size=command.batch_size, evaluate_at=at,
        log_every=every, on_evaluation=say_scores(names),
    )  # fmt: skip
    compared = variants([result.records for result in trained], names)
    rows = scores(compared)
    print(f"\n{score_table(rows)}\n\n{finding(compared)}\n")
    write(command, data, compared, rows, names, trained)
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


def finding(compared: Sequence[Variant]) -> str:
    """The results compared with uniform sampling, at the end and over the whole curve."""
    lines = []
    for title, figure in (("At the end (score)", "score"), ("During training (mean of the curve)", "mean")):
        values = [np.array([getattr(curve, figure) for curve in variant.curves()]) for variant in compared]
        lines.append(f"{title}, compared with uniform {values[0].mean():.1f}:")
        for variant, its_values in zip(compared[1:], values[1:], strict=True):
            lines.append(f"  {_compare(values[0], variant.name, its_values)}")
    return "\n".join(lines)


def _compare(uniform: Array, name: str, values: Array) -> str:
    """The difference, and whether it is significant; seeds are paired."""
    differences = values - uniform
    bounds = interval(differences)
    difference = f"{name:16} {values.mean():5.1f}, {differences.mean():+.1f}"
    if bounds is None:
        return f"{difference}; no interval from one seed"
    low, high = bounds
    verdict = "better" if low > 0 else "worse" if high < 0 else f"no significant difference with {len(values)} seeds"
    return f"{difference} [{low:+.1f}, {high:+.1f}]: {verdict}"


def learned_paths(trained: Sequence[Trained], environment: str) -> tuple[list[Array], Array]:
    """One episode of each run: (steps, 2) x and y, and whether it reached the goal."""
    policies = [to_policy(result, {}) for result in trained]
    positions: list[Array] = []

    def act(observations: Array) -> Array:
        positions.append(observations[:, 0, :2].copy())
        return np.stack([policy(rows) for policy, rows in zip(policies, observations, strict=True)])

    result = Evaluator(environment, len(trained), 1)(act, [0] * len(trained))
    paths = np.stack(positions, axis=1)  # (runs, steps, 2), constant after the end of an episode
    return [path[:length] for path, length in zip(paths, result.lengths[:, 0], strict=True)], result.returns[:, 0] > 0


def write(
    command: DemoSettings,
    data: Trajectories,
    compared: Sequence[Variant],
    rows: list[dict[str, Any]],
    names: Sequence[str],
    trained: Sequence[Trained],
) -> None:
    """Write data, policies, figures and pictures."""
    environment = data.notes["environment"]
    by_name: dict[str, list[tuple[Array, bool]]] = {name: [] for name in WAYS}
    for name, path, reached in zip(names, *learned_paths(trained, environment), strict=True):
        by_name[name].append((path, bool(reached)))
    written = draw_demo(compared, by_name, command.maze, command.out)
    save_npz(data, command.out / "data.npz")
    about = {"environment": environment, "steps": command.steps}
    folders = list(save_policies(trained, command.out, about).values())
    curves = {
        variant.name: [{"steps": c.steps.tolist(), "scores": c.values.tolist()} for c in variant.curves()]
        for variant in compared
    }
    figures = {"environment": environment, "steps": command.steps, "variants": rows, "curves": curves}
    for file in (command.out / "results.json", *([command.json] if command.json else [])):
        write_json(file, figures)
        written.append(file)
    for file in (*written, command.out / "data.npz"):
        print(f"wrote {file}")
    print(f"policies: {folders[0]} ... {folders[-1].name}; make a video of one: rewind watch {folders[-1]}")


def draw_demo(compared: Sequence[Variant], paths: Paths, maze: str, folder: Path) -> list[Path]:
    """Write both pictures, and return the files."""
    with styled():
        return [
            *save(curves_figure(compared), folder, "demo_curves"),
            *save(paths_figure(paths, maze), folder, "demo_paths"),
        ]


def curves_figure(compared: Sequence[Variant]) -> Any:
    """Scores against steps: mean over seeds with its interval."""
    figure = new_figure(7.6, 4.4)
    axes = figure.add_subplot()
    for variant, colour in zip(compared, COLOURS, strict=True):
        curves = variant.curves()
        steps = np.concatenate([[0], curves[0].steps])
        values = np.stack([np.concatenate([[0.0], curve.values]) for curve in curves])  # (seeds, evaluations)
        bounds = np.array([interval(column) or (column[0], column[0]) for column in values.T])
        axes.fill_between(steps, bounds[:, 0], bounds[:, 1], color=colour, alpha=0.15, linewidth=0)
        axes.plot(steps, values.mean(axis=0), color=colour, linewidth=2.2, label=variant.name)
    axes.set(xlim=(0, None), ylim=(-2, 102), xlabel="updates", ylabel="episodes that reach the goal, %")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    headed(axes, "Learning curves", f"mean of {len(compared[0].runs)} seeds, 95% interval")
    axes.legend(loc="lower right", frameon=True, framealpha=0.95, edgecolor="none")
    return figure


def paths_figure(paths: Paths, name: str) -> Any:
    """A maze for each variant, with one episode of each seed's final policy."""
    maze = find_maze(name)
    left, right, bottom, top = maze.bounds(1.0)
    width = 4.6 * (right - left) / max(right - left, top - bottom)
    figure = new_figure(2 * width + 0.6, 2 * (width * (top - bottom) / (right - left) + 0.5))
    for place, (title, episodes) in enumerate(paths.items()):
        axes = figure.add_subplot(2, 2, place + 1)
        draw_maze(axes, maze, 1.0)
        axes.set_axis_off()
        draw_goals(axes, maze.centres(maze.goals, 1.0), 0.5)
        for reached, colour in ((False, RED), (True, INK)):
            draw_paths(axes, [path for path, ended in episodes if ended is reached], colour)
        axes.set_title(title, loc="left", fontweight="bold", fontsize=12, color=COLOURS[place])
        successes = sum(ended for _, ended in episodes)
        axes.set_title(f"{successes} of {len(episodes)} seeds arrive", loc="right", fontsize=9.5, color=GREY)
    figure.tight_layout()
    return figure
