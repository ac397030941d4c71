"""A run's best on the way against its end: whether a method reaches more, or loses less of what it has reached."""

from collections.abc import Callable

import numpy as np

from rewind.arrays import Array
from rewind.report.document import Block, Cell, Line, Table
from rewind.report.methods import ALGORITHMS, LABELS
from rewind.report.runs import FinishedRun
from rewind.report.stability import NEIGHBOURS, best
from rewind.statistics import mean, mean_difference
from rewind_lab.paper.report.claims import points
from rewind_lab.paper.report.comparisons import LEAST_RUNS, Column, fewer
from rewind_lab.paper.report.gains import compared_methods
from rewind_lab.paper.report.methods import SUITES
from rewind_lab.paper.report.results import PaperResults
from rewind_lab.paper.report.summary import sets_of

RULE = (
    f"Best on the way: a run's highest mean of {NEIGHBOURS} evaluations in a row before its end. Where a method gains "
    "at the end but not there, it loses less of what it reaches. The best of several evaluations is too high, most so "
    "where scores vary most, and nobody could stop there without a simulator: read differences of a few points as "
    f"none. Means over data sets with at least {LEAST_RUNS} runs of the method and of the baseline, and the difference "
    "to the baseline on the same sets with a 95% interval."
)

Runs = list[FinishedRun]  # of one method on one data set


def end(run: FinishedRun) -> float:
    return run.score


def peaks(results: PaperResults) -> list[Block]:
    """The rule and a table for each suite and algorithm whose runs have a way to look at."""
    found = [_table(results, algorithm, suite) for algorithm in results.algorithms for suite in SUITES]
    tables = [table for table in found if table is not None]
    return [RULE, *tables] if tables else []


def _table(results: PaperResults, algorithm: str, suite: str) -> Table | None:
    """None where nothing can be held against the baseline."""
    names = sets_of(results, suite)
    baseline = {name: runs for name in names if (runs := _enough(results, name, algorithm, "baseline"))}
    others = {
        label: {name: runs for name in baseline if (runs := _enough(results, name, algorithm, method))}
        for label, method in compared_methods().items()
    }
    shared = {name: runs for name, runs in baseline.items() if any(name in own for own in others.values())}
    if not shared:
        return None
    figures = [Cell(f"{mean(_samples(shared, of)):.1f}") for of in (best, end)]
    lines = [Line(LABELS["baseline"], [cell for figure in figures for cell in (figure, Cell())])]
    lines += [Line(label, _cells(own, shared)) for label, own in others.items() if own]
    title = (
        f"Best and end, {SUITES[suite]} ({len(shared)} set{'s' if len(shared) > 1 else ''}), {ALGORITHMS[algorithm]}"
    )
    return Table(title, ["Method", "Best on the way", "over the baseline", "At the end", "over the baseline"], lines)


def _enough(results: PaperResults, dataset: str, algorithm: str, name: Column) -> Runs:
    """Runs with a best and an end; none where they are too few."""
    runs = [run for run in results.of(dataset, algorithm, name) if np.isfinite(best(run)) and np.isfinite(run.score)]
    return runs if len(runs) >= LEAST_RUNS else []


def _samples(runs: dict[str, Runs], of: Callable[[FinishedRun], float]) -> list[Array]:
    return [np.array([of(run) for run in own]) for own in runs.values()]


def _cells(own: dict[str, Runs], baseline: dict[str, Runs]) -> list[Cell]:
    """A method's figures, each with the difference to the baseline on the same sets; how many, where some lack."""
    lacking = fewer(len(own), len(baseline))
    against = {name: baseline[name] for name in own}
    cells = []
    for of in (best, end):
        ones, others = _samples(own, of), _samples(against, of)
        cells += [Cell(f"{mean(ones):.1f}{lacking}"), Cell(points(mean_difference(ones, others).estimate))]
    return cells
