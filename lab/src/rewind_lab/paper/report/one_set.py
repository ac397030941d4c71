"""What a single data set makes of a mean difference: a gain that one set makes is no gain in general."""

from collections.abc import Mapping, Sequence

from rewind.arrays import Array
from rewind.report.document import Block, Cell, Fold, Line, Table
from rewind.report.methods import ALGORITHMS, short
from rewind.statistics import mean_difference
from rewind_lab.paper.report.claims import points
from rewind_lab.paper.report.comparisons import LEAST_RUNS, LEAST_SETS, Column
from rewind_lab.paper.report.gains import compared_methods
from rewind_lab.paper.report.methods import SUITES
from rewind_lab.paper.report.results import PaperResults
from rewind_lab.paper.report.summary import sets_of

RULE = (
    "A mean over few data sets may be the work of one. Here each is taken again with one data set left out: the one "
    "that leaves the least, and the one that leaves the most. Both are chosen by their result, so that chance alone "
    "makes the lowest too low and the highest too high."
)
COLUMNS = ["Difference", "Data sets", "All", "Lowest without one", "left out", "Highest without one", "left out"]

Scores = Mapping[str, Array]  # by data set


def one_set(results: PaperResults) -> list[Block]:
    """Methods over the baseline, for each algorithm and suite with enough data sets."""
    found = [_table(results, algorithm, suite) for algorithm in results.algorithms for suite in SUITES]
    tables = [table for table in found if table is not None]
    return [Fold("What one data set makes of it", [RULE, *tables])] if tables else []


def _table(results: PaperResults, algorithm: str, suite: str) -> Table | None:
    sets = sets_of(results, suite)
    baseline = enough(results, algorithm, "baseline", sets)
    lines = [
        without_one(label, enough(results, algorithm, method, sets), baseline)
        for label, method in compared_methods().items()
    ]
    shown = [line for line in lines if line is not None]
    title = f"Over the baseline without one data set, {SUITES[suite]}, {ALGORITHMS[algorithm]}"
    return Table(title, COLUMNS, shown) if shown else None


def enough(results: PaperResults, algorithm: str, method: Column, sets: Sequence[str]) -> Scores:
    """A method's scores on the data sets where it has enough runs."""
    found = {name: results.scores(name, algorithm, method) for name in sets}
    return {name: scores for name, scores in found.items() if len(scores) >= LEAST_RUNS}


def without_one(label: str, ones: Scores, others: Scores) -> Line | None:
    """A mean difference, and the lowest and the highest that leaving one of its data sets out makes of it."""
    apart = {name: ones[name].mean() - others[name].mean() for name in ones if name in others}
    if len(apart) < LEAST_SETS:
        return None
    cells = [Cell(str(len(apart))), Cell(_mean_difference(ones, others, list(apart)))]
    for left in (max(apart, key=lambda name: apart[name]), min(apart, key=lambda name: apart[name])):
        rest = [name for name in apart if name != left]
        cells += [Cell(_mean_difference(ones, others, rest)), Cell(short(left))]
    return Line(label, cells)


def _mean_difference(ones: Scores, others: Scores, sets: Sequence[str]) -> str:
    return points(mean_difference([ones[name] for name in sets], [others[name] for name in sets]).estimate)
