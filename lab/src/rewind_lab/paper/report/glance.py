"""All data sets at a glance: what methods gain over uniform sampling, and a sentence for each main claim."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewind.report.document import Bar, Bars, Block
from rewind.report.figures import BLUE, GREY, INK, ORANGE, PALE, new_figure, save, styled
from rewind.report.methods import ALGORITHMS, Method, short
from rewind.statistics import Estimate
from rewind_lab.paper.choice import read_choice
from rewind_lab.paper.report.by_kind import as_run
from rewind_lab.paper.report.by_kind_words import clear_blocks, recommended_words
from rewind_lab.paper.report.claims import IN_STEP, VERDICTS, Finding, cost_words, finding_words
from rewind_lab.paper.report.comparisons import Question, at_limit, direction, limit_of, signed
from rewind_lab.paper.report.recommendation import outcome_of, passed
from rewind_lab.paper.report.results import PaperResults, paper_sets, source

CLIP = 60.0  # points
KEY = (
    "Points over uniform sampling on each data set: to the right of 0 the method scores more. Filled: ours, with its "
    "95% interval over seeds. Orange outline: the paper's. Grey circle: our first edition, no evidence any more."
)
MARKS = (
    "Ours are hollow where every method is at the floor or the ceiling, so that the set can show nothing. The paper's "
    "are on D4RL's data, with a beta for each set, by which claims about the weighted target are judged. The first "
    "edition's are on the easier -v0 data. An arrow: the bar continues. At the end of a row: “=” same direction as the "
    "paper, “≠” opposite, “~” not clear (an interval holds 0), “·” no runs yet."
)
MAIN = ("tr_sparse", "tr_medium_replay", "weighted_baseline", "quality_sparse", "lower_dense", "cost_tr")


# By title: the agent, the paper's column, and the beta of our TR that stands beside it.
PANELS = {
    "TR, TD3+BC": ("td3_bc", "tr", 1.0),
    "TR, β 0.75 on all sets, TD3+BC": ("td3_bc", "weighted", 0.75),
    "TR, IQL": ("iql", "tr", 1.0),
}


def glance_panels(results: PaperResults, first: PaperResults | None) -> list[Bars]:
    """A panel for each method: the paper's sets in its order, then other sets with runs in any panel."""
    names = [name for name in paper_sets() if results.here(name) is not None]
    others: dict[str, list[Bar]] = {
        name: [_other_bar(results, name, algorithm, beta) for algorithm, _, beta in PANELS.values()]
        for name in results.datasets
        if source(name) is None
    }
    shown = [bars for bars in others.values() if any(bar.ours is not None for bar in bars)]
    return [
        Bars(
            title,
            [*(_bar(results, first, name, *panel) for name in names), *(bars[place] for bars in shown)],
            CLIP,
        )
        for place, (title, panel) in enumerate(PANELS.items())
    ]


def _bar(results: PaperResults, first: PaperResults | None, name: str, algorithm: str, column: str, beta: float) -> Bar:
    question = Question(algorithm, [Method("tr", beta)], ["baseline"], [name], least=2, limits=False)
    ours = question.ask(results).ours
    earlier = None if first is None else question.ask(first).ours
    paper = replace(question, ones=[column]).of_paper([name])
    limit = "" if ours is None else at_limit(results, name, algorithm)
    theirs, before = (None if each is None else each.value for each in (paper, earlier))
    return Bar(short(name), *(ours or Estimate(None)), theirs, direction(ours, paper), before, limit)


def _other_bar(results: PaperResults, name: str, algorithm: str, beta: float) -> Bar:
    """Of a data set that the paper has not."""
    sides = (as_run(results, name, algorithm, method) for method in (Method("tr", beta), Method("baseline")))
    scores, baseline = (results.scores(name, algorithm, side) for side in sides)
    if min(len(scores), len(baseline)) < 2:
        return Bar(short(name), None, None, None, None, "missing")
    found = results.difference(algorithm, {name: (scores, baseline)}).estimate
    return Bar(short(name), *found, None, "unclear", limit=limit_of(results, name, algorithm))


def glance(
    results: PaperResults, first: PaperResults | None, findings: Sequence[Finding], literal: Sequence[Finding] = ()
) -> list[Block]:
    """What a reader wants first: the figure, what it says of each main claim, what to use."""
    first_claim, *others, advice = sentences(findings, results, literal)
    return [*clear_blocks(results), first_claim, advice, KEY, glance_panels(results, first), MARKS, *others]


def answers(findings: Sequence[Finding], results: PaperResults, literal: Sequence[Finding] = ()) -> list[Block]:
    """Does TR help, when, and what to use: for a page that has the claims in a table."""
    return [*clear_blocks(results), sentences(findings, results, literal)[-1]]


def sentences(findings: Sequence[Finding], results: PaperResults, literal: Sequence[Finding] = ()) -> list[Block]:
    """One for each main claim and its first agent, and what to start with.

    literal: the claims with sweeps in step, where they can be judged
    """
    told: list[Block] = []
    for name in MAIN:
        found = next((finding for finding in findings if finding.claim.name == name), None)
        if found is not None:
            told.append(_sentence(found) + _in_step(found, literal) if found.contrast else _cost_sentence(found))
    return [*told, f"What to start with: {_advice(results)}."]


def _advice(results: PaperResults) -> str:
    """The chosen setting, and how it did where it was not chosen."""
    setting = read_choice()
    if setting is None:
        return "`rewind train --recommended` (provisional): no setting is chosen on this evidence yet"
    outcome = outcome_of(results)
    start = f"`rewind train --recommended` sets {recommended_words()}"
    if isinstance(outcome, str):
        return f"compare on your own data. {start}; its test on other data sets {outcome.partition(':')[0]}"
    return f"{start}; its test on other data sets: {'passed' if passed(outcome) else 'FAILED'}"


def _sentence(finding: Finding) -> str:
    contrast = finding.contrast
    assert contrast is not None
    question = finding.claim.question(finding.algorithm)
    paper = contrast.paper if finding.verdict != "open" else question.of_paper(contrast.wanted)
    theirs = "" if paper is None else f" (paper {signed(paper.value)})"
    head = f"{finding.claim.text} ({ALGORITHMS[finding.algorithm]})"
    sets = len(contrast.used)
    if finding.verdict != "open":
        return f"{head}: {finding_words(finding)}{theirs}."
    limits = f"; on {len(contrast.limits)} more every method is at floor or ceiling" if contrast.limits else ""
    methods = len(finding.claim.ones) + len(finding.claim.others)
    compared = "both methods" if methods == 2 else f"all {methods} methods"
    lack = f"{sets} of {len(contrast.wanted)} data sets have runs of {compared}{limits}"
    return f"{head}: not enough data yet{theirs}: {lack}."


def _in_step(finding: Finding, literal: Sequence[Finding]) -> str:
    """What sweeps in step change, where there are such runs."""
    asked = (finding.claim, finding.algorithm)
    again = next((each for each in literal if (each.claim, each.algorithm) == asked), None)
    return "" if again is None else f" {IN_STEP}: {finding_words(again)}."


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
        handles, labels = axes[0].get_legend_handles_labels()
        ours_first = sorted(zip(labels, handles, strict=True), key=lambda pair: not pair[0].startswith("ours"))
        labels, handles = zip(*ours_first, strict=True)
        figure.legend(handles, labels, loc="lower center", ncols=2, frameon=False, fontsize=10)
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
        for bound, marker in ((bar.low, "<"), (bar.high, ">")):
            if abs(bound) > clip:  # the interval continues
                axis.plot([0.98 * clip * (1 if bound > 0 else -1)], [place], marker, color=BLUE, markersize=5)
