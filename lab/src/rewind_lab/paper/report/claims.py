"""What the paper claims, held against the results: a verdict each, by a stated rule (`comparisons.verdict`)."""

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from rewind.errors import unknown_name
from rewind.report.document import Block, Cell, Fold, Interval, Line, Table
from rewind.report.methods import ALGORITHMS, LABELS, Method, short
from rewind.statistics import holm
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, in_order, load_definitions
from rewind_lab.paper.halves import ONE_LENGTH, usually_staggered
from rewind_lab.paper.report.comparisons import (
    CEILING,
    FLOOR,
    LEAST_RUNS,
    LEAST_SETS,
    MARGIN,
    Contrast,
    Question,
    can_show,
    chosen,
    left_out,
    p_value,
    points,
    rests_on,
    signed,
    verdict,
)
from rewind_lab.paper.report.cost import Cost, paper_overhead
from rewind_lab.paper.report.results import PaperResults, method_of, name_here, paper_sets

RULE = (
    "A claim says that one method scores more than another on some data sets. Its number is the difference of "
    "their mean scores, in points, averaged over the data sets, with a 95% interval over seeds (Student's t; few "
    "runs borrow the spread of the other methods on their data set), then one over seeds and data sets: what other "
    f"data sets of the kind would show. A data set counts with at least {LEAST_RUNS} runs of each method, and is "
    f"left out where every method of the agent has at most {FLOOR:g} points (floor), or at least {CEILING:g} and all "
    f"are within {FLOOR:g} points (ceiling): it can show nothing; and so can one on which "
    f"both sides are the same method. A claim needs {LEAST_SETS} sets (or all, where it is "
    "about fewer). The margin "
    f"is {MARGIN:g} points in both directions: a claim holds where the whole interval over seeds is above 0 and "
    f"reaches beyond {MARGIN:g}; it does not hold where the whole interval is below {MARGIN:g}. Otherwise it is "
    "undecided, and so it is where its p value, corrected for all claims of the table after Holm, exceeds 0.05. "
    "Beside stands the same difference from the paper's own tables, for the same data sets. “Can this data show "
    "it?”: no where the claim is undecided and the interval reaches farther than the paper's effect, or where the "
    "other method leaves no room for the effect below 100. “Rests on”: without this one set the interval would not "
    "support the verdict."
)
SCORES, COSTS = "claims about scores", "claims about cost"
VERDICTS = {"holds": "holds", "fails": "does not hold", "undecided": "undecided"}
IN_STEP = "With all sweeps in step"
LITERALLY = (
    "The paper's text starts all sweeps at the last step; its scores on trajectories of one length do not look like it."
)
COST_RULE = "A claim about cost holds where the measured overhead is at most the paper's."


@dataclass(frozen=True)
class Claim:
    """One line of claims.toml, its families and data sets spelt out."""

    name: str
    text: str
    datasets: Sequence[str] = ()
    ones: Sequence[str] = ()
    others: Sequence[str] = ()
    best: bool = False
    algorithms: Sequence[str] = ("td3_bc",)
    cost: str | None = None
    comparison: str = ""  # in words

    def question(self, algorithm: str) -> Question:
        return Question(algorithm, self.ones, self.others, self.datasets, self.best)


@dataclass(frozen=True)
class Finding:
    """A claim for one algorithm, judged."""

    claim: Claim
    algorithm: str
    verdict: str
    contrast: Contrast | None = None
    cost: Cost | None = None
    p: float | None = None  # corrected for the other claims
    rests_on: Sequence[str] = ()  # data sets without any one of which the verdict would be another

    @property
    def state(self) -> str:
        """Its verdict; "unplanned" if it has none, and the evidence wants no runs that could give it one."""
        unplanned = self.verdict == "open" and self.contrast is not None and not _planned(self.claim, self.algorithm)
        return "unplanned" if unplanned else self.verdict


@cache
def load_claims() -> tuple[Claim, ...]:
    content = tomllib.loads((resources.files("rewind_lab.paper.report") / "claims.toml").read_text(encoding="utf-8"))
    return tuple(_claim(table, content["where"], content["families"]) for table in content["claims"])


def _claim(table: dict[str, Any], where: Mapping[str, list[str]], families: Mapping[str, list[str]]) -> Claim:
    if "cost" in table:
        return Claim(**table)
    place = table.pop("where")
    if place not in where:
        raise unknown_name("group of data sets", place, where)
    words = {side: " and ".join(LABELS.get(name, _family(name)) for name in table[side]) for side in ("ones", "others")}
    table["comparison"] = f"{words['ones']} over {'the best of ' if table.get('best') else ''}{words['others']}"
    for side in words:
        table[side] = tuple(method for name in table[side] for method in families.get(name, [name]))
        for method in table[side]:
            if method not in LABELS:
                raise unknown_name("method", method, LABELS)
    return Claim(datasets=chosen(where[place], list(paper_sets())), **table)


def _family(name: str) -> str:
    return f"{name.replace('_', ' ').capitalize()} priorities"


def judge(results: PaperResults, cost: Cost | None) -> list[Finding]:
    """All claims; an algorithm that has no runs at all is left out unless it is the claim's first."""
    asked = [
        (claim, algorithm, claim.question(algorithm).ask(results))
        for claim in load_claims()
        if claim.cost is None
        for algorithm in claim.algorithms
        if algorithm in results.algorithms or algorithm == claim.algorithms[0]
    ]
    ps = [p_value(contrast) for _, _, contrast in asked]
    corrected = iter(holm([p for p in ps if p is not None]))
    findings = []
    for (claim, algorithm, contrast), p in zip(asked, ps, strict=True):
        own = None if p is None else next(corrected)
        judged = verdict(contrast, own)
        needed = rests_on(claim.question(algorithm), results, contrast, judged)
        findings.append(Finding(claim, algorithm, judged, contrast, p=own, rests_on=needed))
    costs = [claim for claim in load_claims() if claim.cost is not None]
    return findings + [Finding(claim, "td3_bc", _judge_cost(claim.cost or "", cost), cost=cost) for claim in costs]


def read_literally(results: PaperResults) -> list[Finding]:
    """The claims whose sweeps are in step on some data set, if those are taken for the paper's method; if judged."""
    in_step = results.literally()
    return [
        finding
        for finding in judge(in_step, None)
        if finding.contrast is not None
        and finding.verdict != "open"
        and any(in_step.here(name) in ONE_LENGTH for name in finding.contrast.used)
    ]


def literal_words(literal: Sequence[Finding], findings: Sequence[Finding]) -> list[Block]:
    """Of them those with another verdict, in a paragraph."""
    verdicts = {(each.claim.name, each.algorithm): each.verdict for each in findings}
    told = [
        f"{each.claim.text} ({ALGORITHMS[each.algorithm]}): {finding_words(each)}"
        for each in literal
        if each.verdict != verdicts.get((each.claim.name, each.algorithm))
    ]
    return [f"{LITERALLY} {IN_STEP}, other verdicts: {'; '.join(told)}."] if told else []


def finding_words(finding: Finding) -> str:
    """A verdict about scores, its numbers, and on how many data sets."""
    contrast = finding.contrast
    assert contrast is not None
    over = f"on {len(contrast.used)} of {len(contrast.wanted)} data sets"
    return f"{VERDICTS[finding.verdict]}{_resting(finding)}, {points(contrast.ours)} {over}"


def _resting(finding: Finding) -> str:
    return f" (rests on {' and '.join(map(short, finding.rests_on))})" if finding.rests_on else ""


def _planned(claim: Claim, algorithm: str) -> bool:
    """Whether all of its methods are to be run on enough of its data sets."""
    names = [here for name in claim.datasets if (here := name_here(name, "rewind", newest=True)) is not None]
    methods = (*claim.ones, *claim.others)
    there = [name for name in names if all((name, algorithm, method_of(each, name)) in _wanted() for each in methods)]
    return len(there) >= min(LEAST_SETS, len(names))


@cache
def _wanted() -> frozenset[tuple[str, str, Method | None]]:
    """Data sets, agents and methods that the evidence wants enough plain runs of."""
    specs = in_order(load_definitions(EVIDENCE).wanted(RunChoice()))
    plain = [
        spec
        for spec in specs
        if not spec.settings
        and spec.reuse == "on_finish"
        and spec.stagger == usually_staggered(spec.dataset, spec.sampler)
    ]
    counts = Counter((spec.dataset, spec.algorithm, Method(spec.sampler, spec.beta)) for spec in plain)
    return frozenset(cell for cell, runs in counts.items() if runs >= LEAST_RUNS)


def _judge_cost(row: str, cost: Cost | None) -> str:
    if cost is None or row not in cost.ratios:
        return "open"
    return "holds" if cost.ratios[row] - 1 <= paper_overhead(row) else "fails"


def claims_blocks(findings: Sequence[Finding], literal: Sequence[Finding] = ()) -> list[Block]:
    """How many hold, and a line for each claim and algorithm with enough data; those about cost apart."""
    scores, costs = _by_kind(findings)
    judged = [finding for finding in scores if finding.verdict != "open"]
    tables: list[Block] = [_scores_table("The paper's claims", judged)] if judged else []
    columns = ("Claim", "Verdict", "Agent", "Ours", "Paper", "Compared")
    lines = [Line(each.claim.text, _cost_cells(each)) for each in costs]
    cost_table = Table("The paper's claims about cost", columns, lines, cards=True)
    return [counted(scores, SCORES), *tables, *literal_words(literal, findings), counted(costs, COSTS), cost_table]


def open_claims(findings: Sequence[Finding]) -> list[Block]:
    """Those without enough data and those that are not tested, each behind a line."""
    scores, _ = _by_kind(findings)
    heads = {"open": "Claims without enough data yet", "unplanned": "Claims that the evidence does not test"}
    waiting = {head: [each for each in scores if each.state == state] for state, head in heads.items()}
    return [Fold(head, [_scores_table(head, those)]) for head, those in waiting.items() if those]


def verdicts(findings: Sequence[Finding], literal: Sequence[Finding] = ()) -> list[Block]:
    """The judged claims in few words, for a page that people read."""
    scores, costs = _by_kind(findings)
    lines = []
    for finding in scores:
        if finding.verdict != "open":
            verdict, agent, ours, other_sets, paper, _, sets, _ = _cells(finding, reach=0.0)
            assert finding.contrast is not None
            shown = Cell(can_show(finding.contrast, finding.verdict, brief=True) + _resting(finding))
            cells = [Cell(agent.text), verdict, Cell(ours.text), other_sets, sets, paper, shown]
            lines.append(Line(finding.claim.text, cells))
    columns = (
        "Claim", "Agent", "Verdict", "Ours, over seeds", "Over seeds and sets", "Data sets", "Paper",
        "Can this data show it?",
    )  # fmt: skip
    tables: list[Block] = [Table("The paper's claims", columns, lines)] if lines else []
    told = [f"{each.claim.text.partition(':')[0]}: {cost_words(each)}" for each in costs]
    costs_told = f"{'. '.join(told)}."
    return [counted(scores, SCORES), *tables, *literal_words(literal, findings), counted(costs, COSTS), costs_told]


def _by_kind(findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Those about scores, and those about cost."""
    return [each for each in findings if each.contrast], [each for each in findings if not each.contrast]


def cost_words(finding: Finding) -> str:
    _, _, ours, paper, _ = (cell.text for cell in _cost_cells(finding))
    return f"{ours or 'not measured'} (paper {paper})"


def _scores_table(caption: str, findings: Sequence[Finding]) -> Table:
    ours = [finding.contrast.ours for finding in findings if finding.contrast and finding.contrast.ours]
    reach = max([10.0, *(abs(bound) for estimate in ours for bound in estimate[1:] if bound is not None)])
    columns = (
        "Claim", "Verdict", "Agent", "Ours, over seeds", "Seeds and data sets", "Paper", "p (Holm)", "Data sets",
        "Can this data show it?",
    )  # fmt: skip
    return Table(caption, columns, [Line(each.claim.text, _cells(each, reach)) for each in findings], cards=True)


def _cells(finding: Finding, reach: float) -> list[Cell]:
    contrast = finding.contrast
    assert contrast is not None
    theirs = None if contrast.paper is None else contrast.paper.value
    picture = None if contrast.ours is None else Interval(*contrast.ours, theirs, reach)
    return [
        Cell(kind=finding.verdict, strong=True),
        Cell(ALGORITHMS[finding.algorithm], finding.claim.comparison),
        Cell(points(contrast.ours), picture=picture),
        Cell(points(contrast.other_sets)),
        Cell(points(contrast.paper)),
        Cell("" if finding.p is None else "< 0.001" if finding.p < 0.001 else f"{finding.p:.3f}"),
        Cell(f"{len(contrast.used)} of {len(contrast.wanted)}"),
        Cell(can_show(contrast, finding.verdict) + left_out(contrast) + _resting(finding)),
    ]


def _cost_cells(finding: Finding) -> list[Cell]:
    row = finding.claim.cost or ""
    ratio = None if finding.cost is None else finding.cost.ratios.get(row)
    ours = "" if ratio is None else signed(ratio - 1, "+.1%")
    where = "" if finding.cost is None else finding.cost.where
    cells = [Cell(ALGORITHMS[finding.algorithm]), Cell(ours), Cell(signed(paper_overhead(row), "+.1%")), Cell(where)]
    return [Cell(kind=finding.verdict, strong=True), *cells]


def counted(findings: Sequence[Finding], what: str) -> str:
    """How many of them hold, and so on."""
    counts = Counter(finding.state for finding in findings)
    words = {"holds": "hold", "fails": "do not hold", "undecided": "undecided", "open": "without enough data yet",
             "unplanned": "not tested"}  # fmt: skip
    told = ", ".join(f"{word}: {counts[kind]}" for kind, word in words.items() if counts[kind])
    claims = len({finding.claim.name for finding in findings})
    by_agent = f", {len(findings)} by agent" if claims < len(findings) else ""
    return f"{claims} {what}{by_agent}. {told[0].upper()}{told[1:]}."
