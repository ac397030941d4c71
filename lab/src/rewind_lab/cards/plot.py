"""The picture of a data card."""

from pathlib import Path
from typing import Any

import numpy as np

from rewind.data import Trajectories
from rewind.errors import require
from rewind.files import whole_file
from rewind.rebuilt.recipes import Recipe
from rewind.rebuilt.summary import scores
from rewind.report.figures import BLUE, GREY, NOTE, new_figure, styled
from rewind.report.inspection import ended_by_terminal
from rewind.report.inspection_plot import histogram
from rewind.report.maze_plot import draw_goals, draw_maze

DPI, COLOURS = 100, 256  # for small files
FEW = 300  # trajectories: as many can be drawn as dots that one sees


def draw_card(data: Trajectories, recipe: Recipe, path: Path) -> None:
    with styled():
        figure = _maze_card(data, recipe) if recipe.maze is not None else _score_card(data)
        _save_small(figure, path)


def _score_card(data: Trajectories) -> Any:
    figure = new_figure(14.0, 4.4)
    figure.set_layout_engine("constrained")
    quality, lengths, order = figure.subplots(1, 3)
    scored = scores(data)
    values, unit = (data.returns, "return") if scored is None else (scored, "normalised score")
    ended, size = ended_by_terminal(data), 1.5 if len(data) > FEW else 8.0
    histogram(quality, values, ended, unit, "Scores" if scored is not None else "Returns")
    histogram(lengths, data.lengths, ended, "steps", "Lengths")
    order.plot((data.starts + data.lengths) / 1000, values, ".", color=BLUE, markersize=size, alpha=0.5)
    order.set(xlabel="thousand transitions", ylabel=unit, title="In the order of the data")
    return figure


def _maze_card(data: Trajectories, recipe: Recipe) -> Any:
    from rewind.envs.ant_model import CELL
    from rewind.envs.mazes import find_maze

    assert recipe.maze is not None
    maze, cell = find_maze(recipe.maze.maze), CELL if "AntMaze" in recipe.environment else 1.0
    left, right, bottom, top = maze.bounds(cell)
    width = 3.2 * (right - left) / (top - bottom) + 1.6
    figure = new_figure(width + 6.0, 4.6)
    figure.set_layout_engine("constrained")
    places, lengths = figure.subplots(1, 2, width_ratios=(width, 5.4))
    draw_maze(places, maze, cell, start=recipe.maze.starts == "origin")
    edges = [np.arange(low, high + cell / 8, cell / 8) for low, high in ((left, right), (bottom, top))]
    counts, *_ = np.histogram2d(data.observations[:, 0], data.observations[:, 1], edges)
    shown = np.ma.masked_equal(np.log10(np.maximum(counts, 1.0)).T, 0.0)
    image = places.pcolormesh(*edges, shown, cmap="Oranges", vmax=1.3 * shown.max(), rasterized=True, zorder=1)
    figure.colorbar(image, ax=places, label="states, powers of 10", shrink=0.9)
    draw_goals(places, np.array(data.notes["made"]["recipe"]["maze"]["target"]), recipe.maze.reached)
    places.set_title("Places visited")
    starts = "at the origin" if recipe.maze.starts == "origin" else "on any free cell"
    note = f"green: the goal that is rewarded\nepisodes start {starts}"
    places.annotate(note, (0.5, -0.2), xycoords="axes fraction", ha="center", va="top", fontsize=NOTE, color=GREY)
    histogram(lengths, data.lengths, ended_by_terminal(data), "steps", "Lengths")
    return figure


def _save_small(figure: Any, path: Path) -> None:
    """Write a PNG with few colours: a fifth of the size, and it looks the same."""
    images = require("PIL.Image", "plot")
    with whole_file(path) as temporary:
        figure.savefig(temporary, dpi=DPI, metadata={"Software": None})
        with images.open(temporary) as image:
            small = image.convert("RGB").quantize(COLOURS, method=images.Quantize.MAXCOVERAGE)
        small.save(temporary, optimize=True)
