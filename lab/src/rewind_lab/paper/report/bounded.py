"""What a method is worth where targets are bounded, over a baseline that is bounded too."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from rewind.report.document import Cell, Line, Table
from rewind.report.methods import ALGORITHMS, LABELS, short
from rewind.report.runs import FinishedRun, Protocol
from rewind.report.stability import critic_known, diverged
from rewind.statistics import mean, mean_difference
from rewind_lab.paper.report import one_set
from rewind_lab.paper.report.claims import points
from rewind_lab.paper.report.comparisons import LEAST_RUNS, fewer
from rewind_lab.paper.report.methods import SUITES
from rewind_lab.paper.report.one_set import Scores, enough, without_one
from rewind_lab.paper.report.results import PaperResults
from rewind_lab.paper.report.summary import sets_of
from rewind_lab.paper.report.variants import without_bounds

COLUMNS = [
    "Method", "As it is", "over the baseline", "Bounded", "over the baseline", "Bounds add", "Diverged", "if bounded",
]  # fmt: skip
NOTE = (
    f"Means over the data sets with at least {LEAST_RUNS} runs of the method and of the baseline both ways ({{}}; how "
    "many, where a method has fewer), with 95% intervals of differences. Where runs of a data set have "
    "different bounds, those of most count. Diverged: critics whose Q at the end exceeds the possible returns, "
    "of those whose Q was recorded. Bounds keep Q from that, and not from being wrong within them: that none diverges "
    "says little, scores say more."
)


class Both(NamedTuple):
    """A method's scores by data set, as they are and bounded, on the same data sets."""

    free: Scores
    held: Scores

    def on(self, sets: Sequence[str]) -> Both:
        return Both(*({name: scores[name] for name in sets if name in scores} for scores in self))


def bounded_tables(results: PaperResults) -> list[Table]:
    """For each algorithm and suite with runs both ways."""
    held = bounded_results(results)
    if held is None:
        return []
    return [
        table for algorithm in held.algorithms for suite in SUITES for table in _tables(results, held, algorithm, suite)
    ]


def bounded_results(results: PaperResults) -> PaperResults | None:
    """The bounded runs, as if their protocol were the usual one: what compares runs of a protocol compares these."""
    runs = _bounded(results)
    return PaperResults([replace(run, protocol=results.protocol) for run in runs], results.data) if runs else None


def _bounded(results: PaperResults) -> list[FinishedRun]:
    """The runs that nothing but bounds sets apart; of several bounds on a data set those that most runs have."""
    found: dict[tuple[str, str], dict[str, list[FinishedRun]]] = {}
    for run in results.others:
        if _only_bounded(run.protocol, results.protocol):
            bounds = found.setdefault((run.dataset, run.algorithm), {})
            bounds.setdefault(run.protocol.settings, []).append(run)
    return [run for bounds in found.values() for run in max(bounds.values(), key=len)]


def _only_bounded(protocol: Protocol, standard: Protocol) -> bool:
    rest, bounded = without_bounds(json.loads(protocol.settings))
    bare = protocol._replace(settings=standard.settings)
    return bounded and bare == standard and rest == json.loads(standard.settings)


def _tables(results: PaperResults, held: PaperResults, algorithm: str, suite: str) -> list[Table]:
    """What there is both ways, and what one data set makes of it; nothing where only the baseline has runs."""
    sets = sets_of(results, suite)
    found = {name: _both(results, held, algorithm, name, sets) for name in LABELS if name != "auto"}
    methods = {name: shared for name, own in found.items() if (shared := own.on(list(found["baseline"].free))).free}
    others = [own for name, own in methods.items() if name != "baseline"]
    if not others:
        return []
    shown = [each for each in methods["baseline"].free if any(each in own.free for own in others)]
    baseline = methods["baseline"] = methods["baseline"].on(shown)
    lines, adds, over = [], [], []
    for name, own in methods.items():
        against = None if name == "baseline" else baseline.on(list(own.free))
        lacking = fewer(len(own.free), len(shown))
        critics = [_diverged(each, algorithm, name, list(own.free)) for each in (results, held)]
        lines.append(Line(LABELS[name], [*_cells(own, against, lacking), *critics]))
        adds.append(without_one(f"{LABELS[name]}: bounds add", own.held, own.free))
        if against is not None:
            over.append(without_one(f"{LABELS[name]} over the baseline, bounded", own.held, against.held))
    where = f"{SUITES[suite]}, {ALGORITHMS[algorithm]}"
    note = NOTE.format(", ".join(map(short, shown)))
    tables = [Table(f"Over the baseline with bounded targets, {where}", COLUMNS, lines, note)]
    lone = [line for line in (*adds, *over) if line is not None]
    if lone:
        title = f"With bounded targets, without one data set, {where}"
        tables.append(Table(title, one_set.COLUMNS, lone, one_set.RULE))
    return tables


def _both(results: PaperResults, held: PaperResults, algorithm: str, name: str, sets: Sequence[str]) -> Both:
    """On the data sets with enough runs both ways."""
    found = Both(*(enough(each, algorithm, name, sets) for each in (results, held)))
    return found.on([each for each in found.free if each in found.held])


def _cells(own: Both, baseline: Both | None, lacking: str) -> list[Cell]:
    cells: list[Cell] = []
    for side, ones in enumerate(own):
        over = (
            "" if baseline is None else points(mean_difference([*ones.values()], [*baseline[side].values()]).estimate)
        )
        cells += [Cell(f"{mean([*ones.values()]):.1f}{lacking}"), Cell(over)]
    return [*cells, Cell(points(mean_difference([*own.held.values()], [*own.free.values()]).estimate))]


def _diverged(results: PaperResults, algorithm: str, name: str, sets: Sequence[str]) -> Cell:
    known = [run for dataset in sets for run in results.of(dataset, algorithm, name) if critic_known(run)]
    return Cell(f"{sum(map(diverged, known))} of {len(known)}") if known else Cell(kind="missing")
