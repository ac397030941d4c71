"""The README's evidence: what TR gains over uniform sampling by kind of data, and what that says so far."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rewind.data.ogbench import suite_of
from rewind.memory.choice import caution, recommended
from rewind.report.document import Block
from rewind.report.methods import Method
from rewind.statistics import Estimate
from rewind_lab.paper.published import SUITES
from rewind_lab.paper.report.claims import Finding
from rewind_lab.paper.report.comparisons import LEAST_RUNS, limit_of
from rewind_lab.paper.report.controls import progress
from rewind_lab.paper.report.results import PaperResults

KINDS = SUITES | {"ogbench": "OGBench"}
AGENTS = ("td3_bc", "iql")
METHODS = {"TR": 1.0, "TR, β 0.75": 0.75}  # by beta


@dataclass(frozen=True)
class Gain:
    """A method's mean difference to uniform sampling over data sets of a kind, in points.

    used, limited: data sets with runs of both that can show a difference, and that cannot (floor or ceiling)
    runs: of both methods on the used ones
    """

    agent: str
    kind: str
    method: str
    difference: Estimate | None
    used: int
    limited: int
    runs: int


def gains_by_kind(results: PaperResults) -> list[Gain]:
    """By agent, kind and method, whether there are runs or not."""
    return [_gain(results, agent, kind, method) for agent in AGENTS for kind in KINDS for method in METHODS]


def _gain(results: PaperResults, agent: str, kind: str, method: str) -> Gain:
    pairs = {}
    for name in results.datasets:
        if suite_of(name) == kind:
            methods = (_method(results, name, agent, METHODS[method]), "baseline")
            ones, others = (results.scores(name, agent, each) for each in methods)
            if min(len(ones), len(others)) >= LEAST_RUNS:
                pairs[name] = (ones, others)
    used = {name: pair for name, pair in pairs.items() if not limit_of(results, name, agent)}
    runs = sum(len(side) for pair in used.values() for side in pair)
    difference = results.difference(agent, used).estimate if used else None
    return Gain(agent, kind, method, difference, len(used), len(pairs) - len(used), runs)


def _method(results: PaperResults, dataset: str, agent: str, beta: float) -> Method:
    """TR of this beta; OGBench's sweeps are staggered."""
    staggered = Method("tr", beta, "staggered starts")
    return staggered if staggered in results.methods(dataset, agent) else Method("tr", beta)


# In words


def evidence(results: PaperResults, findings: Sequence[Finding]) -> list[Block]:
    """A caption of the figure, how the claims stand, and what to start with."""
    return [f"*{_caption(results)}*", _claims(findings), _advice()]


def _caption(results: PaperResults) -> str:
    _, done, wanted = progress(results)
    sets = len({run.dataset for run in results.every.values()})
    first = "First results" if done < wanted else "All results"
    return (
        f"{first}: {done:,} of {wanted:,} planned runs, on {sets} rebuilt data sets. Left out: sets where every "
        "method is at floor or ceiling."
    )


def _claims(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.verdict for finding in findings if finding.contrast is not None)
    words = {"holds": "hold", "fails": "do not", "undecided": "are undecided", "open": "lack data"}
    told = ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items() if counts[verdict])
    head = "" if counts["holds"] + counts["fails"] else "**Not known yet.** "
    return f"{head}Of {counts.total()} claims of the paper about scores, {told}."


def _advice() -> str:
    """As the library recommends."""
    sparse, dense = (_words(recommended()[kind]) for kind in ("sparse", "dense"))
    setting = sparse if sparse == dense else f"{sparse} on sparse rewards, {dense} on dense ones"
    why = " (provisional: `rewind train --recommended` says why)" if caution() else ""
    return f"Start with {setting}{why}."


def _words(row: dict[str, object]) -> str:
    if row["sampler"] == "baseline":
        words = ["uniform sampling"]
    else:
        words = ["TR" if row["sampler"] == "tr" else f"TR by {row['sampler']}"]
        words += [f"a weighted target (beta {row['beta']:g})"] if row["beta"] != 1 else []
        words += ["staggered starts"] if row["stagger"] is True else []
    words += [
        word for name, word in (("bounded", "bounded targets"), ("layer_norm", "layer norm")) if row[name] is True
    ]
    return " with ".join([words[0], " and ".join(words[1:])] if words[1:] else words)
