"""The README's figure: what TR gains over uniform sampling, by kind of data and agent."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rewind.report.figures import BLUE, GREEN, GREY, INK, NOTE, ORANGE, PALE, TEXT, TITLE, new_figure, save, styled
from rewind.report.methods import ALGORITHMS
from rewind_lab.paper.published import ALL_SUITES
from rewind_lab.paper.report.by_kind import AGENTS, METHODS, REWARDS, SHOWN, Gain
from rewind_lab.paper.report.comparisons import points

NAME = "evidence"
COLOURS = dict(zip((*METHODS, SHOWN), (BLUE, GREEN, ORANGE), strict=True))
PLACES = dict(zip(COLOURS, (0.28, 0.35, 0.51), strict=True))  # of their names above the first panel
BELOW = (
    "points over uniform sampling; arrow: the interval continues\n"
    "after the number of sets: the lowest and the highest difference on one\n"
    "2 of 6 sets: on the others every method is at floor or ceiling, or not all have run yet"
)
LEAST, MOST = 10.0, 50.0  # points: where the axis ends, at least and at most


def by_kind_figure(gains: Sequence[Gain], folder: Path) -> list[Path]:
    """Write it as PNG and SVG: a panel for each agent with something to show."""
    with styled():
        agents = [name for name in AGENTS if any(gain.used + gain.limited for gain in gains if gain.agent == name)]
        agents = agents or list(AGENTS[:1])
        figure = new_figure(9.6, 0.4 + 3.6 * len(agents))
        panels = figure.subplots(len(agents), 1, sharex=True, squeeze=False)[:, 0]
        ends = [abs(end) for gain in gains if gain.difference for end in gain.difference if end is not None]
        reach = min(MOST, max([LEAST, *ends]) * 1.1)
        for axis, agent in zip(panels, agents, strict=True):
            _panel(axis, [gain for gain in gains if gain.agent == agent], reach)
            axis.set_title(ALGORITHMS[agent], loc="left", fontweight="bold", fontsize=TITLE)
        for method, colour in COLOURS.items():
            panels[0].text(
                PLACES[method], 1.06, method, color=colour, fontweight="bold", fontsize=TEXT,
                transform=panels[0].transAxes,
            )  # fmt: skip
        panels[-1].set_xlabel(BELOW, loc="left")
        figure.subplots_adjust(hspace=0.24)
        return save(figure, folder, NAME)


def _panel(axis: Any, gains: Sequence[Gain], reach: float) -> None:
    axis.axvline(0, color=INK, linewidth=1)
    kinds = list(ALL_SUITES)
    for kind in kinds:
        place, rows = len(kinds) - kinds.index(kind), [gain for gain in gains if gain.kind == kind]
        if all(gain.difference is None for gain in rows):
            most = max(rows, key=lambda gain: gain.limited)
            why = f"{most.counted} can show a difference" if most.limited else "no runs of both yet"
            axis.text(1.15 * reach, place, why, va="center", fontsize=NOTE, color=GREY)
        else:
            shown = [gain for gain in rows if gain.difference is not None]
            for number, gain in enumerate(shown):
                _row(axis, gain, place + 0.27 * ((len(shown) - 1) / 2 - number), reach)
    names = [f"{ALL_SUITES[kind]} ({REWARDS[kind]})" for kind in kinds]
    axis.set_yticks(range(len(kinds), 0, -1), names, fontsize=TEXT)
    axis.set(xlim=(-reach, 3.4 * reach), ylim=(0.45, len(kinds) + 0.55))
    tick = reach // 10 * 10 or reach
    axis.set_xticks([-tick, 0, tick])
    axis.grid(color=PALE, linewidth=0.8, axis="x")
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", length=0)


def _row(axis: Any, gain: Gain, place: float, reach: float) -> None:
    """A point with its interval, with an arrow where it continues beyond the axis, and its numbers to the right."""
    if gain.difference is None:
        return
    value, low, high = gain.difference
    colour = COLOURS[gain.method]
    if abs(value) <= reach:
        axis.plot([value], [place], "o", color=colour, markersize=8)
    if low is not None and high is not None:
        axis.plot([max(-reach, low), min(reach, high)], [place, place], color=colour, linewidth=2.5)
        for beyond, end, arrow in ((low < -reach, -reach, "<"), (high > reach, reach, ">")):
            if beyond:
                axis.plot([end], [place], arrow, color=colour, markersize=8, clip_on=False)
    axis.text(1.15 * reach, place, f"{points(gain.difference)}, {gain.span}", va="center", fontsize=NOTE)
