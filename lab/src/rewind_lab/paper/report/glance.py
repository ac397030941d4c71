"""All data sets at a glance: what methods gain over uniform sampling, and a sentence for each main claim."""

from collections.abc import Sequence
from typing import NamedTuple

from rewind.report.document import Bar, Bars, Block
from rewind.report.methods import ALGORITHMS, Method, short
from rewind.statistics import Estimate, Term, combined
from rewind_lab.paper.choice import read_choice
from rewind_lab.paper.report.claims import Finding, points, signed
from rewind_lab.paper.report.comparisons import Contrast, Question, at_limit, direction
from rewind_lab.paper.report.cost import overhead, paper_overhead
from rewind_lab.paper.report.methods import paper_sets, source
from rewind_lab.paper.report.results import PaperResults

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


class PanelOf(NamedTuple):
    """A method of an agent: TR with a beta, and the paper's column to compare it with."""

    title: str
    algorithm: str
    method: str
    beta: float


PANELS = (
    PanelOf("TR, TD3+BC", "td3_bc", "tr", 1.0),
    PanelOf("TR, β 0.75 on all sets, TD3+BC", "td3_bc", "weighted", 0.75),
    PanelOf("TR, IQL", "iql", "tr", 1.0),
)


def glance_panels(results: PaperResults, first: PaperResults | None) -> list[Bars]:
    """A panel for each method: the paper's sets in its order, then other sets with runs."""
    names = [name for name in paper_sets() if results.here(name) is not None]
    others = [name for name in results.datasets if source(name) is None]
    panels = []
    for panel in PANELS:
        rows = [_bar(results, first, panel, name) for name in names]
        rows += [bar for name in others if (bar := _other_bar(results, panel, name)) is not None]
        panels.append(Bars(panel.title, rows, CLIP))
    return panels


def _bar(results: PaperResults, first: PaperResults | None, panel: PanelOf, name: str) -> Bar:
    method = Method("tr", panel.beta)
    question = Question(panel.algorithm, [method], ["baseline"], [name], least=2, limits=False)
    ours = question.ask(results).ours
    earlier = None if first is None else question.ask(first).ours
    paper = Question(panel.algorithm, [panel.method], ["baseline"], [name]).of_paper([name])
    limit = "" if ours is None else at_limit(results, name, panel.algorithm)
    return Bar(
        short(name), *_floats(ours), None if paper is None else float(paper.value), direction(ours, paper),
        None if earlier is None else float(earlier.value), limit,
    )  # fmt: skip


def _other_bar(results: PaperResults, panel: PanelOf, name: str) -> Bar | None:
    """Of a data set that the paper has not. OGBench's sweeps are staggered: any TR of that beta counts."""
    baseline = results.scores(name, panel.algorithm, "baseline")
    scores = [
        results.scores(name, panel.algorithm, method)
        for method in results.methods(name, panel.algorithm)
        if (method.sampler, method.beta) == ("tr", panel.beta) and method.variant in ("", "staggered starts")
    ]
    if len(baseline) < 2 or not scores or len(scores[0]) < 2:
        return None
    spread = results.spread(name, panel.algorithm)
    found = combined([Term(1.0, scores[0], spread), Term(-1.0, baseline, spread)]).estimate
    return Bar(short(name), *_floats(found), None, "unclear")


def _floats(estimate: Estimate | None) -> tuple[float | None, float | None, float | None]:
    if estimate is None:
        return None, None, None
    low, high = (None if bound is None else float(bound) for bound in estimate[1:])
    return float(estimate.value), low, high


def glance(results: PaperResults, first: PaperResults | None, findings: Sequence[Finding]) -> list[Block]:
    """What a reader wants first: the figure, what it says of each main claim, what to use."""
    first_claim, *others, advice = sentences(findings, first)
    return [first_claim, advice, glance_panels(results, first), MARKS, *others]


DIRECTION = "in the direction of the claim"


def sentences(findings: Sequence[Finding], first: PaperResults | None) -> list[Block]:
    """One for each main claim and its first agent, and what to start with."""
    told: list[Block] = []
    for name in MAIN:
        found = next((finding for finding in findings if finding.claim.name == name), None)
        if found is not None:
            told.append(_cost_sentence(found) if found.contrast is None else _sentence(found, first))
    setting = read_choice()
    what = "`rewind train --recommended` (provisional): no setting is chosen on this evidence yet"
    return [*told, f"What to start with: {what if setting is None else setting.words}."]


def _sentence(finding: Finding, first: PaperResults | None) -> str:
    contrast, agent = finding.contrast, ALGORITHMS[finding.algorithm]
    assert contrast is not None
    question = finding.claim.question(finding.algorithm)
    head = f"{finding.claim.text} ({agent}): "
    if finding.verdict != "open":
        theirs = "" if contrast.paper is None else f"; {DIRECTION} the paper has {signed(contrast.paper.value)}"
        where = f"on {len(contrast.used)} data sets"
        return f"{head}{VERDICTS[finding.verdict]}, {points(contrast.ours)} points {where}{theirs}."
    paper = question.of_paper(contrast.wanted)
    theirs = "" if paper is None else f"; {DIRECTION} the paper has {signed(paper.value)}"
    return f"{head}not enough data yet ({_lack(contrast)}){theirs}{_first_edition(first, question)}."


def _lack(contrast: Contrast) -> str:
    at_limits = f"; on {len(contrast.limits)} more every method is at floor or ceiling" if contrast.limits else ""
    return f"{len(contrast.used)} of {len(contrast.wanted)} data sets have runs of both methods{at_limits}"


def _first_edition(first: PaperResults | None, question: Question) -> str:
    earlier = None if first is None else question.ask(first).ours
    return (
        ""
        if earlier is None
        else f", our first edition {points(earlier)} (on our rebuilt -v0 sets: no evidence any more)"
    )


def _cost_sentence(finding: Finding) -> str:
    row = finding.claim.cost or ""
    ratio = None if finding.cost is None else finding.cost.ratios.get(row)
    if ratio is None:
        return f"{finding.claim.text}: not measured yet."
    numbers = f"{overhead(ratio - 1)} (paper {overhead(paper_overhead(row))})"
    return f"{finding.claim.text}: {VERDICTS[finding.verdict]}, {numbers}."
