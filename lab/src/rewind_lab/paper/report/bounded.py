"""What a method is worth where targets are bounded, over a baseline that is bounded too."""

import json
from collections.abc import Sequence
from dataclasses import replace

from rewind.arrays import Array
from rewind.report.document import Cell, Line, Table
from rewind.report.methods import ALGORITHMS, LABELS, short
from rewind.report.runs import FinishedRun, Protocol
from rewind.report.stability import critic_known, diverged
from rewind.statistics import mean
from rewind_lab.paper.published import SUITES
from rewind_lab.paper.report.beyond import without_bounds
from rewind_lab.paper.report.comparisons import LEAST_RUNS, fewer, points
from rewind_lab.paper.report.results import PaperResults
from rewind_lab.paper.report.summary import sets_of

COLUMNS = [
    "Method", "As it is", "over the baseline", "Bounded", "over the baseline", "Bounds add", "Diverged", "if bounded",
]  # fmt: skip
NOTE = (
    f"Means over the data sets with at least {LEAST_RUNS} runs of the method and of the baseline both ways ({{}}; how "
    "many, where a method has fewer), with 95% intervals of differences. Where runs of a data set have "
    "different bounds, those of most count. Diverged: critics whose Q at the end is outside the possible returns, "
    "of those whose Q was recorded. Bounds keep Q from that, and not from being wrong within them: that none diverges "
    "says little, scores say more."
)


Scores = dict[str, tuple[Array, Array]]  # by data set, as they are and bounded


def bounded_tables(results: PaperResults) -> list[Table]:
    """For each algorithm and suite with runs both ways."""
    held = bounded_results(results)
    if held is None:
        return []
    found = [_table(results, held, algorithm, suite) for algorithm in held.algorithms for suite in SUITES]
    return [table for table in found if table is not None]


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


def _table(results: PaperResults, held: PaperResults, algorithm: str, suite: str) -> Table | None:
    """None where only the baseline has runs both ways."""
    sets = sets_of(results, suite)
    baseline, *others = ((name, _both(results, held, algorithm, name, sets)) for name in LABELS if name != "auto")
    found = {name: {each: own[each] for each in own if each in baseline[1]} for name, own in others}
    methods = {name: own for name, own in found.items() if own}
    if not methods:
        return None
    shown = {each: own for each, own in baseline[1].items() if any(each in method for method in methods.values())}
    lines = []
    for name, own in {"baseline": shown, **methods}.items():
        critics = [_diverged(each, algorithm, name, list(own)) for each in (results, held)]
        over = None if name == "baseline" else shown
        lines.append(Line(LABELS[name], [*_cells((results, held), algorithm, own, over, len(shown)), *critics]))
    title = f"Over the baseline with bounded targets, {SUITES[suite]}, {ALGORITHMS[algorithm]}"
    return Table(title, COLUMNS, lines, NOTE.format(", ".join(map(short, shown))))


def _both(results: PaperResults, held: PaperResults, algorithm: str, name: str, sets: Sequence[str]) -> Scores:
    """On the data sets with enough runs both ways."""
    found = {each: tuple(side.scores(each, algorithm, name) for side in (results, held)) for each in sets}
    return {each: (free, held) for each, (free, held) in found.items() if min(len(free), len(held)) >= LEAST_RUNS}


def _cells(
    sides: tuple[PaperResults, PaperResults], algorithm: str, own: Scores, baseline: Scores | None, most: int
) -> list[Cell]:
    """sides: as they are, and bounded; baseline: None for its own line, which has nothing over it"""
    cells: list[Cell] = []
    for side, results in enumerate(sides):
        runs = {name: scores[side] for name, scores in own.items()}
        over = "" if baseline is None else _difference(results, algorithm, runs, {n: baseline[n][side] for n in own})
        cells += [Cell(f"{mean(list(runs.values())):.1f}{fewer(len(own), most)}"), Cell(over)]
    free, held = ({name: scores[side] for name, scores in own.items()} for side in (0, 1))
    return [*cells, Cell(_difference(sides[0], algorithm, held, free))]


def _difference(results: PaperResults, algorithm: str, ones: dict[str, Array], others: dict[str, Array]) -> str:
    return points(results.difference(algorithm, {name: (ones[name], others[name]) for name in ones}).estimate)


def _diverged(results: PaperResults, algorithm: str, name: str, sets: Sequence[str]) -> Cell:
    known = [run for dataset in sets for run in results.of(dataset, algorithm, name) if critic_known(run)]
    return Cell(f"{sum(map(diverged, known))} of {len(known)}") if known else Cell(kind="missing")
