"""The picture of `rewind inspect`: lengths, returns, and how similarly the metrics rank the trajectories."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.trajectories import Trajectories
from rewind.errors import UsageError, require
from rewind.files import whole_file
from rewind.report.figures import BLUE, INK, NOTE, ORANGE, PALE, new_figure, styled
from rewind.report.inspection import Inspection, ended_by_terminal
from rewind.table import counted

TERMINAL, TIMEOUT = BLUE, ORANGE
KINDS = (".png", ".svg", ".pdf")


def draw(data: Trajectories, report: Inspection, path: str | os.PathLike[str]) -> None:
    """Write the picture in the format of the file's ending."""
    if Path(path).suffix.lower() not in KINDS:
        raise UsageError(f"{os.fspath(path)}: expected a picture with the ending {', '.join(KINDS)}")
    with styled(), whole_file(path) as temporary:
        _figure(data, report).savefig(temporary, dpi=150)


def _figure(data: Trajectories, report: Inspection) -> Any:
    figure = new_figure(17, 5.2)
    figure.set_layout_engine("constrained")
    lengths, returns, ranks = figure.subplots(1, 3, width_ratios=(1, 1, 1.15))
    ended = ended_by_terminal(data)
    histogram(lengths, data.lengths, ended, "steps", "Lengths")
    histogram(returns, data.returns, ended, "sum of rewards", "Returns")
    _heat_map(figure, ranks, report)
    counts = f"{counted(report.trajectories, 'trajectory')}, {counted(report.rows, 'row')}"
    title = f"{report.name or 'data'}: {counts}, boundaries: {report.notes.get('boundaries', 'not recorded')}"
    figure.suptitle(title)
    return figure


def histogram(axes: Any, values: Array, terminated: Array, unit: str, title: str) -> None:
    """Draw the number of trajectories by value, ended by a terminal or cut (`ended_by_terminal`)."""
    groups = [
        (values[terminated], f"ended by a terminal ({terminated.sum():,})", TERMINAL),
        (values[~terminated], f"cut ({(~terminated).sum():,})", TIMEOUT),
    ]
    parts, labels, colours = zip(*(group for group in groups if len(group[0])), strict=True)
    edges = _edges(values)
    axes.hist(parts, edges, stacked=True, label=labels, color=colours, edgecolor="white", linewidth=0.3)
    median = float(np.median(values))
    axes.set(xlabel=unit, ylabel="trajectories", title=title)
    top = axes.get_ylim()[1]
    axes.vlines(median, 0, top, color=INK, linestyle="--", linewidth=1, label=f"median {short(median)}")
    axes.set_ylim(0, top * 1.35)  # space for the legend
    axes.yaxis.get_major_locator().set_params(integer=True)
    if len(edges) == 2:  # all are equal
        axes.set(xticks=[values[0]], xlim=(edges[0] - 4.0, edges[1] + 4.0))
    axes.legend(frameon=False, loc="upper left")


def short(value: float) -> str:
    """To one decimal as in tables; none for whole numbers, and more for small ones."""
    return f"{value:.2g}" if abs(value) < 1 else f"{value:,.1f}".removesuffix(".0")


def _edges(values: Array) -> Array:
    """The edges of at most 40 bins, with integer widths for integers."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return np.array([low - 0.5, low + 0.5])
    bins = int(np.clip(np.sqrt(len(values)) * 2, 8, 40))
    if values.dtype.kind in "iu":
        width = int(np.ceil((high - low + 1) / bins))
        return np.arange(low - 0.5, high + width, width)
    return np.linspace(low, high, bins + 1)


def _heat_map(figure: Any, axes: Any, report: Inspection) -> None:
    """Draw Spearman's rank correlation of each pair of metrics, grey if all values of a metric are equal."""
    correlations = report.rank_correlations
    names = list(correlations)
    grid = np.array([[correlations[one][other] for other in names] for one in names], dtype=float)  # None: NaN
    colours = require("matplotlib", "plot").colormaps["RdBu"].with_extremes(bad=PALE)
    image = axes.imshow(np.ma.masked_invalid(grid), cmap=colours, vmin=-1, vmax=1)
    for row, column in np.ndindex(*grid.shape):
        value = grid[row, column]
        shown = "ties" if np.isnan(value) else f"{value:.2f}".replace("-0.00", "0.00")
        axes.text(
            column, row, shown, ha="center", va="center", fontsize=NOTE, color="white" if abs(value) > 0.6 else INK
        )
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.set_title("Rank correlation of the metrics")
    axes.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, label="rank correlation", shrink=0.9)
