"""What is done, what is left, and how long that will take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewind.run_spec import RunSpec
from rewind.table import listed, table
from rewind_lab.paper.costs import CostEstimate, cost_done, datasets_of, pack
from rewind_lab.paper.coverage import coverage, coverage_text, full_grid
from rewind_lab.paper.definitions import Definitions, in_order
from rewind_lab.paper.results import Index, read_index
from rewind_lab.paper.work import begun, is_trained, work_folder


@dataclass(frozen=True)
class Sizes:
    """Of the groups that are to come, for the estimate."""

    group_seconds: float
    runs_per_group: int
    device: str = "gpu"
    cores: int | None = None
    fused: bool = False


def status(
    definitions: Definitions, wanted: Mapping[str, Sequence[RunSpec]], out: Path, sizes: Sizes
) -> dict[str, Any]:
    """Counts of runs and hours, in all and by table. A run that several tables want counts once in all.

    done: wanted runs that are finished; hours_left: of the device; hours_spent, cpu_hours_spent: on all groups in the
        folder, by accelerators and by CPUs
    begun: groups that are not finished; trained: they only have evaluations left
    """
    index = read_index(out)
    estimate = CostEstimate(index.shared(), sizes.device, definitions.defaults.points, sizes.cores, fused=sizes.fused)
    every = in_order(wanted)
    figures = _counts(every, index, estimate, sizes)
    figures["hours_spent"], figures["cpu_hours_spent"] = (
        index.seconds(accelerators=which) / 3600 for which in (True, False)
    )
    figures["begun"] = [
        {"datasets": datasets_of(group), "algorithm": group[0].algorithm, "runs": len(group)}
        | {"trained": is_trained(work_folder(out, group))}
        for group in begun(out)
    ]
    figures["tables"] = {}
    for name, specs in wanted.items():
        definition = definitions.tables[name]
        if definition.kind == "cost":
            done = cost_done(definition, out)
            counts: dict[str, Any] = {"runs": 0, "done": 0, "left": 0, "hours_left": 0.0, "measured": done}
        else:
            own = estimate.with_points(definitions.points([name]))
            counts = _counts(specs, index, own, sizes)
        figures["tables"][name] = {"title": definition.title, **counts}
    parts: dict[str, list[RunSpec]] = {}
    for name, specs in wanted.items():
        if part := definitions.tables[name].part:
            parts.setdefault(part, []).extend(specs)
    figures["parts"] = {
        part: _counts(list(dict.fromkeys(specs)), index, estimate, sizes) for part, specs in sorted(parts.items())
    }
    if parts:  # the evidence is there to cover the paper
        figures["paper"] = coverage(every, index.runs)
        figures["full_grid"] = full_grid(estimate, sizes.group_seconds, sizes.runs_per_group)
    return figures


def _counts(specs: Sequence[RunSpec], index: Index, estimate: CostEstimate, sizes: Sizes) -> dict[str, Any]:
    left = [spec for spec in specs if spec.run not in index.runs]
    groups = list(pack(left, estimate, sizes.group_seconds, sizes.runs_per_group))
    seconds = sum(estimate.seconds(group[0], len(group)) for group in groups)
    counts = {"runs": len(specs), "done": len(specs) - len(left), "left": len(left), "groups_left": len(groups)}
    return {**counts, "hours_left": seconds / 3600}


def status_text(figures: Mapping[str, Any]) -> str:
    rows = [
        {
            "table": name,
            "runs": each["runs"],
            "done": each["done"] if "measured" not in each else ("measured" if each["measured"] else "-"),
            "left": each["left"],
            "hours left": f"{each['hours_left']:.1f}",
            "": each["title"],
        }
        for name, each in figures["tables"].items()
    ]
    lines = [table(rows), ""]
    if figures["parts"]:
        parts = [
            {"part": part, **{key: each[key] for key in ("runs", "done", "left")}}
            | {"minutes left": f"{60 * each['hours_left']:.0f}"}
            for part, each in figures["parts"].items()
        ]
        lines += [table(parts), "", coverage_text(figures["paper"]), ""]
    lines.append(
        f"{figures['done']:,} of {figures['runs']:,} runs done, each counted once; {figures['left']:,} left, about "
        f"{figures['hours_left']:.1f} device hours in {figures['groups_left']:,} groups; "
        f"{figures['hours_spent']:.1f} hours spent, {figures['hours_spent'] + figures['hours_left']:.1f} in all"
        + (f"; {figures['cpu_hours_spent']:.1f} hours on CPUs" if figures["cpu_hours_spent"] else "")
    )
    if grid := figures.get("full_grid"):
        lines.append(
            f"all tables of the paper ({grid['runs']:,} runs on {grid['datasets']} data sets) would take about "
            f"{grid['hours']:.1f} device hours at these speeds"
        )
    for each in figures["begun"]:
        what = f"{', '.join(each['datasets'])}, {each['runs']} runs of {each['algorithm']}"
        lines.append(f"trained: {what}; evaluations are left (paper finish)" if each["trained"] else f"begun: {what}")
    return "\n".join(lines)


def plan_text(groups: Sequence[Sequence[RunSpec]], estimate: CostEstimate) -> str:
    rows = [
        {
            "data sets": ", ".join(datasets_of(group)),
            "algorithm": group[0].algorithm,
            "runs": len(group),
            "minutes": f"{estimate.seconds(group[0], len(group)) / 60:.1f}",
            "samplers": listed(list(dict.fromkeys(spec.sampler for spec in group)), 4),
        }
        for group in groups
    ]
    return table(rows) if rows else "nothing is left"
