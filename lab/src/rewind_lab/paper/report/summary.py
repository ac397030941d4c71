"""Over whole suites: means, interquartile means, probability of improvement; performance profiles."""

from itertools import product
from typing import Any

import numpy as np

from rewind.data.catalogue import catalogue
from rewind.report.curves import RESAMPLES, series
from rewind.report.document import Cell, Interval, Line, Table
from rewind.report.methods import ALGORITHMS, LABELS
from rewind.statistics import Sample, bootstrap, improvement, iqm, mean_over, profile
from rewind_lab.paper.published import SUITES
from rewind_lab.paper.report.comparisons import told
from rewind_lab.paper.report.results import PaperResults, paper_sets

RULE = (
    "Interquartile mean: of the middle half of all runs, each data set weighing the same. Probability of "
    "improvement: that a run beats one of the baseline on the same data set, ties counting half, mean over data "
    "sets. Both with 95% intervals by stratified bootstrap (Agarwal et al. 2021), which are too narrow with few "
    "seeds: no claim is judged by them. Means have t intervals. A performance profile shows the share of runs that "
    "score more than a threshold."
)
UNEQUAL = (
    "Not every method has runs on the same data sets yet (see their numbers): there, means and profiles of two methods "
    "do not compare, only how often each beats the baseline does."
)


def sets_of(results: PaperResults, suite: str) -> list[str]:
    """The suite's data sets as these results call them."""
    names = [results.here(name) for name in paper_sets() if catalogue()[name].suite == suite]
    return [name for name in names if name is not None]


def samples(results: PaperResults, suite: str, algorithm: str, method: str) -> tuple[list[str], Sample]:
    """The suite's data sets that have runs, and their scores."""
    names = [name for name in sets_of(results, suite) if len(results.scores(name, algorithm, method))]
    return names, [results.scores(name, algorithm, method) for name in names]


def suite_tables(results: PaperResults) -> list[Table]:
    """One for each suite and algorithm that has runs."""
    columns = ("Method", "Mean", "Interquartile mean", "Beats the baseline", "Data sets", "Runs")
    tables = []
    for suite, algorithm in product(SUITES, results.algorithms):
        found = [line for method in LABELS for line in _line(results, suite, algorithm, method)]
        if found:
            tables.append(Table(f"{SUITES[suite]}, {ALGORITHMS[algorithm]}", columns, found, cards=True))
    return tables


def unequal(results: PaperResults) -> list[str]:
    """A warning where methods of one suite and algorithm are summed up over different data sets."""
    for suite, algorithm in product(SUITES, results.algorithms):
        found = {tuple(samples(results, suite, algorithm, method)[0]) for method in LABELS}
        if len(found - {()}) > 1:
            return [UNEQUAL]
    return []


def _line(results: PaperResults, suite: str, algorithm: str, method: str) -> list[Line]:
    """Nothing where the method has no runs."""
    names, tasks = samples(results, suite, algorithm, method)
    if not names:
        return []
    both = [name for name in names if len(results.scores(name, algorithm, "baseline"))]
    better = Cell()
    if both and method != "baseline":
        ones, others = ([results.scores(name, algorithm, each) for name in both] for each in (method, "baseline"))
        found = bootstrap(improvement, ones, others)
        low, high = (None if bound is None else float(bound) - 0.5 for bound in found[1:])
        better = Cell(told(found, ".2f"), picture=Interval(float(found.value) - 0.5, low, high, None, 0.5))
    figures = [Cell(told(found, ".1f")) for found in (mean_over(tasks).estimate, bootstrap(iqm, tasks))]
    counts = [f"{len(names)} of {len(sets_of(results, suite))}", str(sum(len(task) for task in tasks))]
    return [Line(LABELS[method], [*figures, better, *map(Cell, counts)])]


def profiles(results: PaperResults) -> dict[str, dict[str, list[Any]]]:
    """Shares of runs above thresholds for each suite and algorithm, for a chart."""
    found: dict[str, dict[str, list[Any]]] = {}
    for suite, algorithm in product(SUITES, results.algorithms):
        tasks = {method: samples(results, suite, algorithm, method)[1] for method in LABELS}
        tasks = {method: sample for method, sample in tasks.items() if sample}
        if tasks:
            found.setdefault(suite, {})[algorithm] = _profiles(tasks)
    return found


def _profiles(tasks: dict[str, Sample]) -> list[Any]:
    scores = np.concatenate([task for sample in tasks.values() for task in sample])
    above = np.ceil(10 * float(scores.max())) / 10  # not below the best run, so that every profile ends at 0
    thresholds = np.linspace(min(0.0, float(scores.min())), above, 51).round(1)
    return [
        series(
            LABELS[method],
            thresholds.tolist(),
            bootstrap(lambda own: profile(own, thresholds), sample, resamples=RESAMPLES),
            sum(len(task) for task in sample),
        )
        for method, sample in tasks.items()
    ]
