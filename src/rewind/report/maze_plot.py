"""Pictures of mazes from above, with goals and paths."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.envs.mazes import Maze
from rewind.errors import require
from rewind.report.figures import BLUE, GREEN, GREY, NOTE, TITLE, new_figure, save, styled

WALL = "#C9CED6"
ANT_CELL, ANT_REACHED = 4.0, 0.5
GOAL_SPREAD = 1.5  # side in metres of the square, from the cell's centre, in which AntMaze draws its goal


def draw_maze(axes: Any, maze: Maze, cell: float, start: bool = True) -> None:
    """Draw walls and the start. The axes are in metres with ticks at the cells' centres; y points up.

    cell: width in metres, 4 for AntMaze and 1 for PointMaze
    start: whether episodes start at the origin
    """
    patches = require("matplotlib.patches", "plot")
    left, right, bottom, top = maze.bounds(cell)
    axes.set_aspect("equal")
    axes.set(xlim=(left, right), ylim=(bottom, top), xlabel="x in m", ylabel="y in m")
    axes.set(xticks=np.arange(left + cell / 2, right, cell)[1:-1], yticks=np.arange(bottom + cell / 2, top, cell)[1:-1])
    for x, y in maze.centres(np.argwhere(maze.walls), cell):
        place = (x - cell / 2, y - cell / 2)
        axes.add_patch(patches.Rectangle(place, cell, cell, facecolor=WALL, edgecolor=WALL, linewidth=0.5))
    if start:
        axes.plot(0, 0, marker="o", color=BLUE, markersize=8)
        axes.annotate("start", (0, 0), (0, 7), textcoords="offset points", ha="center", color=BLUE, fontsize=NOTE)


def draw_goals(axes: Any, goals: Array, radius: float) -> None:
    """goals: (goals, 2) centres; radius: distance within which the reward is given"""
    patches = require("matplotlib.patches", "plot")
    for goal in np.atleast_2d(goals):
        axes.add_patch(patches.Circle(goal, radius, facecolor=GREEN, edgecolor="none", alpha=0.8, zorder=3))


def draw_paths(axes: Any, paths: Iterable[Array], colour: str) -> None:
    """paths: (steps, 2) or wider, x and y first; each ends in a dot"""
    for path in paths:
        axes.plot(path[:, 0], path[:, 1], color=colour, linewidth=1.8, alpha=0.7)
        axes.plot(*path[-1, :2], marker=".", color=colour)


def draw_mazes(mazes: Iterable[Maze], folder: Path) -> list[Path]:
    """Write pictures of AntMaze's mazes, with the square in which goals are drawn and the radius of a goal."""
    written = []
    with styled():
        for maze in mazes:
            written += save(_ant_figure(maze), folder, f"maze_{maze.name.replace('-', '_')}")
    return written


def _ant_figure(maze: Maze) -> Any:
    patches = require("matplotlib.patches", "plot")
    centres = maze.centres(maze.goals, ANT_CELL)
    left, right, bottom, top = maze.bounds(ANT_CELL)
    figure = new_figure(5.0 * max(0.7, (right - left) / (top - bottom)), 5.0)
    axes = figure.add_subplot()
    draw_maze(axes, maze, ANT_CELL)
    draw_goals(axes, centres + GOAL_SPREAD / 2, ANT_REACHED)
    axes.set_title(maze.name, loc="left", fontweight="bold", fontsize=TITLE)
    for centre in centres:
        square = patches.Rectangle(centre, GOAL_SPREAD, GOAL_SPREAD, facecolor="none", edgecolor=GREEN, linewidth=1.5)
        axes.add_patch(square)
        below = (centre[0] + GOAL_SPREAD / 2, centre[1] - 0.25)
        axes.annotate("goal", below, ha="center", va="top", color=GREEN, fontsize=NOTE)
    note = "one goal, for evaluation" if len(centres) == 1 else "for collecting data"
    axes.set_title(note, loc="right", fontsize=NOTE, color=GREY)
    return figure
