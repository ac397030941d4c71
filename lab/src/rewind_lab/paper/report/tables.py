"""The paper's tables with our numbers: 1, 2, 3 and the appendix's, by data set or as totals of suites."""

import numpy as np

from rewind.data.catalogue import catalogue
from rewind.report.document import Block, Cell, Fold, Line, Table
from rewind.report.methods import ALGORITHMS, LABELS, short
from rewind.statistics import welch
from rewind_lab.paper.published import SUITES, Printed, in_print, published, slips
from rewind_lab.paper.report.comparisons import NEAR, agreement, compared, errors, without_slip
from rewind_lab.paper.report.results import PaperResults

RULE = (
    "Each cell: our mean and standard deviation, with the number of runs, then the paper's. “=” agrees: the means "
    f"differ by at most {NEAR:g} points. “≈” they differ by more, but the 95% interval of the difference holds 0 (by "
    "Student's t, the paper's error from its deviation over 3 runs; a single run of ours adds none): such runs cannot "
    "tell them apart. “▲” ours is higher, “▼” ours is lower, “·” there are no runs yet. A total is over the data sets "
    f"that have runs, and the paper's over the same ones, as its rows add up; it agrees within {NEAR:g} points times "
    "the root of their number."
)
TITLES = {
    "table_1": "Table 1: Trajectory Replay on three algorithms",
    "table_1_full": "Table 1 by data set",
    "table_2": "Table 2: SARSA and weighted targets on TD3+BC",
    "table_3": "Table 3: priorities by suite",
    "td3_bc": "Twelve priorities on TD3+BC (appendix)",
    "iql": "Twelve priorities on IQL (appendix)",
}
OF_TOTALS = {"table_1": ("table_1_full",), "table_3": ("td3_bc", "iql")}  # where the rows behind the totals are


def paper_tables(results: PaperResults) -> list[Block]:
    """All of them; the long ones by data set, and those that lack most of their runs, behind a line."""
    long = [TITLES[name] for name in ("table_1_full", "td3_bc", "iql")]
    tables = [paper_table(name, results) for name in TITLES]
    shown = (Fold(each.caption, [each]) if each.caption in long or _lacking(each) else each for each in tables)
    return [RULE, *shown]


def _lacking(table: Table) -> bool:
    """Whether most of its cells wait for runs."""
    kinds = [cell.kind for line in table.lines for cell in line.cells]
    return 2 * kinds.count("missing") > len(kinds)


def paper_table(name: str, results: PaperResults) -> Table:
    """One table, ours beside the paper's."""
    if name == "table_3":
        return _table_3(results)
    columns = _columns(name)
    lines = []
    for suite in SUITES:
        if name not in OF_TOTALS:
            rows = [row for row in published(name) if _suite(row) == suite]
            lines += [Line(short(row), [_cell(name, row, column, results) for column in columns]) for row in rows]
        lines.append(Line(f"{SUITES[suite]}, total", [_total(name, suite, c, results) for c in columns], total=True))
    return Table(TITLES[name], ["Data set", *(_heading(column) for column in columns)], lines, _slips(name))


def _table_3(results: PaperResults) -> Table:
    """As the paper prints it: agents and suites down, samplers across."""
    columns = _columns("table_3")
    samplers = list(dict.fromkeys(column.split(" ")[1] for column in columns))
    lines = [
        Line(
            f"{ALGORITHMS[algorithm]}, {SUITES[suite]}",
            [_total("table_3", suite, f"{algorithm} {sampler}", results) for sampler in samplers],
        )
        for algorithm in dict.fromkeys(column.split(" ")[0] for column in columns)
        for suite in SUITES
    ]
    return Table(TITLES["table_3"], ["Total", *(LABELS[name] for name in samplers)], lines, _slips("table_3"))


def _columns(name: str) -> list[str]:
    return list(next(iter(published(name).values())))


def _suite(row: str) -> str | None:
    return None if row in SUITES else catalogue()[row].suite


def _heading(column: str) -> str:
    algorithm, method = column.split(" ")
    if method == "original":
        return f"{ALGORITHMS[algorithm]} (its paper)"
    return ALGORITHMS[algorithm] if method == "baseline" else f"{ALGORITHMS[algorithm]} ({LABELS[method]})"


def _cell(name: str, row: str, column: str, results: PaperResults) -> Cell:
    number = published(name)[row][column]
    theirs = None if number is None else without_slip(name, row, number)
    beside = "–" if theirs is None else str(theirs)
    algorithm, method = column.split(" ")
    if method == "original":  # from the algorithm's own paper, to compare with
        return Cell(beside=beside)
    scores = results.scores(results.here(row), algorithm, method)
    if not len(scores):
        return Cell(beside=beside, kind="missing")
    kind = "" if theirs is None else agreement(scores, theirs)
    return Cell(f"{in_print(scores)} ({len(scores)})", beside, kind)


def _total(name: str, suite: str, column: str, results: PaperResults) -> Cell:
    """Of the data sets that have runs, in both; the paper's whole total where there are none."""
    algorithm, method = column.split(" ")
    rows = _rows_behind(name, suite, column)
    scores = {row: results.scores(results.here(row), algorithm, method) for row in rows}
    used = [row for row in rows if len(scores[row])]
    if not used or method == "original":
        theirs = sum(number.mean for number in rows.values()) if rows else None
        return Cell(beside="–" if theirs is None else f"{theirs:.1f}", kind="" if method == "original" else "missing")
    ours, theirs = sum(float(scores[row].mean()) for row in used), sum(rows[row].mean for row in used)
    parts = [part for row in used for part in errors(scores[row], rows[row])]
    kind = compared(welch(ours - theirs, parts), NEAR * np.sqrt(len(used)))
    part = "" if len(used) == len(rows) else f" ({len(used)} of {len(rows)} sets)"
    return Cell(f"{ours:.1f}{part}", f"{theirs:.1f}", kind)


def _rows_behind(name: str, suite: str, column: str) -> dict[str, Printed]:
    """The paper's numbers whose sum a total is."""
    for table in OF_TOTALS.get(name, (name,)):
        numbers = {row: cells.get(column) for row, cells in published(table).items() if _suite(row) == suite}
        found = {row: without_slip(table, row, number) for row, number in numbers.items() if number is not None}
        if found:
            return found
    return {}


def _slips(name: str) -> str:
    """What the paper's table gets wrong, said below it."""
    found = [slip for slip in slips() if slip["table"] in (name, *OF_TOTALS.get(name, ()))]
    told = [f"{_where(slip)}: {slip['what']}." for slip in found]
    return f"Slips of the paper. {' '.join(told)}" if told else ""


def _where(slip: dict[str, list[str]]) -> str:
    columns = "All columns" if slip["columns"] == ["*"] else ", ".join(_heading(column) for column in slip["columns"])
    rows = "Adroit’s sets" if len(slip["rows"]) > 3 else ", ".join(SUITES.get(row, row) for row in slip["rows"])
    return f"{columns}, {rows}"
