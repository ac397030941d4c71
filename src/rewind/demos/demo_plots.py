"""Pictures of the demonstration: learning curves, and the paths that were learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.envs.mazes import find_maze
from rewind.evaluation.results import Variant, interval
from rewind.report.figures import BLUE, GREEN, GREY, INK, RED, headed, new_figure, save, styled
from rewind.report.maze_plot import draw_goals, draw_maze, draw_paths

COLOURS = (GREY, BLUE, RED, GREEN)
Paths = Mapping[str, Sequence[tuple[Array, bool]]]  # (steps, 2) and whether it ended at the goal, one per run


def draw_demo(found: Sequence[Variant], paths: Paths, maze: str, folder: Path) -> list[Path]:
    """Write both pictures, and return the files."""
    with styled():
        return [
            *save(curves_figure(found), folder, "demo_curves"),
            *save(paths_figure(paths, maze), folder, "demo_paths"),
        ]


def curves_figure(found: Sequence[Variant]) -> Any:
    """Scores against steps: mean over seeds with its bootstrap interval."""
    figure = new_figure(7.6, 4.4)
    axes = figure.add_subplot()
    for variant, colour in zip(found, COLOURS, strict=True):
        curves = variant.curves()
        steps = np.concatenate([[0], curves[0].steps])
        values = np.stack([np.concatenate([[0.0], curve.values]) for curve in curves])  # (seeds, evaluations)
        bounds = np.array([interval(column) or (column[0], column[0]) for column in values.T])
        axes.fill_between(steps, bounds[:, 0], bounds[:, 1], color=colour, alpha=0.15, linewidth=0)
        axes.plot(steps, values.mean(axis=0), color=colour, linewidth=2.2, label=variant.name)
    axes.set(xlim=(0, None), ylim=(-2, 102), xlabel="updates", ylabel="episodes that reach the goal, %")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    headed(axes, "Learning curves", f"mean of {len(found[0].runs)} seeds, 95% bootstrap interval")
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
