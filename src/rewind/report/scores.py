"""Scores: a table for each data set and agent, a line for each method."""

from collections.abc import Sequence

import numpy as np

from rewind.agents.settings import agent_label
from rewind.report.document import Cell, Line, Table
from rewind.report.methods import Method
from rewind.report.runs import FinishedRun, scores_of
from rewind.statistics import deviation, improvement, interval

NOTE = (
    "Score: mean of five evaluations at a run's end, 1000 steps apart (fewer where it was shorter), then of the runs, "
    "with their standard deviation and the 95% interval of the mean (Student's t). Best: of the best evaluation, which "
    "nobody without a simulator could have chosen. Beats the baseline: how often a run scores more than one of the "
    "baseline, from 0 to 1; 0.5 is as often as not."
)


def score_tables(runs: Sequence[FinishedRun]) -> list[Table]:
    grouped: dict[tuple[str, str], dict[str, list[FinishedRun]]] = {}
    for run in runs:
        grouped.setdefault((run.dataset, run.algorithm), {}).setdefault(run.method.label, []).append(run)
    columns = ("Method", "Score", "Interval", "Best", "Beats the baseline", "Runs", "Failed")
    return [
        Table(f"{dataset}, {agent_label(algorithm)}", columns, _lines(variants), NOTE)
        for (dataset, algorithm), variants in grouped.items()
    ]


def _lines(variants: dict[str, list[FinishedRun]]) -> list[Line]:
    usual = Method("baseline").label
    baseline = scores_of(variants.get(usual, []))
    lines = []
    for label, runs in variants.items():
        scores = scores_of(runs)
        bounds, spread = interval(scores), deviation(scores)
        best = [run.evaluations.best for run in runs if np.isfinite(run.evaluations.best)]
        compared = len(scores) and len(baseline) and label != usual
        cells = [
            f"{scores.mean():.1f}" + ("" if spread is None else f" ± {spread:.1f}") if len(scores) else "",
            "" if bounds is None else "[{:.1f}, {:.1f}]".format(*bounds),
            f"{np.mean(best):.1f}" if best else "",
            f"{improvement([scores], [baseline]):.2f}" if compared else "",
            str(len(runs)),
            str(sum(not run.alive for run in runs)),
        ]
        lines.append(Line(label, [Cell(text) for text in cells]))
    return lines
