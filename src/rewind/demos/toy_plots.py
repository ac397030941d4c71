"""Pictures of the motivating example: a curve for each kind of rewards, and the three trajectories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rewind.demos.toy import REWARDS, ToyCurve, ToyResult
from rewind.report.figures import BLUE, GREEN, GREY, INK, PINK, RED, headed, new_figure, save, styled

SAMPLER_COLOURS = {"uni_state": GREY, "prio_state": PINK, "uni_traj": BLUE, "prio_traj": RED}
TRAJECTORY_COLOURS = (BLUE, RED, GREEN)
ROW_HEIGHT = 1.5  # in steps


def draw_toy(result: ToyResult, folder: Path) -> list[Path]:
    """Write all pictures into a folder, and return the files."""
    written = []
    with styled():
        for rewards, curves in result.curves.items():
            written += save(draw_curves(rewards, curves, result), folder, f"toy_{rewards}")
        written += save(draw_trajectories(result), folder, "toy_trajectories")
    return written


def draw_curves(rewards: str, curves: dict[str, ToyCurve], result: ToyResult) -> Any:
    """max_a Q(s0, a) against updates: mean over seeds, plus and minus one standard deviation."""
    figure = new_figure(7.2, 4.4)
    axes = figure.add_subplot()
    updates = np.arange(result.updates + 1)
    for name, curve in curves.items():
        values = np.vstack([np.zeros(result.seeds), curve.values])
        mean, std = values.mean(axis=1), values.std(axis=1)
        axes.fill_between(updates, mean - std, mean + std, color=SAMPLER_COLOURS[name], alpha=0.15, linewidth=0)
        axes.plot(updates, mean, color=SAMPLER_COLOURS[name], linewidth=2.2, label=name)
    oracle = curves["uni_state"].oracle
    axes.axhline(oracle, color=INK, linestyle=(0, (5, 4)), linewidth=1.2, label=f"oracle {oracle:.2f}")
    axes.set(xlim=(0, result.updates), ylim=(0, 9), xlabel="updates, one transition each", ylabel="max Q(s0, a)")
    note = f"mean and std of {result.seeds} seeds, learning rate {result.learning_rate:g}"
    headed(axes, f"{rewards.capitalize()} rewards", note)
    axes.legend(loc="lower right", frameon=True, framealpha=0.95, edgecolor="none")
    return figure


def draw_trajectories(result: ToyResult) -> Any:
    """The three trajectories from s0, with the rewards on their steps: dense beside sparse."""
    figure = new_figure(14, 3.9)
    for place, rewards in enumerate(REWARDS):
        axes = figure.add_subplot(1, 2, place + 1)
        axes.set_aspect("equal")
        axes.set_axis_off()
        axes.set(xlim=(-0.6, 8.2), ylim=(-ROW_HEIGHT - 0.3, ROW_HEIGHT + 1.2))
        oracle = result.curves[rewards]["uni_state"].oracle
        axes.text(-0.5, ROW_HEIGHT + 0.85, f"{rewards.capitalize()} rewards", fontweight="bold", fontsize=14)
        axes.text(3.0, ROW_HEIGHT + 0.85, f"discounted, the best is worth {oracle:.2f}", color=GREY)
        for number, steps in enumerate(REWARDS[rewards]):
            _draw_trajectory(axes, number, steps)
        _draw_state(axes, 0.0, 0.0, INK, "s0")
    figure.subplots_adjust(left=0, right=1, bottom=0, top=1, wspace=0.02)
    return figure


def _draw_trajectory(axes: Any, number: int, steps: tuple[float, ...]) -> None:
    colour, height = TRAJECTORY_COLOURS[number], (1 - number) * ROW_HEIGHT
    places = [(0.0, 0.0), *((step + 1.0, height) for step in range(len(steps)))]
    for reward, start, end in zip(steps, places, places[1:], strict=False):
        arrow = {"arrowstyle": "-|>", "shrinkA": 13, "shrinkB": 13, "linewidth": 2.6 if reward else 1.4}
        axes.annotate("", end, start, arrowprops={**arrow, "color": colour if reward else GREY})
        if reward:
            middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + 0.2)
            axes.text(*middle, f"+{reward:g}", ha="center", va="bottom", color=colour, fontweight="bold", fontsize=13)
    for step, place in enumerate(places[1:-1], start=1):
        _draw_state(axes, *place, colour, f"s{step}" if number == 1 else "")
    _draw_state(axes, *places[-1], colour, "", end=True)
    returns = f"return {sum(steps):g}"
    axes.text(len(steps) + 0.5, height, f"τ{number + 1}   {returns}", va="center", color=colour, fontsize=12)


def _draw_state(axes: Any, x: float, y: float, colour: str, label: str, end: bool = False) -> None:
    """A circle, or a filled square at the end of the trajectory."""
    axes.plot(
        x, y, marker="s" if end else "o", markersize=18 if end else 24, color=colour if end else "white",
        markeredgecolor=colour, markeredgewidth=2, zorder=3,
    )  # fmt: skip
    axes.text(x, y, label, ha="center", va="center", zorder=4, fontsize=10.5, color=INK)
