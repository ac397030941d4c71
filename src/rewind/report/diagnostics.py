"""A page for training without a simulator: policies ranked by the log alone, then how they stand to the data."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rewind.agents.settings import agent_label, has_critics
from rewind.evaluation.diagnose import COUNTS, counted_rows
from rewind.evaluation.rows import diagnostics_of, run_key
from rewind.report.curves import chart_data, mean_curve
from rewind.report.decision import decision
from rewind.report.document import Block, Cell, Chart, Document, Line, Section, Table
from rewind.report.methods import Method
from rewind.report.provenance import facts, origin
from rewind.report.runs import Results, runs_of
from rewind.report.stability import critic_known, diverged
from rewind.report.train_folder import Logged, Training
from rewind.statistics import interval
from rewind.table import number
from rewind.targets import SLACK

NO_SCORE = (
    "Nothing was played here: without a simulator there is no score, and none follows from these figures. They show "
    "where training went wrong: a critic that contradicts itself or the data, a policy far from all that was done in "
    "the data. They rank policies by return only roughly: of two methods, the one with better figures may earn less."
)
READING = (
    "Where trajectories were held out, the figures look at those alone. "
    "Mean over the runs at the end of training, with the 95% interval of that mean over seeds (Student's t; none "
    "for a single run). A run that broke counts as it last was "
    f"sound. A critic diverged if its run broke, or if its Q is outside the possible returns by more than {SLACK:.0%} "
    "of their range. Rewards are as the agent sees them: Q and TD figures compare only between runs with the same "
    "rewards and discount. A dash: the agent has no critic (BC), or no trajectory of the data ends so that its return "
    "is known."
)
CURVES = (
    "Mean over runs, with the 95% interval of that mean as a band (three runs and more). A run that gave no finite "
    "number at some step is left out of that curve."
)
DIVERGED = (
    "their Q is outside the returns that the rewards of the data allow, or is not a number, and their policies follow "
    "what cannot be. Do not use these policies untested: where we could test them, nearly all of TD3+BC's had failed, "
    "and some of IQL's. What has helped TD3+BC: a beta below 1, another priority or none, and targets within what is "
    "possible (`rewind train --bounded`). Bounds hold Q, and not always the policy: that a bounded run is not named "
    "here proves little."
)
LOGGED = "What training itself logs: means over a block of updates, on the batches that each method drew."


class Figure(NamedTuple):
    """One of `rewind.envs.Diagnostics` in plain words."""

    label: str
    good: str  # beside the label in a column's head
    what: str
    reading: str


FIGURES = {
    "td_error": Figure(
        "TD error",
        "small is good",
        "mean |r + discount × Q(s', π(s')) − Q(s, a)|: how far Q is from the reward and its own value of what the "
        "policy does next",
        "near 0: the critic agrees with itself; growing: it diverges. Agents with other targets (IQL, β below 1) need "
        "not come near 0",
    ),
    "td_bias": Figure(
        "TD bias",
        "near 0 is good",
        "the same without the bars",
        "above 0: the critic still rises; below 0: it still falls",
    ),
    "value_correlation": Figure(
        "Q with returns",
        "near 1 is good",
        "correlation of Q(s, a) with the return that followed in the data",
        "near 1: Q orders the data as its returns do; near 0 or below: it does not",
    ),
    "value_bias": Figure(
        "Q minus returns",
        "0 or a little above is good",
        "mean of Q(s, a) minus the return that followed in the data",
        "above 0: the policy is better than the data, or Q is too large; nothing here says which",
    ),
    "impossible": Figure(
        "Impossible Q",
        "0 is good",
        f"share of the rows whose Q(s, a) is outside the possible returns by more than {SLACK:.0%} of their range",
        "above 0: the critic is wrong in places, even where its mean Q looks sound; in one case that we looked into, "
        "episodes in which nothing changed any more",
    ),
    "action_distance": Figure(
        "Distance to actions",
        "no best value",
        "mean |π(s) − a|, Euclidean: how far the policy is from what was done in the data",
        "small: close to a clone of the data; large: where the data says little about Q",
    ),
}


def build(trainings: Sequence[Training]) -> Document:
    """The document for runs that were not evaluated in a simulator."""
    results = Results(runs_of(row for training in trainings for row in training.rows))
    logged: Logged = {}
    for training in trainings:
        logged |= training.metrics()
    others = dict.fromkeys(("critic_loss", "q"))  # first, where they are
    others |= dict.fromkeys(name for curves in logged.values() for name in curves if name not in (*FIGURES, *COUNTS))
    charts = {
        "diagnostics": _series(results, logged, {name: figure.label for name, figure in FIGURES.items()}),
        "training": _series(results, logged, {name: name.replace("_", " ") for name in others}),
    }
    tables = [_table(*group, results) for group in _groups(results)]
    chart = _chart("diagnostics", "Against the data:")
    diagnosed: list[Block] = [NO_SCORE, _meanings(), *tables, READING, CURVES, chart]
    sections = [
        decision(trainings, _warning(results)),
        Section("diagnostics", "Diagnostics", diagnosed),
        Section("training", "Training", [LOGGED, _chart("training", "Training:")]),
        Section("origin", "Origin", origin(results)),
    ]
    subtitle = "Training without a simulator: which policy to choose by the log alone, and what speaks against it."
    return Document("Training report", subtitle, facts(results), sections, chart_data(charts, {}))


def _warning(results: Results) -> list[Block]:
    """First of all, where critics promise what cannot be."""
    lost = [run for run in results.runs if diverged(run) and has_critics(run.algorithm)]
    if not lost:
        return []
    names = list(dict.fromkeys(f"{_name(run.dataset, run.algorithm)}: {run.method.label}" for run in lost))
    return [f"{len(lost)} of {len(results.runs)} critics diverged ({', '.join(names)}): {DIVERGED}"]


def _chart(name: str, title: str) -> Chart:
    return Chart(name, title, "Figure", "updates", second="Data and agent", digits=None)


def _groups(results: Results) -> list[tuple[str, str]]:
    """Data set and algorithm of what is compared."""
    return list(dict.fromkeys((run.dataset, run.algorithm) for run in results.runs))


def _name(dataset: str, algorithm: str) -> str:
    return f"{dataset}, {agent_label(algorithm)}"


def _meanings() -> Table:
    lines = [
        Line(figure.label, [Cell(figure.what), Cell(figure.good), Cell(figure.reading)]) for figure in FIGURES.values()
    ]
    return Table("What the figures mean", ("Figure", "What it is", "Direction", "How to read it"), lines, cards=True)


def _table(dataset: str, algorithm: str, results: Results) -> Table:
    def line(method: Method) -> Line:
        runs = results.of(dataset, algorithm, method)
        ends = [diagnostics_of(run.row) for run in runs]
        figures = [_told([end.get(name) for end in ends]) for name in FIGURES]
        lost = sum(map(diverged, runs)) if any(map(critic_known, runs)) else "–"
        counts = (len(runs), sum(not run.alive for run in runs), lost)
        return Line(method.label, [*figures, *(Cell(str(count)) for count in counts)])

    methods = results.methods(dataset, algorithm)
    first = diagnostics_of(results.of(dataset, algorithm, methods[0])[0].row)
    columns = [
        "Method",
        *(f"{figure.label} ({figure.good})" for figure in FIGURES.values()),
        "Runs",
        "Failed",
        "Diverged",
    ]
    note = counted_rows(first)
    return Table(_name(dataset, algorithm), columns, [line(method) for method in methods], note, cards=True)


def _told(values: Sequence[float | None]) -> Cell:
    """The mean and its interval, of the runs that gave a number."""
    finite = [value for value in values if value is not None and np.isfinite(value)]
    if not finite:
        return Cell("–")
    bounds = interval(finite)
    between = "" if bounds is None else f"[{', '.join(map(number, bounds))}]"
    return Cell(number(float(np.mean(finite))), between)


def _series(results: Results, logged: Logged, figures: dict[str, str]) -> dict[str, Any]:
    """{figure's label: {data and agent: [series]}}, of what was logged."""
    charts: dict[str, dict[str, list[Any]]] = {}
    for name, label in figures.items():
        for group in _groups(results):
            for method in results.methods(*group):
                curves = [logged[run_key(run.row)].get(name) for run in results.of(*group, method)]
                logged_curves = [steps_and_values for steps_and_values in curves if steps_and_values is not None]
                if logged_curves and (drawn := mean_curve(method.label, logged_curves)) is not None:
                    charts.setdefault(label, {}).setdefault(_name(*group), []).append(drawn)
    return charts
