"""Runs that were good and did not stay so: a score at the end says nothing of what was there before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rewind.report.document import Block, Cell, Line, Table
from rewind.report.paper.methods import ALGORITHMS, LABELS, Method, short
from rewind.report.paper.runs import Results, Run

NEIGHBOURS = 3  # evaluations whose mean counts: one alone may be luck
GOOD = 20.0  # points: less is not much to lose
KEPT = 0.5  # of its best, what a run must end with

RULE = (
    f"A run fell if its score at the end is less than {KEPT:.0%} of its best on the way (the mean of {NEIGHBOURS} "
    f"evaluations in a row), where that was at least {GOOD:.0f} points, or if it broke: its numbers stopped being "
    "finite, or its Q left ±1e9. Only data sets on which a run fell are shown; "
    "a dash: none of the runs did. Q: the mean over batches that the run learned from; runs of which it was not "
    "recorded, or is no longer a number, are left out."
)


def fell(run: Run) -> bool:
    """Whether a run lost most of what it had learned, or broke before it had learned much."""
    best = _best(run)
    return not run.alive or (best >= GOOD and not run.score >= KEPT * best)  # a score that is no number is lost too


def _best(run: Run) -> float:
    """Its best on the way."""
    before = run.curve[1][:-1]
    if len(before) < NEIGHBOURS:
        return -np.inf
    return float(np.nanmax(np.convolve(before, np.full(NEIGHBOURS, 1 / NEIGHBOURS), "valid"), initial=-np.inf))


def stability(results: Results) -> list[Block]:
    """The rule, and tables for each algorithm of which runs fell."""
    tables: list[Block] = [table for algorithm in results.algorithms for table in _tables(results, algorithm)]
    return [RULE, *(tables or ["No run fell."])]


def _tables(results: Results, algorithm: str) -> list[Table]:
    own = [run for run in results.runs if run.algorithm == algorithm]
    datasets = [name for name in results.datasets if any(fell(run) for run in own if run.dataset == name)]
    if not datasets:
        return []
    lines = [
        Line(label, [_count(runs) for runs in found])
        for label, found in _by_method(results, algorithm, datasets).items()
        if any(found)
    ]
    columns = ["Method", *map(short, datasets)]
    tables = [Table(f"Runs that fell, {ALGORITHMS[algorithm]}", columns, lines)]
    known = [run for run in own if run.q is not None and run.dataset in datasets]
    if known:
        kinds: dict[str, Callable[[Run], bool]] = {
            "fell": fell,
            "stayed good": lambda run: not fell(run) and max(_best(run), run.score) >= GOOD,
            f"never had {GOOD:.0f} points": lambda run: not fell(run) and not max(_best(run), run.score) >= GOOD,
        }
        shown = [
            Line(f"Runs that {told}", [_q([run for run in known if run.dataset == name and is_so(run)])
                                       for name in datasets])
            for told, is_so in kinds.items()
        ]  # fmt: skip
        tables.append(Table(f"Q at the end, {ALGORITHMS[algorithm]}: median, lowest to highest", columns, shown))
    return tables


def _by_method(results: Results, algorithm: str, datasets: Sequence[str]) -> dict[str, list[list[Run]]]:
    """The paper's columns, and what else there is: for each data set its runs."""
    columns: dict[str, str | Method] = {label: name for name, label in LABELS.items()}
    named = {(dataset, results.method(dataset, algorithm, name)) for dataset in datasets for name in LABELS}
    for dataset in datasets:
        others = [each for each in results.methods(dataset, algorithm) if (dataset, each) not in named]
        columns |= {method.label: method for method in others}
    return {
        label: [_runs(results, dataset, algorithm, name) for dataset in datasets] for label, name in columns.items()
    }


def _runs(results: Results, dataset: str, algorithm: str, name: str | Method) -> list[Run]:
    method = results.method(dataset, algorithm, name)
    return [] if method is None else results.of(dataset, algorithm, method)


def _count(runs: Sequence[Run]) -> Cell:
    if not runs:
        return Cell(kind="missing")
    lost = sum(fell(run) for run in runs)
    return Cell(f"{lost} of {len(runs)}" if lost else "–", strong=2 * lost >= len(runs))


def _q(runs: Sequence[Run]) -> Cell:
    if not runs:
        return Cell(kind="missing")
    values = np.array([run.q for run in runs])
    return Cell(f"{_figure(np.median(values))} ({_figure(values.min())} to {_figure(values.max())})")


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) < 1e7 else f"{value:.0e}"  # a critic that diverges stops at nothing
