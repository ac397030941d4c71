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
from rewind_lab.paper.report.cost import Cost, cost_table
from rewind_lab.paper.report.differences import differences_table, directions_table, figure_3, table_4
from rewind_lab.paper.report.gains import gains
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
ORDER = (
    "claims", "gains", "tables", "differences", "curves", "peaks", "stability", "scores", "overall", "which", "cost",
    "beyond", "origin",
)  # fmt: skip


def build(results: PaperResults, costs: Sequence[Cost] = ()) -> Document:
    """The document. Without runs on the paper's data sets it is the page of a training."""
    if not results.sources:
        return training_page.build(results)
    sections = [*_paper_sections(results, costs), *_own_sections(results)]
    sections.sort(key=lambda section: ORDER.index(section.name))
    charts = {"curves": score_curves(results), "profiles": summary.profiles(results)}
    data = chart_data(charts, training_page.names_of(results) | SUITES, every_label=True)
    where = {"d4rl": "on D4RL's data", "rewind": "on rebuilt data"}[results.data]
    subtitle = f"Prioritized Trajectory Replay (Liu et al. 2023), {where}: our numbers beside the paper's."
    return Document("The paper, rerun", subtitle, _facts(results), sections, data)


def _paper_sections(results: PaperResults, costs: Sequence[Cost]) -> list[Section]:
    panels = figure_3(results)
    numbers = Fold("The numbers", [differences_table(panels)])
    rule, which = table_4(results)
    cost_note = (
        "From `rewind bench train`: all five side by side in one run of one engine, the median of several turns."
    )
    found = claims.judge(results, costs[0] if costs else None)
    notice = [*_other_protocol(results), *_mixed_kernels(results)]
    judged: list[Block] = [
        *notice,
        *claims.claims_tables(found),
        f"{claims.RULE} {claims.COST_RULE}",
    ]
    shown: list[Block] = [*notice, *([REBUILT] if results.data == "rewind" else [])]
    profiles = Chart("profiles", "Performance profile:", "Suite", "score", "share of runs", digits=2)
    overall: list[Block] = [summary.RULE, *summary.unequal(results), profiles]
    extra, best = [*beyond.beyond_tables(results), *bounded_tables(results)], peaks(results)
    sections = [
        Section("claims", "Claims", judged),
        Section("gains", "Over the baseline", [*gains(results), *one_set(results)]),
        Section("tables", "Tables", [*shown, *tables.paper_tables(results)]),
        Section("differences", "Differences", [DIFFERENCES, panels, directions_table(panels), numbers]),
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


def _facts(results: PaperResults) -> list[tuple[str, str]]:
    first, *rest = facts(results)
    others = [("Of other settings", f"{len(results.others):,}")] if results.others else []
    return [first, *others, *rest]


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
