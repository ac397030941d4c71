"""What the charts of a page are drawn from: curves with intervals, and the choices among their methods."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.report.methods import FAMILIES, LABELS
from rewind.report.runs import Results
from rewind.statistics import LEVEL, Estimate, t_quantile

RESAMPLES = 2000  # for charts: hundreds of intervals, of which nobody reads the last digit
LEAST = 3  # runs of a band

Charts = Mapping[str, Mapping[str, Mapping[str, list[Any]]]]  # name of a chart -> first selector -> second -> series


def score_curves(results: Results) -> dict[str, dict[str, list[Any]]]:
    """Scores against steps for each data set and algorithm, a series for each method."""
    charts: dict[str, dict[str, list[Any]]] = {}
    for dataset, algorithm in product(results.datasets, results.algorithms):
        for label, method in results.labelled(dataset, algorithm).items():
            line = mean_curve(label, [run.curve for run in results.of(dataset, algorithm, method)])
            if line is not None:
                charts.setdefault(dataset, {}).setdefault(algorithm, []).append(line)
    return charts


def mean_curve(label: str, curves: Sequence[tuple[Array, Array]]) -> dict[str, Any] | None:
    """Mean over the runs at the steps that all of them were evaluated at, and its interval; of broken runs, nothing.

    curves: for each run its steps and its values there
    """
    shared = sorted(set.intersection(*(set(steps.tolist()) for steps, _ in curves)))
    values = np.array([scores[np.isin(steps, shared)] for steps, scores in curves])  # (runs, steps)
    values = values[np.isfinite(values).all(axis=1)]
    if not values.size:
        return None
    return series(label, shared, _band(values), len(values))


def _band(values: Array) -> Estimate:
    """The mean over runs and its t interval at each step; of two runs the interval would hide the curves."""
    runs, middle = len(values), values.mean(axis=0)
    if runs < LEAST:
        return Estimate(middle)
    reach = t_quantile(LEVEL, runs - 1) * values.std(axis=0, ddof=1) / np.sqrt(runs)
    return Estimate(middle, middle - reach, middle + reach)


def series(label: str, x: Sequence[float], estimate: Estimate, runs: int) -> dict[str, Any]:
    nothing = [None] * len(x)
    low, high = (nothing if bound is None else _plain(bound) for bound in estimate[1:])
    return {"label": label, "x": list(x), "y": _plain(estimate.value), "low": low, "high": high, "runs": runs}


def _plain(values: Any) -> list[float | None]:
    """JSON has no NaN; five digits are more than anyone can see."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values]


def chart_data(charts: Charts, names: Mapping[str, str], *, every_label: bool = False) -> dict[str, Any]:
    """`Document.data`: the charts, what selectors show for what they choose, methods in order and choices among them.

    every_label: known methods have their place, and so their look, whether they are drawn or not
    """
    labels = {line["label"] for chart in charts.values() for agents in chart.values()
              for lines in agents.values() for line in lines}  # fmt: skip
    usual = [label for label in LABELS.values() if label in labels]
    first, presets = (list(LABELS.values()) if every_label else usual), _presets(labels)
    if not every_label:
        presets.sort(key=lambda preset: preset["name"] != "All")
    methods = [*first, *sorted(labels.difference(usual))]
    return {**charts, "names": dict(names), "methods": methods, "presets": presets}


def _presets(labels: set[str]) -> list[dict[str, Any]]:
    """Choices of methods by one button; those that add nothing are left out."""
    named = {name: [LABELS[method] for method in ("baseline", "tr", *methods)] for name, methods in FAMILIES.items()}
    named["Betas"] = [LABELS["tr"], LABELS["sarsa"], *sorted(label for label in labels if ", β" in label)]
    presets = [{"name": name, "methods": methods} for name, methods in named.items() if len(labels & {*methods}) > 2]
    every = [{"name": "All", "methods": sorted(labels)}, {"name": "None", "methods": []}]
    return [*presets, *every]
