"""The paper's page: our numbers beside its own; which sections there are depends on what was run."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rewind.evaluation.rows import kernels_of
from rewind.report import training_page
from rewind.report.curves import chart_data, score_curves
from rewind.report.document import Block, Chart, Document, Fold, Section
from rewind.report.methods import ALGORITHMS, short
from rewind.report.provenance import facts, origin
from rewind.report.runs import FinishedRun, Protocol
from rewind.report.scores import score_tables
from rewind.report.stability import critic_known, diverged
from rewind_lab.paper.published import SUITES
from rewind_lab.paper.report import beyond, claims, summary, tables
from rewind_lab.paper.report.bounded import bounded_tables
from rewind_lab.paper.report.by_kind_words import evidence
from rewind_lab.paper.report.controls import controls, explained, progress, recommendation
from rewind_lab.paper.report.cost import Cost, cost_table
from rewind_lab.paper.report.differences import differences_table, figure_3, table_4
from rewind_lab.paper.report.divergence import divergence
from rewind_lab.paper.report.gains import gains
from rewind_lab.paper.report.glance import answers, glance, glance_panels
from rewind_lab.paper.report.results import PaperResults, source

REBUILT = (
    "These runs are on data that Rewind rebuilds: the same environments and recipes as D4RL's, other behaviour "
    "policies. Scores need not be the paper's; what can be compared is how the methods differ on the same data."
)
COST = "From `rewind bench train`: all five side by side in one run of one engine, the median of several turns."
DIFFERENCES = (
    "TD3+BC with each sampler minus TD3+BC as it is, in points, cut at ±20 as in the paper (an arrow says where a bar "
    "continues). Filled: ours, with the 95% interval as a line. Outlined: the paper's. At the end of a row: "
    "“=” same direction, “≠” opposite direction, “~” not clear (an interval holds 0), “·” no runs yet."
)


def build(results: PaperResults, costs: Sequence[Cost] = (), first: PaperResults | None = None) -> Document:
    """The document. Without runs on the paper's data sets it is the page of a training.

    first: runs of the first edition, by which no claim is judged
    """
    if not results.sources:
        return training_page.build(results)
    found = claims.judge(results, costs[0] if costs else None)
    literal = claims.read_literally(results)
    sections = [section for section in _sections(results, costs, first, found, literal) if section.blocks]
    charts = {"curves": _with_a_story_first(score_curves(results)), "profiles": summary.profiles(results)}
    data = chart_data(charts, training_page.names_of(results) | SUITES, every_label=True)
    where = {"d4rl": "on D4RL's data", "rewind": "on rebuilt data"}[results.data]
    subtitle = f"Prioritized Trajectory Replay (Liu et al. 2023), {where}: our numbers beside the paper's."
    extracts = [
        Section("answers", "In short", answers(found, results, literal)),
        Section("verdicts", "Claims", claims.verdicts(found, literal)),
    ]
    if results.newest:
        extracts.append(Section("explained", "What explains it", explained(results)))
        extracts.append(Section("evidence", "Does it help?", evidence(results, found)))
    return Document("The paper, rerun", subtitle, _facts(results, first), sections, data, extracts)


def _sections(
    results: PaperResults,
    costs: Sequence[Cost],
    first: PaperResults | None,
    found: Sequence[claims.Finding],
    literal: Sequence[claims.Finding],
) -> list[Section]:
    """In the order of the page: first what answers the reader's questions. Those without blocks are left out."""
    notice = [*_other_protocol(results), *_mixed_kernels(results)]
    rebuilt = [REBUILT] if results.data == "rewind" else []
    newest = results.newest
    panels = [panel for panel in figure_3(results) if any(bar.ours is not None for bar in panel.rows)]
    at_a_glance = Fold("The numbers of the figure at the top", [differences_table(glance_panels(results, None))])
    numbers = Fold("The numbers", [differences_table(panels)])
    profiles = Chart("profiles", "Performance profile:", "Suite", "score", "share of runs", digits=2)
    suites = summary.suite_tables(results)
    extra = [*beyond.beyond_tables(results), *bounded_tables(results)]
    own = [run for run in results.runs if source(run.dataset) is None]
    return [
        Section("glance", "At a glance", glance(results, first, found, literal)),
        Section("claims", "Claims", [*notice, *claims.claims_blocks(found, literal)]),
        Section("progress", "What has run", [progress(results)[0]] if newest else []),
        Section("controls", "What explains it", controls(results) if newest else []),
        Section("divergence", "Critics that diverge", divergence(results) if newest else []),
        Section("recommendation", "What to use", recommendation(results) if newest else []),
        Section("waiting", "Claims without data", claims.open_claims(found)),
        Section("rules", "How claims are judged", [f"{claims.RULE} {claims.COST_RULE}"]),
        Section("gains", "Over the baseline", gains(results)),
        Section("tables", "Tables", [*notice, *rebuilt, *tables.paper_tables(results)]),
        Section("differences", "Differences", [at_a_glance, DIFFERENCES, panels, numbers]),
        training_page.CURVES,
        training_page.stability_section(results),
        Section("scores", "Scores", score_tables(own)),
        Section("overall", "Overall", [summary.RULE, *summary.unequal(results), profiles, *suites]),
        Section("which", "Which priority", table_4(results)),
        Section("cost", "Cost", [COST, cost_table(costs)]),
        Section("beyond", "Beyond the paper", [beyond.RULE, *extra] if extra else []),
        Section("origin", "Origin", _origin(results)),
    ]


def _with_a_story_first(charts: dict[str, dict[str, list[Any]]]) -> dict[str, dict[str, list[Any]]]:
    """The data set on which most methods end farthest apart opens."""

    def story(name: str) -> tuple[float, int]:
        ends = [line["y"][-1] for lines in charts[name].values() for line in lines if line["y"][-1] is not None]
        return (max(ends) - min(ends) if len(ends) > 1 else 0.0, len(ends))

    best = max(charts, key=story, default=None)
    return charts if best is None else {best: charts[best], **charts}


def _other_protocol(results: PaperResults) -> list[Block]:
    """Said before any number that could be taken for a result by the paper's protocol."""
    different = results.protocol.against(Protocol())
    return [f"No run here has the paper's settings; those shown have {different}."] if different else []


def _mixed_kernels(results: PaperResults) -> list[Block]:
    """Said where runs that are held against each other were computed in two ways."""
    kernels: dict[tuple[str, str], set[str]] = {}
    for run in results.runs:
        kernels.setdefault((run.dataset, run.algorithm), set()).add(kernels_of(run.row))
    mixed = [f"{short(name)} ({ALGORITHMS[agent]})" for (name, agent), ways in kernels.items() if len(ways) > 1]
    told = f"On {', '.join(mixed)} some runs were trained with fused kernels (bfloat16 products), others without."
    return [told] if mixed else []


def _facts(results: PaperResults, first: PaperResults | None) -> list[tuple[str, str]]:
    counts, *rest = facts(results)
    others = [("Of other settings", f"{len(results.others):,}")] if results.others else []
    if results.newest:
        _, done, wanted = progress(results)
        counts, others = ("Runs of the evidence", f"{done:,} of {wanted:,}"), []
        every = list(results.every.values())
        failed = _failed(every)
        known = {"Failed runs": failed, "Data sets": [("Data sets", str(len({run.dataset for run in every})))]}
        rest = [each for fact in rest for each in known.get(fact[0], [fact])]
    earlier = [] if first is None else [("Runs of the first edition", f"{len(first.every):,}")]
    return [counts, *others, *earlier, *rest]


def _failed(runs: Sequence[FinishedRun]) -> list[tuple[str, str]]:
    """That no run failed does not say that no critic diverged."""
    known = [run for run in runs if critic_known(run)]
    broken = sum(not run.alive for run in runs)
    return [
        ("Critics that diverged", f"{sum(map(diverged, known)):,} of {len(known):,}"),
        ("Failed runs", f"{broken:,}"),
    ]


def _origin(results: PaperResults) -> list[Block]:
    """Where the numbers come from."""
    blocks: list[Block] = []
    if results.others:
        kinds = Counter(run.protocol.against(results.protocol) for run in results.others)
        words = "; ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
        blocks.append(f"Runs of other settings, which only the tables under “Beyond the paper” take: {words}.")
    others = {where: count for where, count in results.sources.items() if where != results.data}
    for where, count in others.items():
        blocks.append(f"{count} runs on {where} data are left out of the tables: `rewind paper report --data {where}`.")
    return [*blocks, *origin(results)]
