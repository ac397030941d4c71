"""Which data sets and agents of the paper have runs of uniform sampling and TR, and what all its tables would cost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from rewind.data.catalogue import catalogue
from rewind.run_spec import RunSpec
from rewind.table import table
from rewind_lab.paper.costs import CostEstimate
from rewind_lab.paper.datasets import rebuilt
from rewind_lab.paper.definitions import RunChoice, in_order, load_definitions
from rewind_lab.paper.halves import CHOICE, held_back_half, usually_staggered
from rewind_lab.paper.published import SUITES, published

AGENTS = ("td3_bc", "iql", "edac")  # of the paper
METHODS = {"baseline": "uniform", "tr": "TR"}
LEGEND = "Finished/wanted runs. waits: wanted once a setting is chosen. no: not wanted here. Empty: not in the paper."


def coverage(wanted: Sequence[RunSpec], finished: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each data set of the paper: its rebuilt set, and [finished, wanted] by agent and method.

    None where the paper has no such run.
    """
    asked, done = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    for spec in wanted:
        if _plain(spec):
            asked[spec.dataset, spec.algorithm, spec.sampler] += 1
            done[spec.dataset, spec.algorithm, spec.sampler] += spec.run in finished
    there = {name for name, _, _ in asked}
    rows = []
    for name, printed in published("table_1_full").items():
        if name in SUITES:
            continue
        here = _name_here(name, there)
        cells = {
            f"{agent} {method}": [done[here, agent, method], asked[here, agent, method]]
            if printed[f"{agent} {method}"] is not None
            else None
            for agent in AGENTS
            for method in METHODS
        }
        rows.append({"data set": name, "rebuilt": here, **cells})
    return rows


def _plain(spec: RunSpec) -> bool:
    """As in the paper: one-step targets, the agent's own numbers, nothing of the memory changed."""
    usual = (spec.beta, spec.settings, spec.reuse) == (1.0, (), "on_finish")
    starts = spec.stagger == usually_staggered(spec.dataset, spec.sampler)
    return usual and starts and spec.sampler in METHODS and spec.algorithm in AGENTS


def _name_here(name: str, there: set[str]) -> str:
    """What a data set of the paper is called in these runs."""
    known = catalogue()[name]
    names = [known.rebuilt, rebuilt(known), name]
    return next((each for each in names if each in there), known.rebuilt)


def coverage_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table, and how many pairs of data set and agent have both methods."""
    closed = set() if CHOICE.is_file() else set(held_back_half())
    told = []
    for row in rows:
        version = "v" + row["rebuilt"].rpartition("-v")[2]
        line = {"data set of the paper": row["data set"], "rebuilt": version}
        for agent in AGENTS:
            for method, word in METHODS.items():
                waits = method == "tr" and row["rebuilt"] in closed and any(row[f"{agent} baseline"] or ())
                line[f"{agent} {word}"] = _cell(row[f"{agent} {method}"], waits=waits)
        told.append(line)
    pairs = [[row[f"{agent} {method}"] for method in METHODS] for row in rows for agent in AGENTS]
    pairs = [pair for pair in pairs if None not in pair]
    both = sum(all(done for done, _ in pair) for pair in pairs)
    return f"{table(told)}\n{LEGEND}\n{both} of {len(pairs)} pairs of data set and agent have runs of both methods"


def _cell(counts: Sequence[int] | None, *, waits: bool) -> str:
    if counts is None:
        return ""
    done, asked = counts
    return f"{done}/{asked}" if asked else "waits" if waits else "no"


def full_grid(estimate: CostEstimate, group_seconds: float, runs_per_group: int) -> dict[str, Any]:
    """What all tables of the paper would cost: runs, data sets, device hours."""
    definitions = load_definitions()
    names = [each.name for each in definitions.tables.values() if each.published and each.kind == "runs"]
    specs = in_order(definitions.wanted(RunChoice(names, "d4rl")))
    own = estimate.with_points(definitions.defaults.points)
    alike: dict[tuple[str, str], list[RunSpec]] = {}
    for spec in specs:
        alike.setdefault((spec.suite, spec.algorithm), []).append(spec)
    seconds = 0.0
    for runs in alike.values():  # equal groups, as large as fit: packing them exactly says the same and takes longer
        groups = ceil(len(runs) / max(1, own.most(runs[0], group_seconds, runs_per_group)))
        seconds += groups * own.seconds(runs[0], ceil(len(runs) / groups))
    return {"runs": len(specs), "datasets": len({spec.dataset for spec in specs}), "hours": seconds / 3600}
