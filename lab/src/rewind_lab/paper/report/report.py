"""The paper's page: our numbers beside its own; which sections there are depends on what was run."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rewind.evaluation.rows import kernels_of
from rewind.report import training_page
from rewind.report.curves import chart_data, score_curves
from rewind.report.document import Block, Cell, Chart, Document, Fold, Line, Section, Table
from rewind.report.methods import ALGORITHMS, short
from rewind.report.provenance import facts, origin
from rewind.report.runs import Protocol
from rewind.report.scores import score_tables
from rewind_lab.paper.datasets import hyper_parameters
from rewind_lab.paper.report import beyond, claims, summary, tables
from rewind_lab.paper.report.bounded import bounded_tables
from rewind_lab.paper.report.by_kind import evidence
from rewind_lab.paper.report.controls import controls, explained, progress, recommendation
from rewind_lab.paper.report.cost import Cost, cost_table
from rewind_lab.paper.report.differences import differences_table, directions_table, figure_3, table_4
from rewind_lab.paper.report.gains import gains
from rewind_lab.paper.report.glance import glance, glance_panels, sentences
from rewind_lab.paper.report.methods import SUITES, source
from rewind_lab.paper.report.one_set import one_set
from rewind_lab.paper.report.peaks import peaks
from rewind_lab.paper.report.results import PaperResults

REBUILT = (
    "These runs are on data that Rewind rebuilds: the same environments and recipes as D4RL's, other behaviour "
    "policies. Scores need not be the paper's; what can be compared is how the methods differ on the same data."
)
DIFFERENCES = (
    "TD3+BC with each sampler minus TD3+BC as it is, in points, cut at ±20 as in the paper (an arrow says where a bar "
    "goes on). Filled: ours, with the 95% interval as a line. Outlined: the paper's. At the end of a row: "
    "“=” same direction, “≠” opposite direction, “~” not clear (an interval holds 0), “·” no runs yet."
)
FIRST = (
    "Runs of the first edition, on the -v0 sets. Those of AntMaze and MuJoCo are easier than D4RL's, or at a limit: no "
    "claim is judged by them any more. The tables stay for who wants to compare."
)
ORDER = (
    "glance", "claims", "progress", "controls", "recommendation", "waiting", "rules", "gains", "tables",
    "differences", "curves", "peaks", "stability", "scores", "overall", "which", "cost",
    "beyond", "first", "origin",
)  # fmt: skip


def build(results: PaperResults, costs: Sequence[Cost] = (), first: PaperResults | None = None) -> Document:
    """The document. Without runs on the paper's data sets it is the page of a training.

    first: runs of the first edition, shown apart
    """
    if not results.sources:
        return training_page.build(results)
    sections = [*_judged_sections(results, costs, first), *_paper_sections(results, costs), *_own_sections(results)]
    if first is not None:
        sections.append(Section("first", "First edition", _first_edition(first)))
    sections.sort(key=lambda section: ORDER.index(section.name))
    charts = {"curves": _with_a_story_first(score_curves(results)), "profiles": summary.profiles(results)}
    data = chart_data(charts, training_page.names_of(results) | SUITES, every_label=True)
    where = {"d4rl": "on D4RL's data", "rewind": "on rebuilt data"}[results.data]
    subtitle = f"Prioritized Trajectory Replay (Liu et al. 2023), {where}: our numbers beside the paper's."
    found = claims.judge(results, costs[0] if costs else None)
    extracts = [
        Section("answers", "In short", sentences(found, first)),
        Section("verdicts", "Claims", claims.verdicts(found)),
    ]
    if results.newest:
        extracts.append(Section("explained", "What explains it", explained(results)))
        extracts.append(Section("evidence", "Does it help?", evidence(results, found)))
    return Document("The paper, rerun", subtitle, _facts(results, first), sections, data, extracts)


def _judged_sections(results: PaperResults, costs: Sequence[Cost], first: PaperResults | None) -> list[Section]:
    """What answers the reader's questions: at a glance, claim by claim, by the controls, and what to use."""
    found = claims.judge(results, costs[0] if costs else None)
    notice = [*_other_protocol(results), *_mixed_kernels(results)]
    sections = [
        Section("glance", "At a glance", glance(results, first, found)),
        Section("claims", "Claims", [*notice, *claims.claims_blocks(found)]),
        Section("rules", "How claims are judged", [f"{claims.RULE} {claims.COST_RULE}"]),
    ]
    if waiting := claims.open_claims(found):
        sections.append(Section("waiting", "Claims without data", [Fold("Claims without enough data yet", waiting)]))
    if results.newest:
        sections += [
            Section("progress", "What has run", [progress(results)[0]]),
            Section("controls", "What explains it", controls(results)),
            Section("recommendation", "What to use", recommendation(results)),
        ]
    return sections


def _first_edition(first: PaperResults) -> list[Block]:
    """Everything but claims, behind lines."""
    folds: dict[str, Sequence[Block]] = {
        "Over the baseline": [*gains(first), *one_set(first)],
        "Tables": tables.paper_tables(first),
        "Differences": [differences_table(figure_3(first))],
        "Best and end": peaks(first),
        "Runs that fell": training_page.stability_section(first).blocks,
        "Beyond the paper": [beyond.RULE, *beyond.beyond_tables(first), *bounded_tables(first)],
    }
    return [FIRST, *(Fold(f"First edition: {title}", blocks) for title, blocks in folds.items() if blocks)]


def _with_a_story_first(charts: dict[str, dict[str, list[Any]]]) -> dict[str, dict[str, list[Any]]]:
    """The data set on which most methods end farthest apart opens."""

    def story(name: str) -> tuple[float, int]:
        ends = [line["y"][-1] for lines in charts[name].values() for line in lines if line["y"][-1] is not None]
        return (max(ends) - min(ends) if len(ends) > 1 else 0.0, len(ends))

    best = max(charts, key=story, default=None)
    return charts if best is None else {best: charts[best], **charts}


def _paper_sections(results: PaperResults, costs: Sequence[Cost]) -> list[Section]:
    panels = [panel for panel in figure_3(results) if any(bar.ours is not None for bar in panel.rows)]
    at_a_glance = Fold("The numbers of the figure at the top", [differences_table(glance_panels(results, None))])
    numbers = Fold("The numbers", [differences_table(panels)])
    rule, which = table_4(results)
    cost_note = (
        "From `rewind bench train`: all five side by side in one run of one engine, the median of several turns."
    )
    notice = [*_other_protocol(results), *_mixed_kernels(results)]
    shown: list[Block] = [*notice, *([REBUILT] if results.data == "rewind" else [])]
    profiles = Chart("profiles", "Performance profile:", "Suite", "score", "share of runs", digits=2)
    overall: list[Block] = [summary.RULE, *summary.unequal(results), profiles]
    extra, best = [*beyond.beyond_tables(results), *bounded_tables(results)], peaks(results)
    sections = [
        Section("gains", "Over the baseline", [*gains(results), *one_set(results)]),
        Section("tables", "Tables", [*shown, *tables.paper_tables(results)]),
        Section("differences", "Differences", [at_a_glance, DIFFERENCES, panels, directions_table(panels), numbers]),
        Section("overall", "Overall", [*overall, *summary.suite_tables(results)]),
        Section("which", "Which priority", [rule, which]),
        Section("cost", "Cost", [cost_note, cost_table(costs)]),
    ]
    if best:
        sections.append(Section("peaks", "Best and end", best))
    if extra:
        sections.append(Section("beyond", "Beyond the paper", [beyond.RULE, *extra]))
    return sections


def _other_protocol(results: PaperResults) -> list[Block]:
    """Said before any number that could be taken for a result by the paper's protocol."""
    different = results.protocol.against(Protocol())
    return [f"No run here has the paper's settings; those shown have {different}."] if different else []


def _mixed_kernels(results: PaperResults) -> list[Block]:
    """Said where runs that are held against each other were computed in two ways."""
    kernels: dict[tuple[str, str], set[bool]] = {}
    for run in results.runs:
        fused = kernels_of(run.row) == "fused"
        kernels.setdefault((run.dataset, run.algorithm), set()).add(fused)
    mixed = [
        f"{short(dataset)} ({ALGORITHMS[algorithm]})" for (dataset, algorithm), ways in kernels.items() if len(ways) > 1
    ]
    if not mixed:
        return []
    return [f"On {', '.join(mixed)} some runs were trained with fused kernels (bfloat16 products), others without."]


def _own_sections(results: PaperResults) -> list[Section]:
    sections = [
        training_page.CURVES,
        training_page.stability_section(results),
        Section("origin", "Origin", _origin(results)),
    ]
    own = score_tables([run for run in results.runs if source(run.dataset) is None])
    return [Section("scores", "Scores", own), *sections] if own else sections


def _facts(results: PaperResults, first: PaperResults | None) -> list[tuple[str, str]]:
    counts, *rest = facts(results)
    others = [("Of other settings", f"{len(results.others):,}")] if results.others else []
    if results.newest:
        _, done, wanted = progress(results)
        counts, others = ("Runs of the evidence", f"{done:,} of {wanted:,}"), []
    earlier = [] if first is None else [("Runs of the first edition", f"{len(first.every):,}")]
    return [counts, *others, *earlier, *rest]


def _origin(results: PaperResults) -> list[Block]:
    """Where the numbers come from."""
    blocks: list[Block] = []
    if results.others:
        kinds = Counter(run.protocol.against(results.protocol) for run in results.others)
        words = "; ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
        blocks.append(f"Runs of other settings, which only the tables under “Beyond the paper” take: {words}.")
    for where, count in results.sources.items():
        if where != results.data:
            blocks.append(
                f"{count} runs on {where} data are left out of the tables: `rewind paper report --data {where}`."
            )
    return [*blocks, *origin(results), Fold("Hyper-parameters", [_hyper_parameters()])]


def _hyper_parameters() -> Table:
    """The paper's, which all runs have unless their settings say otherwise."""
    rows = hyper_parameters()
    lines = [Line(str(row["data set"]), [Cell(_told(value)) for value in list(row.values())[1:]]) for row in rows]
    note = "A dash: the paper gives none. Rebuilt data sets have those of the set they are rebuilt after."
    return Table("The paper's hyper-parameters", ["Data set", *list(rows[0])[1:]], lines, note)


def _told(value: Any) -> str:
    return "–" if value is None else f"{value:g}"
