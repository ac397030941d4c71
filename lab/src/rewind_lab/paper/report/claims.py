"""What the paper claims, held against the results: a verdict each, by a stated rule (`comparisons.verdict`)."""

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from rewind.errors import unknown_name
from rewind.report.document import Cell, Interval, Line, Table
from rewind.report.methods import ALGORITHMS, LABELS
from rewind.statistics import Estimate
from rewind_lab.paper.report.comparisons import (
    LEAST_RUNS,
    LEAST_SETS,
    SMALL,
    Contrast,
    Question,
    chosen,
    verdict,
)
from rewind_lab.paper.report.cost import Cost, overhead, paper_overhead
from rewind_lab.paper.report.methods import paper_sets
from rewind_lab.paper.report.results import PaperResults

RULE = (
    "A claim says that one method scores more than another on some data sets. Its number is the difference of their "
    "mean scores, in points, averaged over the data sets, with a 95% bootstrap interval (runs drawn again within each "
    f"data set and method). A data set counts with at least {LEAST_RUNS} runs of each method; a claim needs "
    f"{LEAST_SETS} such sets (or all, where it is about fewer). It holds where the whole interval is above 0. It does "
    f"not hold where the whole interval is below {SMALL:g} points: if there is an effect, it is smaller. Otherwise it "
    "is undecided. Beside stands the same difference from the paper's own tables, for the same data sets."
)
NO_BREAK = "\N{NO-BREAK SPACE}"
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
    ones, others = (
        " and ".join(LABELS.get(name, _family(name)) for name in table[side]) for side in ("ones", "others")
    )
    table["comparison"] = f"{ones} over {'the best of ' if table.get('best') else ''}{others}"
    for side in ("ones", "others"):
        table[side] = tuple(method for name in table[side] for method in families.get(name, [name]))
        for method in table[side]:
            if method not in LABELS:
                raise unknown_name("method", method, LABELS)
    return Claim(datasets=chosen(where[place], list(paper_sets())), **table)


def _family(name: str) -> str:
    return f"{name.replace('_', ' ').capitalize()} priorities"


def judge(results: PaperResults, cost: Cost | None) -> list[Finding]:
    """All claims; an algorithm that has no runs at all is left out unless it is the claim's first."""
    findings = []
    for claim in load_claims():
        if claim.cost is not None:
            findings.append(Finding(claim, "td3_bc", _judge_cost(claim.cost, cost), cost=cost))
            continue
        for algorithm in claim.algorithms:
            if algorithm in results.algorithms or algorithm == claim.algorithms[0]:
                contrast = claim.question(algorithm).ask(results)
                findings.append(Finding(claim, algorithm, verdict(contrast), contrast))
    return findings


def _judge_cost(row: str, cost: Cost | None) -> str:
    if cost is None or row not in cost.ratios:
        return "open"
    return "holds" if cost.ratios[row] - 1 <= paper_overhead(row) else "fails"


def claims_table(findings: Sequence[Finding]) -> Table:
    """A line for each claim and algorithm."""
    reach = max([10.0, *(_reach(finding.contrast) for finding in findings)])
    lines = [Line(finding.claim.text, _cells(finding, reach)) for finding in findings]
    columns = ("Claim", "Verdict", "Agent", "Ours", "Paper", "Data sets", "Compared")
    return Table("The paper's claims", columns, lines, cards=True)


def _reach(contrast: Contrast | None) -> float:
    if contrast is None or contrast.ours is None or contrast.ours.low is None:
        return 0.0
    return max(abs(float(contrast.ours.low)), abs(float(contrast.ours.high)))


def _cells(finding: Finding, reach: float) -> list[Cell]:
    algorithm = Cell(ALGORITHMS[finding.algorithm])
    verdict_cell = Cell(kind=finding.verdict, strong=True)
    if finding.contrast is None:
        return [verdict_cell, algorithm, *_cost_cells(finding)]
    contrast = finding.contrast
    return [
        verdict_cell,
        algorithm,
        Cell(points(contrast.ours), picture=_picture(contrast, reach)),
        Cell(points(contrast.paper)),
        Cell(f"{len(contrast.used)} of {len(contrast.wanted)}"),
        Cell(finding.claim.comparison),
    ]


def _cost_cells(finding: Finding) -> list[Cell]:
    row = finding.claim.cost or ""
    ratio = None if finding.cost is None else finding.cost.ratios.get(row)
    ours = "" if ratio is None else overhead(ratio - 1)
    where = "" if finding.cost is None else finding.cost.where
    return [Cell(ours), Cell(overhead(paper_overhead(row))), Cell(""), Cell(where)]


def _picture(contrast: Contrast, reach: float) -> Interval | None:
    if contrast.ours is None:
        return None
    paper = None if contrast.paper is None else float(contrast.paper.value)
    low, high = (None if bound is None else float(bound) for bound in contrast.ours[1:])
    return Interval(float(contrast.ours.value), low, high, paper, reach)


def points(estimate: Estimate | None) -> str:
    """A difference and its interval."""
    if estimate is None:
        return ""
    if estimate.low is None:
        return signed(estimate.value)
    return f"{signed(estimate.value)} [{signed(estimate.low)}, {signed(estimate.high)}]".replace(" ", NO_BREAK)


def signed(value: float) -> str:
    """With a sign of the width of a digit; nothing is no less than nothing."""
    return f"{value:+.1f}".replace("-0.0", "+0.0").replace("-", "−")


def counted(findings: Sequence[Finding]) -> str:
    """How many claims hold, and so on."""
    counts = Counter(finding.verdict for finding in findings)
    words = {"holds": "hold", "fails": "do not hold", "undecided": "undecided", "open": "without enough data"}
    told = ", ".join(f"{word}: {counts[kind]}" for kind, word in words.items())
    return f"{len(findings)} claims, each for an agent. {told[0].upper()}{told[1:]}."
