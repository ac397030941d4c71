"""A run's best on the way against its end: whether a method learns more, or keeps more of what it has learned."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rewind.report.document import Block, Cell, Line, Table
from rewind.report.paper.claims import points
from rewind.report.paper.comparisons import LEAST_RUNS
from rewind.report.paper.methods import ALGORITHMS, LABELS, SUITES
from rewind.report.paper.runs import Results, Run
from rewind.report.paper.summary import sets_of
from rewind.statistics import Sample, bootstrap, mean

NEIGHBOURS = 3  # evaluations whose mean counts: one alone may be luck

RULE = (
    f"Best on the way: a run's highest mean of {NEIGHBOURS} evaluations in a row before its end. A method that gains "
    "there learns more than the baseline; one that gains at the end alone keeps more. The best of several is a little "
    "too high for every method, as no one could choose it without a simulator. Means over data sets with at least "
    f"{LEAST_RUNS} runs of the method and of the baseline, and the difference to the baseline on the same sets with a "
    "95% bootstrap interval."
)


def best(run: Run) -> float:
    """On the way; minus infinity where there are too few evaluations, or none that is a number."""
    before = run.curve[1][:-1]
    if len(before) < NEIGHBOURS:
        return -np.inf
    return float(np.nanmax(np.convolve(before, np.full(NEIGHBOURS, 1 / NEIGHBOURS), "valid"), initial=-np.inf))


def peaks(results: Results) -> list[Block]:
    """The rule and a table for each suite and algorithm whose runs have a way to look at."""
    tables = [
        table
        for algorithm in results.algorithms
        for suite in SUITES
        if (table := _table(results, algorithm, suite)) is not None
    ]
    return [RULE, *tables] if tables else []


def _table(results: Results, algorithm: str, suite: str) -> Table | None:
    found = {name: _samples(results, algorithm, suite, name) for name in LABELS}
    most = max(len(sets) for sets in found.values())
    lines = [Line(LABELS[name], _cells(sets, most)) for name, sets in found.items() if sets]
    if len(lines) < 2:  # the baseline alone has nothing to be held against
        return None
    columns = ["Method", "Best on the way", "over the baseline", "At the end", "over the baseline"]
    title = f"Best and end, {SUITES[suite]} ({most} set{'s' if most > 1 else ''}), {ALGORITHMS[algorithm]}"
    return Table(title, columns, lines)


Pair = tuple[list[Run], list[Run]]  # a method's runs and the baseline's, on one data set


def _samples(results: Results, algorithm: str, suite: str, name: str) -> list[Pair]:
    """Of each data set with enough runs."""
    pairs = []
    for dataset in sets_of(results, suite):
        others = _runs(results, dataset, algorithm, "baseline")
        pairs.append((others if name == "baseline" else _runs(results, dataset, algorithm, name), others))
    return [pair for pair in pairs if min(map(len, pair)) >= LEAST_RUNS]


def _runs(results: Results, dataset: str, algorithm: str, name: str) -> list[Run]:
    """Those with a best and an end."""
    method = results.method(dataset, algorithm, name)
    own = [] if method is None else results.of(dataset, algorithm, method)
    return [run for run in own if np.isfinite(best(run)) and np.isfinite(run.score)]


def _cells(pairs: list[Pair], most: int) -> list[Cell]:
    fewer = "" if len(pairs) == most else f" ({len(pairs)})"
    return [cell for figure in (best, lambda run: run.score) for cell in _figure(pairs, figure, fewer)]


def _figure(pairs: list[Pair], figure: Callable[[Run], float], fewer: str) -> list[Cell]:
    ones, others = ([np.array([figure(run) for run in pair[side]]) for pair in pairs] for side in (0, 1))
    value = Cell(f"{mean(ones):.1f}{fewer}")
    if all(pair[0] is pair[1] for pair in pairs):
        return [value, Cell()]  # the baseline itself
    return [value, Cell(points(bootstrap(_difference, ones, others)))]


def _difference(ones: Sample, others: Sample) -> float:
    found: float = mean(ones) - mean(others)
    return found
