"""The README's figure: what TR gains over uniform sampling, by kind of data and agent."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rewind.report.figures import BLUE, GREEN, GREY, INK, NOTE, PALE, TEXT, TITLE, new_figure, save, styled
from rewind.report.methods import ALGORITHMS
from rewind_lab.paper.report.by_kind import AGENTS, KINDS, METHODS, Gain
from rewind_lab.paper.report.claims import points

NAME = "evidence"
COLOURS = dict(zip(METHODS, (BLUE, GREEN), strict=True))
LEAST, MOST = 10.0, 40.0  # points: the axis goes at least and at most so far
REWARDS = {"mujoco": "dense", "antmaze": "sparse", "adroit": "sparse", "ogbench": "sparse"}


def by_kind_figure(gains: Sequence[Gain], folder: Path) -> list[Path]:
    """Write it as PNG and SVG."""
    with styled():
        figure = new_figure(14.5, 4.6)
        panels = figure.subplots(1, len(AGENTS), sharey=True)
        ends = [abs(end) for gain in gains if gain.difference for end in gain.difference if end is not None]
        reach = min(MOST, max([LEAST, *ends]) * 1.1)
        for axis, agent in zip(panels, AGENTS, strict=True):
            _panel(axis, [gain for gain in gains if gain.agent == agent], reach)
            axis.set_title(ALGORITHMS[agent], loc="left", fontweight="bold", fontsize=TITLE)
        for place, (method, colour) in enumerate(COLOURS.items()):
            panels[-1].text(
                0.66 + 0.13 * place, 1.04, method, color=colour, fontweight="bold", fontsize=TEXT,
                transform=panels[-1].transAxes,
            )  # fmt: skip
        figure.subplots_adjust(wspace=0.06)
        return save(figure, folder, NAME)


def _panel(axis: Any, gains: Sequence[Gain], reach: float) -> None:
    axis.axvline(0, color=INK, linewidth=1)
    kinds = list(KINDS)
    for gain in gains:
        place = len(kinds) - kinds.index(gain.kind) + (0.2 if gain.method == "TR" else -0.2)
        _row(axis, gain, place, reach)
    names = [f"{KINDS[kind]}\n{REWARDS[kind]} rewards" for kind in kinds]
    axis.set_yticks(range(len(kinds), 0, -1), names, fontsize=TEXT)
    axis.set(xlim=(-reach, 3.5 * reach), ylim=(0.45, len(kinds) + 0.55))
    axis.set_xticks([-reach // 10 * 10 + 10, 0, reach // 10 * 10])
    axis.set_xlabel("points over uniform sampling", loc="left")
    axis.grid(color=PALE, linewidth=0.8, axis="x")
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", length=0)


def _row(axis: Any, gain: Gain, place: float, reach: float) -> None:
    """A point with its interval, cut at the axis, and its numbers to the right."""
    colour, low, high = COLOURS[gain.method], None, None
    if gain.difference is not None:
        value, low, high = gain.difference
        axis.plot([max(-reach, min(reach, value))], [place], "o", color=colour, markersize=8)
    if low is not None and high is not None:
        axis.plot([max(-reach, low), min(reach, high)], [place, place], color=colour, linewidth=2.5)
    axis.text(1.1 * reach, place, _told(gain), va="center", fontsize=NOTE, color=GREY if low is None else INK)


def _told(gain: Gain) -> str:
    if gain.difference is None:
        return f"{gain.limited} at floor or ceiling" if gain.limited else "no runs yet"
    every = f" of {gain.used + gain.limited}" if gain.limited else ""
    return f"{points(gain.difference)}, {gain.used}{every} set{'' if gain.used + gain.limited == 1 else 's'}"
