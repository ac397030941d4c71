"""Over whole suites: means, interquartile means, probability of improvement; profiles and curves for the charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rewind.data.catalogue import catalogue
from rewind.report.document import Cell, Interval, Line, Table
from rewind.statistics import Estimate, Sample, bootstrap, improvement, iqm, mean, profile
from rewind_lab.paper.report.methods import ALGORITHMS, LABELS, SUITES, method_of, paper_sets, short
from rewind_lab.paper.report.runs import Array, Results

RULE = (
    "Interquartile mean: of the middle half of all runs, each data set weighing the same. Probability of improvement: "
    "that a run beats one of the baseline on the same data set, ties counting half, mean over data sets. Both with 95% "
    "intervals by stratified bootstrap (Agarwal et al. 2021): they say how the figures would vary with other seeds, "
    "and with three seeds they are too narrow rather than too wide. A performance profile shows the share of runs that "
    "score more than a threshold."
)
UNEQUAL = (
    "Not every method has runs on the same data sets yet (see their numbers): there, means and profiles of two methods "
    "do not compare, only how often each beats the baseline does."
)
RESAMPLES = 2000  # for charts: hundreds of intervals, of which nobody reads the last digit


def sets_of(results: Results, suite: str) -> list[str]:
    """The suite's data sets as these results call them."""
    names = [results.here(name) for name in paper_sets() if catalogue()[name].suite == suite]
    return [name for name in names if name is not None]


def samples(results: Results, suite: str, algorithm: str, method: str) -> tuple[list[str], Sample]:
    """The suite's data sets that have runs, and their scores."""
    names = [name for name in sets_of(results, suite) if len(results.scores(name, algorithm, method))]
    return names, [results.scores(name, algorithm, method) for name in names]


def suite_tables(results: Results) -> list[Table]:
    """One for each suite and algorithm that has runs."""
    tables = []
    for suite in SUITES:
        for algorithm in results.algorithms:
            lines = [_line(results, suite, algorithm, method) for method in LABELS]
            found = [line for line in lines if line is not None]
            if found:
                columns = ("Method", "Mean", "Interquartile mean", "Beats the baseline", "Data sets", "Runs")
                tables.append(Table(f"{SUITES[suite]}, {ALGORITHMS[algorithm]}", columns, found, cards=True))
    return tables


def unequal(results: Results) -> list[str]:
    """A warning where methods of one suite and algorithm are summed up over different data sets."""
    for suite in SUITES:
        for algorithm in results.algorithms:
            found = {tuple(samples(results, suite, algorithm, method)[0]) for method in LABELS}
            if len(found - {()}) > 1:
                return [UNEQUAL]
    return []


def _line(results: Results, suite: str, algorithm: str, method: str) -> Line | None:
    names, tasks = samples(results, suite, algorithm, method)
    if not names:
        return None
    both = [name for name in names if len(results.scores(name, algorithm, "baseline"))]
    better = Cell()
    if both and method != "baseline":
        ones, others = ([results.scores(name, algorithm, each) for name in both] for each in (method, "baseline"))
        found = bootstrap(improvement, ones, others)
        better = Cell(told(found, ".2f"), picture=_around_half(found))
    figures = [Cell(told(bootstrap(statistic, tasks), ".1f")) for statistic in (mean, iqm)]
    counts = [f"{len(names)} of {len(sets_of(results, suite))}", str(sum(len(task) for task in tasks))]
    return Line(LABELS[method], [*figures, better, *map(Cell, counts)])


def told(estimate: Estimate, form: str) -> str:
    """A figure and its interval."""
    if estimate.low is None:
        return f"{estimate.value:{form}}"
    return f"{estimate.value:{form}} [{estimate.low:{form}}, {estimate.high:{form}}]"


def _around_half(estimate: Estimate) -> Interval:
    low, high = (None if bound is None else float(bound) - 0.5 for bound in estimate[1:])
    return Interval(float(estimate.value) - 0.5, low, high, None, 0.5)


# For the charts: {first selector: {algorithm: [series]}}


def curves(results: Results) -> dict[str, Any]:
    """Scores against steps for each data set and algorithm, a series for each method."""
    found: dict[str, dict[str, list[Any]]] = {}
    for dataset in results.datasets:
        for algorithm in results.algorithms:
            methods = {method.label: method for method in results.methods(dataset, algorithm)}
            weighted = method_of("weighted", dataset)
            if weighted is not None and len(results.scores(dataset, algorithm, "weighted")):
                methods[LABELS["weighted"]] = weighted  # the same runs by the paper's name
            series = [
                curve(label, [run.curve for run in results.of(dataset, algorithm, method)])
                for label, method in methods.items()
            ]
            drawn = [one for one in series if one is not None]
            if drawn:
                found.setdefault(dataset, {})[algorithm] = drawn
    return found


def curve(label: str, curves: Sequence[tuple[Array, Array]]) -> dict[str, Any] | None:
    """Mean over the runs at the steps that all of them were evaluated at, and its interval; of broken runs, nothing.

    curves: for each run its steps and its values there
    """
    steps = sorted(set.intersection(*(set(own.tolist()) for own, _ in curves)))
    values = np.array([scores[np.isin(own, steps)] for own, scores in curves])  # (runs, steps)
    values = values[np.isfinite(values).all(axis=1)]
    if not values.size:
        return None
    found = bootstrap(lambda sample: sample[0].mean(axis=-2), [values], resamples=RESAMPLES)
    return _series(label, steps, found, len(values))


def profiles(results: Results) -> dict[str, Any]:
    """Shares of runs above thresholds for each suite and algorithm."""
    found: dict[str, dict[str, list[Any]]] = {}
    for suite in SUITES:
        for algorithm in results.algorithms:
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
        _series(
            LABELS[method],
            thresholds.tolist(),
            bootstrap(lambda own: profile(own, thresholds), sample, resamples=RESAMPLES),
            sum(len(task) for task in sample),
        )
        for method, sample in tasks.items()
    ]


def _series(label: str, x: Sequence[float], estimate: Estimate, runs: int) -> dict[str, Any]:
    nothing = [None] * len(x)
    low, high = (nothing if bound is None else _plain(bound) for bound in estimate[1:])
    return {"label": label, "x": list(x), "y": _plain(estimate.value), "low": low, "high": high, "runs": runs}


def _plain(values: Any) -> list[float | None]:
    """JSON has no NaN; five digits are more than anyone can see."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values]


def names_of(results: Results) -> dict[str, str]:
    """What the selectors show for what they choose."""
    return {**{name: short(name) for name in results.datasets}, **ALGORITHMS, **SUITES}
