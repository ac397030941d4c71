"""The demonstration: a sparse maze, data of a wandering point, and four ways to replay it."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, save_npz
from rewind.demos.settings import DemoSettings
from rewind.envs.mazes import find_maze
from rewind.errors import UsageError
from rewind.evaluation import Evaluator, evaluation_steps
from rewind.evaluation.results import Variant, scores, variants
from rewind.evaluation.scoring import Scorer, say_scores
from rewind.files import write_json
from rewind.rebuilt.point import wander
from rewind.report.figures import BLUE, GREEN, GREY, INK, NOTE, RED, TITLE, headed, new_figure, save, styled
from rewind.report.maze_plot import draw_goals, draw_maze, draw_paths
from rewind.statistics import interval
from rewind.table import table
from rewind.training import Sampler, Trained, View, make_runs, train
from rewind.training.determinism import keep_programs
from rewind.training.policies import save_policies, to_policy


class Way(NamedTuple):
    """A way to replay: a sampler, the beta of its target, and the rows over which the target is recomputed."""

    sampler: str
    beta: float = 1.0
    window: int = 1


UNIFORM, TR, WEIGHTED, WINDOW = "uniform", "TR", "TR weighted 0.5", "uniform window 8"
WAYS = {
    UNIFORM: Way("baseline"),
    TR: Way("tr"),
    WEIGHTED: Way("tr", 0.5),
    WINDOW: Way("baseline", 0.5, 8),
}
POINTS = 20  # evaluations during training: with the usual steps one every 1,000, so that all blocks are of one length
COLOURS = (GREY, BLUE, GREEN, RED)
Paths = Mapping[str, Sequence[tuple[Array, bool]]]  # (steps, 2) and whether it ended at the goal, one per run


def run_demo(command: DemoSettings) -> None:
    smallest = {"seeds": 1, "steps": 2 * POINTS, "trajectories": 1, "batch_size": 1, "episodes": 1}
    for name, least in (smallest | {"noise": 0, "data_seed": 0}).items():
        if getattr(command, name) < least:
            raise UsageError(f"--{name.replace('_', '-')} is {getattr(command, name)}; expected at least {least}")
    begin = time.monotonic()
    keep_programs()  # three of the ways share one
    data = wander(command.maze, command.trajectories, command.noise, seed=command.data_seed)
    successes = float((data.returns > 0).mean())
    print(f"{len(data):,} trajectories, {data.rows:,} steps of a point that wanders through the {command.maze} maze;")
    print(f"{successes:.1%} of them reach the goal, {(data.rewards > 0).mean():.2%} of the rewards are not 0.")
    print(f"TD3+BC, {command.seeds} seeds, {command.steps:,} updates. Episodes that reach the goal, in %:\n")
    trained: list[Trained] = []
    costs: dict[str, dict[str, float]] = {}
    for name, way in WAYS.items():
        results, costs[name] = train_way(command, data, name, way)
        trained += results
    names = [name for name in WAYS for _ in range(command.seeds)]
    compared = variants([result.records for result in trained], names)
    rows = [row | costs[row["variant"]] for row in scores(compared)]
    prices = {row["variant"]: row["update"] / rows[0]["update"] for row in rows}
    print(f"\n{cost_table(compared, rows, prices)}\n\n{finding(compared)}\n\n{message(compared, prices)}\n")
    write(command, data, compared, rows, prices, names, trained)
    print(f"{time.monotonic() - begin:.0f} s in all")


def train_way(command: DemoSettings, data: Trajectories, name: str, way: Way) -> tuple[list[Trained], dict[str, float]]:
    """All seeds of one way, trained together, and what that took: seconds with everything, and processor seconds of one
    update, which a busy machine changes little.
    """
    runs = make_runs(
        data, "td3_bc", samplers=[Sampler(way.sampler)], betas=[way.beta], seeds=range(command.seeds),
        view=View(normalise_states=True), hidden=command.hidden, window=way.window,
    )  # fmt: skip
    steps = command.steps + command.steps % 2  # TD3+BC makes two updates at a time
    every = steps // POINTS // 2 * 2
    say_line, evaluated = say_scores([name] * len(runs)), []

    def on_evaluation(records: Any) -> None:
        evaluated.append((records[0]["step"], time.process_time()))
        say_line(records)

    begin = time.monotonic()
    trained = train(
        data, runs, Scorer(data.notes["environment"], command.episodes), steps=steps, batch_size=command.batch_size,
        evaluate_at=tuple(evaluation_steps(steps, every)), log_every=every, on_evaluation=on_evaluation,
    )  # fmt: skip
    (first, after_first), (last, after_last) = evaluated[0], evaluated[-1]  # compilation is before the first
    return trained, {"seconds": time.monotonic() - begin, "update": (after_last - after_first) / (last - first)}


def cost_table(compared: Sequence[Variant], rows: Sequence[Mapping[str, Any]], prices: Mapping[str, float]) -> str:
    """Scores beside the time that they took."""
    lines = []
    for variant, row in zip(compared, rows, strict=True):
        bounds = row["interval"]
        line = {
            "replay": variant.name,
            "at the end, %": f"{row['score']:.1f}" + (f" [{bounds[0]:.1f}, {bounds[1]:.1f}]" if bounds else ""),
            "during training, %": f"{_figures(variant, 'mean').mean():.1f}",
            "time": f"{row['seconds']:.0f} s",
            "processor time of an update": f"{prices[variant.name]:.2f} x uniform",
        }
        lines.append(line)
    return table(lines)


def message(compared: Sequence[Variant], price: Mapping[str, float]) -> str:
    """What backward order buys, in the figures of this run."""
    means = {variant.name: _figures(variant, "mean").mean() for variant in compared}
    return (
        "What backward order buys: each step is learned just after its successor, so the target of the successor\n"
        "is known and can be carried over. The weighted target looks many steps ahead, yet an update takes\n"
        f"{price[WEIGHTED]:.2f} times the processor time of uniform sampling. Uniform sampling has no successor at\n"
        f"hand: it recomputes the same target over {WAYS[WINDOW].window} rows, which takes {price[WINDOW]:.2f} times "
        f"as much.\nGoals reached during training: {means[WEIGHTED]:.1f}% carried, {means[WINDOW]:.1f}% recomputed; "
        f"one-step targets: {means[UNIFORM]:.1f}%\nwith uniform sampling, {means[TR]:.1f}% with TR."
    )


def _figures(variant: Variant, name: str) -> Array:
    """(seeds,) a figure of each curve."""
    return np.array([getattr(curve, name) for curve in variant.curves()])


def finding(compared: Sequence[Variant]) -> str:
    """The results compared with uniform sampling, at the end and over the whole curve."""
    lines = []
    for title, figure in (("At the end (score)", "score"), ("During training (mean of the curve)", "mean")):
        values = [_figures(variant, figure) for variant in compared]
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
    prices: Mapping[str, float],
    names: Sequence[str],
    trained: Sequence[Trained],
) -> None:
    environment = data.notes["environment"]
    by_name: dict[str, list[tuple[Array, bool]]] = {name: [] for name in WAYS}
    for name, path, reached in zip(names, *learned_paths(trained, environment), strict=True):
        by_name[name].append((path, bool(reached)))
    with styled():
        written = save(curves_figure(compared, prices), command.out, "demo_curves")
        written += save(paths_figure(by_name, command.maze), command.out, "demo_paths")
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
    arrived = [name == WEIGHTED and reached for name in WAYS for _, reached in by_name[name]]
    shown = folders[arrived.index(True) if any(arrived) else -1]
    print(f"policies: {folders[0]} ... {folders[-1].name}; make a video of one: rewind watch {shown}")


def curves_figure(compared: Sequence[Variant], prices: Mapping[str, float]) -> Any:
    """Left: scores against updates, mean over seeds with its interval. Right: the time of an update."""
    figure = new_figure(11, 4.6)
    axes, bars = figure.subplots(1, 2, width_ratios=(2.1, 1))
    for variant, colour in zip(compared, COLOURS, strict=True):
        curves = variant.curves()
        steps = np.concatenate([[0], curves[0].steps])
        values = np.stack([np.concatenate([[0.0], curve.values]) for curve in curves])  # (seeds, evaluations)
        bounds = np.array([interval(column) or (column[0], column[0]) for column in values.T])
        axes.fill_between(steps, bounds[:, 0], bounds[:, 1], color=colour, alpha=0.12, linewidth=0)
        axes.plot(steps, values.mean(axis=0), color=colour, linewidth=2.6)
    axes.set(xlim=(0, None), ylim=(-2, 102), xlabel="updates", ylabel="episodes that reach the goal, %")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params(axis="x", nbins=5)
    headed(axes, "What it learns", f"mean of {len(compared[0].runs)} seeds, 95% interval")
    _draw_prices(bars, prices)
    figure.tight_layout(w_pad=2.5)
    return figure


def _draw_prices(axes: Any, prices: Mapping[str, float]) -> None:
    places = np.arange(len(prices))
    axes.barh(places, list(prices.values()), color=COLOURS, height=0.5)
    for place, (name, price) in enumerate(prices.items()):
        axes.text(0, place - 0.32, name, va="bottom", color=COLOURS[place], fontweight="bold")  # the key of both
        axes.text(price, place, f" {price:.1f} x", va="center", fontweight="bold", color=INK)
    axes.set(xlim=(0, 1.25 * max(prices.values())), ylim=(len(prices) - 0.6, -0.75), yticks=[])
    axes.set_xlabel("processor time per update")
    axes.spines["left"].set_visible(False)
    headed(axes, "What it costs", "")
    axes.grid(axis="y", visible=False)


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
        axes.set_title(title, loc="left", fontweight="bold", fontsize=TITLE, color=COLOURS[place])
        successes = sum(ended for _, ended in episodes)
        axes.set_title(f"{successes} of {len(episodes)} seeds arrive", loc="right", fontsize=NOTE, color=GREY)
    figure.tight_layout()
    return figure
