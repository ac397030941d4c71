"""The figure of docs/reproduction.md: all data sets at a glance."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rewind.report.document import Bar, Bars
from rewind.report.figures import BLUE, GREY, INK, ORANGE, PALE, new_figure, save, styled

NAME = "reproduction"


def glance_figure(panels: Sequence[Bars], folder: Path) -> list[Path]:
    """Write it as PNG and SVG."""
    with styled():
        rows = max(len(panel.rows) for panel in panels)
        names = list(dict.fromkeys(bar.name for panel in panels for bar in panel.rows))
        figure = new_figure(4.1 * len(panels) + 1.5, 0.27 * rows + 1.9)
        axes = figure.subplots(1, len(panels), sharey=True)
        for axis, panel in zip(axes, panels, strict=True):
            _panel(axis, panel, names)
        handles = axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="lower center", ncols=2, frameon=False, fontsize=10)
        figure.subplots_adjust(wspace=0.08, bottom=1.15 / (0.27 * rows + 1.9))
        return save(figure, folder, NAME)


def _panel(axis: Any, panel: Bars, names: Sequence[str]) -> None:
    clip = panel.clip
    axis.axvline(0, color=INK, linewidth=1)
    places = {name: len(names) - place for place, name in enumerate(names)}
    ours = "ours, with the 95% interval over seeds"
    axis.errorbar([], [], xerr=[], fmt="o", color=BLUE, markersize=6, capsize=2.5, label=ours)
    axis.plot([], [], "D", color=ORANGE, markersize=5, fillstyle="none", label="the paper, on D4RL's data")
    axis.plot([], [], "o", color=GREY, markersize=4.5, fillstyle="none", label="first edition (-v0 data): no evidence")
    limited = "ours, where every method is at floor or ceiling"
    axis.plot([], [], "o", color=BLUE, markersize=6, fillstyle="none", label=limited)
    for bar in panel.rows:
        _row(axis, bar, places[bar.name], clip)
    axis.set(xlim=(-clip, clip), ylim=(0.3, len(names) + 0.7), xlabel="points over uniform sampling")
    axis.set_xticks([-50, -25, 0, 25, 50])
    axis.set_yticks(list(places.values()), list(places), fontsize=9)
    axis.set_title(panel.title, loc="left", fontweight="bold", fontsize=11.5)
    axis.grid(color=PALE, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", length=0)


def _row(axis: Any, bar: Bar, place: float, clip: float) -> None:
    """What lies beyond the axis stands at its edge as an arrow."""
    for value, colour, marker, size, shift in (
        (bar.earlier, GREY, "o", 4.5, -0.22),
        (bar.paper, ORANGE, "D", 5, 0.22),
        (bar.ours, BLUE, "o", 6, 0.0),
    ):
        if value is None:
            continue
        cut = abs(value) > clip
        at = max(-0.97 * clip, min(0.97 * clip, value))
        fill = "full" if colour == BLUE and not bar.limit else "none"
        axis.plot([at], [place + shift], (">" if value > 0 else "<") if cut else marker, color=colour, markersize=size,
                  fillstyle=fill)  # fmt: skip
    if bar.ours is not None and bar.low is not None and bar.high is not None:
        axis.plot([bar.low, bar.high], [place, place], color=BLUE, linewidth=1.6)
