"""What a method is worth where targets are bounded: whether it helps, once no critic diverges."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from rewind.report.document import Cell, Line, Table
from rewind.report.paper.claims import points
from rewind.report.paper.comparisons import Column, Question, chosen
from rewind.report.paper.gains import KINDS, compared_methods
from rewind.report.paper.methods import ALGORITHMS, LABELS, paper_sets
from rewind.report.paper.runs import Protocol, Results, Run
from rewind.report.paper.stability import critic_known, diverged
from rewind.report.paper.variants import BOUNDS
from rewind.statistics import bootstrap, difference

SUITES = ("AntMaze", "Adroit", "MuJoCo")  # of the kinds of data those that do not overlap
COLUMNS = ["Method", "Data sets", "Over the baseline", "if both are bounded", "Bounds add", "Diverged", "if bounded"]


def bounded_tables(results: Results) -> list[Table]:
    """For each algorithm, over the data sets that have runs both ways."""
    runs = [run for run in results.others if _only_bounded(run.protocol, results.protocol)]
    if not runs:
        return []
    # As if their protocol were the usual one: what compares the runs of a protocol then compares these.
    bounded = Results([replace(run, protocol=results.protocol) for run in runs], results.data)
    return [
        Table(f"Over the baseline where targets are bounded, {ALGORITHMS[algorithm]}", COLUMNS, lines)
        for algorithm in bounded.algorithms
        if (lines := [line for kind in SUITES for line in _lines(results, bounded, algorithm, kind)])
    ]


def _only_bounded(protocol: Protocol, standard: Protocol) -> bool:
    """Whether nothing but its bounds sets it apart."""
    settings = json.loads(protocol.settings)
    rest = {name: value for name, value in settings.items() if name not in (*BOUNDS, "bounded")}
    bare = protocol._replace(settings=standard.settings)
    return len(rest) < len(settings) and rest == json.loads(standard.settings) and bare == standard


def _lines(results: Results, bounded: Results, algorithm: str, kind: str) -> list[Line]:
    """The methods that have runs both ways on data of a kind, the baseline first."""
    methods: dict[str, Column] = {LABELS["baseline"]: "baseline", **compared_methods()}
    lines = []
    for label, method in methods.items():
        names = chosen(KINDS[kind], list(paper_sets()))
        for each in (bounded, results):
            names = list(Question(algorithm, [method], ["baseline"], names).ask(each).used)
        if names:
            lines.append(Line(f"{kind}: {label}", _cells(results, bounded, algorithm, method, names)))
    return lines if len(lines) > 1 else []


def _cells(results: Results, bounded: Results, algorithm: str, method: Column, names: list[str]) -> list[Cell]:
    both = (results, bounded)
    over = [Question(algorithm, [method], ["baseline"], names).ask(each).ours for each in both]
    free, held = ([each.scores(each.here(name), algorithm, method) for name in names] for each in both)
    here = [name for name in map(results.here, names) if name is not None]
    critics = [[run for name in here for run in each.of(name, algorithm, method)] for each in both]
    return [
        Cell(str(len(names))),
        *(Cell() if method == "baseline" else Cell(points(each)) for each in over),
        Cell(points(bootstrap(difference, held, free))),
        *map(_diverged, critics),
    ]


def _diverged(runs: Iterable[Run]) -> Cell:
    known = [run for run in runs if critic_known(run)]
    return Cell(f"{sum(map(diverged, known))} of {len(known)}")
