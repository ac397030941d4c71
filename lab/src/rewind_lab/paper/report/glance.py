"""All data sets at a glance: what methods gain over uniform sampling, and a sentence for each main claim."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewind.report.document import Bar, Bars, Block
from rewind.report.figures import BLUE, GREY, INK, ORANGE, PALE, new_figure, save, styled
from rewind.report.methods import ALGORITHMS, Method, short
from rewind.statistics import Estimate, Term, combined
from rewind_lab.paper.choice import read_choice
from rewind_lab.paper.report.claims import Finding, cost_words
from rewind_lab.paper.report.comparisons import Question, at_limit, direction, points, signed
from rewind_lab.paper.report.results import PaperResults, paper_sets, source

CLIP = 60.0  # points
MARKS = (
    "Each row is a data set, each number the difference to uniform sampling in points: to the right of 0 the method"
    " scores more. Filled: ours, with its 95% interval over seeds as a line; hollow where every method is at the "
    "floor or the ceiling, so that the set can show nothing. Orange outline: the paper's, on D4RL's data, with a "
    "beta for each set, by which claims about the weighted target are judged. Grey circle: our first edition, on "
    "the easier -v0 data, which is no evidence any more. An arrow: the bar goes on. At the end of a row: “=” same "
    "direction as the paper, “≠” opposite, “~” not clear (an interval holds 0), “·” no runs yet."
)
MAIN = ("tr_sparse", "tr_medium_replay", "weighted_baseline", "quality_sparse", "lower_dense", "cost_tr")
VERDICTS = {"holds": "holds", "fails": "does not hold", "undecided": "undecided"}


# By title: the agent, the paper's column, and the beta of our TR that stands beside it.
PANELS = {
    "TR, TD3+BC": ("td3_bc", "tr", 1.0),
    "TR, β 0.75 on all sets, TD3+BC": ("td3_bc", "weighted", 0.75),
    "TR, IQL": ("iql", "tr", 1.0),
}


def glance_panels(results: PaperResults, first: PaperResults | None) -> list[Bars]:
    """A panel for each method: the paper's sets in its order, then other sets with runs."""
    names = [name for name in paper_sets() if results.here(name) is not None]
    others = [name for name in results.datasets if source(name) is None]
    panels = []
    for title, (algorithm, column, beta) in PANELS.items():
        rows = [_bar(results, first, name, algorithm, column, beta) for name in names]
        rows += [bar for name in others if (bar := _other_bar(results, name, algorithm, beta)) is not None]
        panels.append(Bars(title, rows, CLIP))
    return panels


def _bar(results: PaperResults, first: PaperResults | None, name: str, algorithm: str, column: str, beta: float) -> Bar:
    question = Question(algorithm, [Method("tr", beta)], ["baseline"], [name], least=2, limits=False)
    ours = question.ask(results).ours
    earlier = None if first is None else question.ask(first).ours
    paper = replace(question, ones=[column]).of_paper([name])
    limit = "" if ours is None else at_limit(results, name, algorithm)
    theirs, before = (None if each is None else each.value for each in (paper, earlier))
    return Bar(short(name), *(ours or Estimate(None)), theirs, direction(ours, paper), before, limit)


def _other_bar(results: PaperResults, name: str, algorithm: str, beta: float) -> Bar | None:
    """Of a data set that the paper has not. OGBench's sweeps are staggered: any TR of that beta counts."""
    baseline = results.scores(name, algorithm, "baseline")
    scores = [
        results.scores(name, algorithm, method)
        for method in results.methods(name, algorithm)
        if (method.sampler, method.beta) == ("tr", beta) and method.variant in ("", "staggered starts")
    ]
    if len(baseline) < 2 or not scores or len(scores[0]) < 2:
        return None
    spread = results.spread(name, algorithm)
    found = combined([Term(1.0, scores[0], spread), Term(-1.0, baseline, spread)]).estimate
    return Bar(short(name), *found, None, "unclear")


def glance(results: PaperResults, first: PaperResults | None, findings: Sequence[Finding]) -> list[Block]:
    """What a reader wants first: the figure, what it says of each main claim, what to use."""
    first_claim, *others, advice = sentences(findings)
    return [first_claim, advice, glance_panels(results, first), MARKS, *others]


def sentences(findings: Sequence[Finding]) -> list[Block]:
    """One for each main claim and its first agent, and what to start with."""
    told: list[Block] = []
    for name in MAIN:
        found = next((finding for finding in findings if finding.claim.name == name), None)
        if found is not None:
            told.append(_sentence(found) if found.contrast is not None else _cost_sentence(found))
    setting = read_choice()
    what = "`rewind train --recommended` (provisional): no setting is chosen on this evidence yet"
    return [*told, f"What to start with: {what if setting is None else setting.words}."]


def _sentence(finding: Finding) -> str:
    contrast = finding.contrast
    assert contrast is not None
    question = finding.claim.question(finding.algorithm)
    paper = contrast.paper if finding.verdict != "open" else question.of_paper(contrast.wanted)
    theirs = "" if paper is None else f" The paper has {signed(paper.value)} points in the claim's direction."
    head = f"{finding.claim.text} ({ALGORITHMS[finding.algorithm]})"
    sets = len(contrast.used)
    if finding.verdict != "open":
        return f"{head}: {VERDICTS[finding.verdict]}, {points(contrast.ours)} points on {sets} data sets.{theirs}"
    limits = f"; on {len(contrast.limits)} more every method is at floor or ceiling" if contrast.limits else ""
    lack = f"{sets} of {len(contrast.wanted)} data sets have runs of both methods{limits}"
    return f"{head}: not enough data yet ({lack}).{theirs}"


def _cost_sentence(finding: Finding) -> str:
    measured = (
        "not measured yet" if finding.verdict == "open" else f"{VERDICTS[finding.verdict]}, {cost_words(finding)}"
    )
    return f"{finding.claim.text}: {measured}."


# The figure of docs/reproduction.md


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
        return save(figure, folder, "reproduction")


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
