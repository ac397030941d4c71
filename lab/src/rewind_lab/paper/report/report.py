"""All of a report, from results: which sections there are depends on what was run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rewind.report.document import Block, Cell, Chart, Document, Fold, Line, Section, Table
from rewind_lab.paper.datasets import hyper_parameters
from rewind_lab.paper.report import beyond, claims, summary, tables
from rewind_lab.paper.report.bounded import bounded_tables
from rewind_lab.paper.report.cost import Cost, cost_table
from rewind_lab.paper.report.differences import differences_table, directions_table, figure_3, table_4
from rewind_lab.paper.report.gains import gains
from rewind_lab.paper.report.methods import ALGORITHMS, HIGHER, LABELS, LOWER, QUALITY, short, source
from rewind_lab.paper.report.one_set import one_set
from rewind_lab.paper.report.peaks import peaks
from rewind_lab.paper.report.runs import Protocol, Results
from rewind_lab.paper.report.scores import score_tables
from rewind_lab.paper.report.stability import diverged, fell, stability
from rewind_lab.paper.results import kernels_of

REBUILT = (
    "These runs are on data that Rewind rebuilds: the same environments and recipes as D4RL's, other behaviour "
    "policies. Scores need not be the paper's; what can be compared is how the methods differ on the same data."
)
DIFFERENCES = (
    "TD3+BC with each sampler minus TD3+BC as it is, in points, cut at ±20 as in the paper (an arrow says where a bar "
    "goes on). Filled: ours, with the 95% bootstrap interval as a line. Outlined: the paper's. At the end of a row: "
    "“=” same direction, “≠” opposite direction, “~” not clear (an interval holds 0), “·” no runs yet."
)


def build(results: Results, costs: Sequence[Cost] = ()) -> Document:
    """The document. Without runs on the paper's data sets it is a plain report of scores and curves."""
    compared = bool(results.sources)
    title = "The paper, rerun" if compared else "Training report"
    sections = [*(_paper_sections(results, costs) if compared else ()), *_own_sections(results)]
    if compared:
        order = (
            "claims", "gains", "tables", "differences", "curves", "peaks", "stability", "scores", "overall", "which",
            "cost", "beyond", "origin",
        )  # fmt: skip
        sections.sort(key=lambda section: order.index(section.name))
    return Document(title, _subtitle(results), facts(results), sections, _data(results, compared))


def _paper_sections(results: Results, costs: Sequence[Cost]) -> list[Section]:
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
        claims.counted(found),
        claims.claims_table(found),
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


def _other_protocol(results: Results) -> list[Block]:
    """Said before any number that could be taken for a result by the paper's protocol."""
    different = results.protocol.against(Protocol())
    return [f"No run here has the paper's settings; those shown have {different}."] if different else []


def _mixed_kernels(results: Results) -> list[Block]:
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


def _own_sections(results: Results) -> list[Section]:
    curves = Chart("curves", "Learning curves:", "Data set", "updates", "score")
    intro = (
        "Mean over runs, with the 95% bootstrap interval of that mean as a band. The last point of a long run is its "
        "score as the paper takes it: the mean of the last five evaluations."
    )
    sections = [Section("curves", "Learning curves", [intro, curves]), Section("origin", "Origin", origin(results))]
    if results.sources or any(fell(run) or diverged(run) for run in results.runs):
        sections.insert(1, Section("stability", "Runs that fell", stability(results)))
    own = score_tables(results)
    if own:
        sections.insert(0, Section("scores", "Scores", own))
    return sections


def _subtitle(results: Results) -> str:
    told = {"d4rl": "on D4RL's data", "rewind": "on rebuilt data"}[results.data]
    if not results.sources:
        return "Scores and learning curves of the runs in this folder."
    return f"Prioritized Trajectory Replay (Liu et al. 2023), {told}: our numbers beside the paper's."


def facts(results: Results) -> list[tuple[str, str]]:
    runs = results.runs
    seconds = sum({run.row["group"]: run.row["group_seconds"] for run in results.every.values()}.values())
    facts = [
        ("Runs", f"{len(runs):,}"),
        ("Data sets", str(len(results.datasets))),
        ("Agents", ", ".join(ALGORITHMS[name] for name in results.algorithms)),
        ("Updates of a run", " to ".join(f"{steps:,}" for steps in _ends(run.protocol.steps for run in runs))),
        ("Broken runs", str(sum(not run.alive for run in runs))),
        ("Devices", ", ".join(sorted({run.row["device"] for run in runs}))),
    ]
    if seconds:
        facts.append(("Device time", f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"))
    if results.others:
        facts.insert(1, ("Of other settings", f"{len(results.others):,}"))
    return facts


def _ends(values: Iterable[Any]) -> list[Any]:
    """The smallest and the largest; one where they are the same."""
    there = sorted(set(values))
    return [there[0], there[-1]] if len(there) > 1 else there


def _data(results: Results, compared: bool) -> dict[str, Any]:
    """What the charts are drawn from."""
    charts = {"curves": summary.curves(results)} | ({"profiles": summary.profiles(results)} if compared else {})
    return {**charts, "names": summary.names_of(results), **selectable(charts, compared)}


def selectable(charts: Mapping[str, Any], compared: bool) -> dict[str, Any]:
    """The methods of all charts in their order, and choices among them."""
    labels = {one["label"] for chart in charts.values() for agents in chart.values()
              for series in agents.values() for one in series}  # fmt: skip
    known = [label for label in LABELS.values() if label in labels]
    first = list(LABELS.values()) if compared else known  # what the paper names has its place, and so its look
    methods, presets = [*first, *sorted(labels.difference(known))], _presets(labels)
    if not compared:
        presets.sort(key=lambda preset: preset["name"] != "All")
    return {"methods": methods, "presets": presets}


def _presets(labels: set[str]) -> list[dict[str, Any]]:
    """Choices of methods by one button; those that add nothing are left out."""
    basic = ("baseline", "tr")
    groups = {"Targets": ("sarsa", "weighted"), "Quality": QUALITY, "Lower uncertainty": LOWER}
    groups["Higher uncertainty"] = HIGHER
    named = {name: [LABELS[method] for method in (*basic, *methods)] for name, methods in groups.items()}
    named["Betas"] = [LABELS["tr"], LABELS["sarsa"], *sorted(label for label in labels if ", β" in label)]
    presets = [{"name": name, "methods": methods} for name, methods in named.items() if len(labels & {*methods}) > 2]
    every = [{"name": "All", "methods": sorted(labels)}, {"name": "None", "methods": []}]
    return [*presets, *every]


def origin(results: Results) -> list[Block]:
    """Where the numbers come from."""
    blocks: list[Block] = []
    if results.others:
        kinds = Counter(run.protocol.against(results.protocol) for run in results.others)
        told = "; ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
        blocks.append(f"Runs of other settings, which only the tables under “Beyond the paper” take: {told}.")
    left = {where: count for where, count in results.sources.items() if where != results.data}
    if left:
        where, count = next(iter(left.items()))
        blocks.append(f"{count} runs on {where} data are left out of the tables: `rewind report --data {where}`.")
    blocks.append(_data_table(results))
    versions = sorted({run.row["versions"] for run in results.runs})
    blocks.append(Fold("Versions", [_versions(text) for text in versions]))
    if results.sources:
        blocks.append(Fold("Hyper-parameters", [_hyper_parameters()]))
    return blocks


def _data_table(results: Results) -> Table:
    lines = []
    for dataset in results.datasets:
        own = [run for run in results.runs if run.dataset == dataset]
        prints = sorted({run.row["data_fingerprint"] for run in own})
        broken = sum(not run.alive for run in own)
        dates = " to ".join(_ends(run.row["finished"][:10] for run in own))
        told = prints[0] if len(prints) == 1 else f"{len(prints)} different: {', '.join(prints)}"
        where = {"d4rl": "D4RL", "rewind": "rebuilt"}.get(source(dataset) or "", "other")
        cells = [str(len(own)), str(broken), dates, where, told]
        lines.append(Line(dataset, [Cell(text) for text in cells]))
    columns = ("Data set", "Runs", "Broken", "Finished", "Data", "Fingerprint")
    note = "A fingerprint is of the data's content: runs of one data set should have one."
    return Table("Where the runs come from", columns, lines, note)


def _hyper_parameters() -> Table:
    """The paper's, which all runs have unless their settings say otherwise."""
    rows = hyper_parameters()
    lines = [Line(str(row["data set"]), [Cell(_told(value)) for value in list(row.values())[1:]]) for row in rows]
    note = "A dash: the paper gives none. Rebuilt data sets have those of the set they are rebuilt after."
    return Table("The paper's hyper-parameters", ["Data set", *list(rows[0])[1:]], lines, note)


def _told(value: Any) -> str:
    return "–" if value is None else f"{value:g}"


def _versions(text: str) -> str:
    return ", ".join(f"{name} {version}" for name, version in json.loads(text).items())
