"""Runs that were good and did not stay so: a score at the end says nothing of what was there before."""

from collections.abc import Callable, Sequence

import numpy as np

from rewind.agents.settings import agent_label
from rewind.report.document import Block, Cell, Line, Table
from rewind.report.methods import short
from rewind.report.runs import FinishedRun, Results
from rewind.targets import SLACK

NEIGHBOURS = 3  # evaluations whose mean counts: one alone may be luck
GOOD = 20.0  # points: less is not much to lose
KEPT = 0.5  # of its best, what a run must end with

RULE = (
    f"A run collapsed if its score at the end is less than {KEPT:.0%} of its best on the way (the mean of {NEIGHBOURS} "
    f"evaluations in a row), where that was at least {GOOD:.0f} points, or if it failed: its numbers stopped being "
    "finite, or its Q left ±1e9. Only data sets on which a run collapsed are shown; a dash: none of the runs did."
)
CRITICS = (
    "A critic diverged if its run failed, or if its Q at the end (the mean over the batches it learned from) is "
    f"outside the possible returns by more than {SLACK:.0%} of their range. Runs of which that was "
    "not recorded are left out."
)


def best(run: FinishedRun) -> float:
    """On the way; minus infinity where there are too few evaluations, or none that is a number."""
    before = run.curve[1][:-1]
    if len(before) < NEIGHBOURS:
        return -np.inf
    return float(np.nanmax(np.convolve(before, np.full(NEIGHBOURS, 1 / NEIGHBOURS), "valid"), initial=-np.inf))


def collapsed(run: FinishedRun) -> bool:
    """Whether a run lost most of what it had learned, or broke before it had learned much."""
    height = best(run)
    return not run.alive or (height >= GOOD and not run.score >= KEPT * height)  # NaN is lost too


def stability(results: Results) -> list[Block]:
    """The rules, and tables for each algorithm of which runs collapsed or critics diverged."""
    none: list[Block] = [] if any(map(collapsed, results.runs)) else ["No run collapsed."]
    return [RULE, *none, *(table for algorithm in results.algorithms for table in _tables(results, algorithm))]


def _tables(results: Results, algorithm: str) -> list[Table]:
    trained, name = [run for run in results.runs if run.algorithm == algorithm], agent_label(algorithm)
    tables = (
        [_counts(f"Runs that collapsed, {name}", results, trained, collapsed)] if any(map(collapsed, trained)) else []
    )
    measured = [run for run in trained if critic_known(run)]
    critics = [line for dataset in results.datasets if (line := _critics(dataset, measured)) is not None]
    if critics:
        below = f"of them below {GOOD:.0f} points"
        columns = ["Data set", "Runs", "Diverged", below, "Others", below, "Q of the others: median, lowest to highest"]
        tables.append(_counts(f"Critics that diverged, {name}", results, measured, diverged))
        tables.append(Table(f"What that did to scores, {name}", columns, critics, CRITICS))
    return tables


def _counts(title: str, results: Results, runs: Sequence[FinishedRun], counted: Callable[[FinishedRun], bool]) -> Table:
    """By method, on the data sets where there is something to count."""
    datasets = [name for name in results.datasets if any(run.dataset == name and counted(run) for run in runs)]
    among = {id(run) for run in runs}
    lines = []
    algorithm = runs[0].algorithm
    for label, name in results.columns(algorithm, datasets).items():
        by_dataset = [[run for run in results.of(dataset, algorithm, name) if id(run) in among] for dataset in datasets]
        if any(by_dataset):
            lines.append(Line(label, [_count(group, counted) for group in by_dataset]))
    return Table(title, ["Method", *map(short, datasets)], lines)


def critic_known(run: FinishedRun) -> bool:
    """Whether it can be said that its critic diverged, or that it did not."""
    return not run.alive or run.row.get("q_excess") is not None


def diverged(run: FinishedRun) -> bool:
    """Whether its Q is outside the possible returns, as far as that is known."""
    beyond: float | None = run.row.get("q_excess")
    return not run.alive or (beyond is not None and beyond > SLACK)


def _critics(dataset: str, runs: Sequence[FinishedRun]) -> Line | None:
    """How many diverged on a data set, and what that did to scores; nothing where none did."""
    of_dataset = [run for run in runs if run.dataset == dataset]
    lost, others = [run for run in of_dataset if diverged(run)], [run for run in of_dataset if not diverged(run)]
    if not lost:
        return None
    counts = [len(of_dataset), len(lost), _poor(lost), len(others), _poor(others)]
    return Line(short(dataset), [*(Cell(str(count)) for count in counts), _q(others)])


def _poor(runs: Sequence[FinishedRun]) -> int:
    return sum(not run.score >= GOOD for run in runs)


def _count(runs: Sequence[FinishedRun], counted: Callable[[FinishedRun], bool]) -> Cell:
    if not runs:
        return Cell(kind="missing")
    number = sum(map(counted, runs))
    return Cell(f"{number} of {len(runs)}" if number else "–", strong=2 * number >= len(runs))


def _q(runs: Sequence[FinishedRun]) -> Cell:
    if not runs:
        return Cell(kind="missing")
    values = np.array([run.row["q"] for run in runs])
    return Cell(f"{np.median(values):,.0f} ({values.min():,.0f} to {values.max():,.0f})")
