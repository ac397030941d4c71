"""Figure 3: the difference to the baseline for each priority; table 4: which priority for which data."""

from collections.abc import Sequence

from rewind.data.catalogue import catalogue
from rewind.report.document import Bar, Bars, Cell, Line, Table
from rewind.report.methods import LABELS, short
from rewind.statistics import Estimate
from rewind_lab.paper.definitions import load_definitions
from rewind_lab.paper.report.comparisons import Contrast, Question, direction, effect, points, signed
from rewind_lab.paper.report.results import PaperResults, paper_sets

MARKS = {"yes": "✔", "no": "✖", "-": "–"}


def figure_3(results: PaperResults, algorithm: str = "td3_bc") -> list[Bars]:
    """A panel for each sampler of the figure, a bar for each data set; clipped as in the paper."""
    table = load_definitions().tables["figure_3"]
    clip = float(table.more["clip"])
    samplers = [name for part in table.parts for name in part.samplers if name != "baseline"]
    names = [name for name in paper_sets() if results.here(name) is not None]
    return [
        Bars(LABELS[sampler], [_bar(results, algorithm, sampler, name) for name in names], clip) for sampler in samplers
    ]


def _bar(results: PaperResults, algorithm: str, sampler: str, name: str) -> Bar:
    found = Question(algorithm, [sampler], ["baseline"], [name], least=1, limits=False).ask(results)
    theirs = None if found.paper is None else found.paper.value
    return Bar(short(name), *(found.ours or Estimate(None)), theirs, direction(found.ours, found.paper))


def differences_table(panels: Sequence[Bars]) -> Table:
    """The figure's numbers: ours with its interval, the paper's, and whether they go the same way."""
    lines = [
        Line(bars[0].name, [_difference(bar) for bar in bars])
        for bars in zip(*(panel.rows for panel in panels), strict=True)
    ]
    return Table("Differences to the baseline, in points", ["Data set", *(panel.title for panel in panels)], lines)


def _difference(bar: Bar) -> Cell:
    ours = "" if bar.ours is None else points(Estimate(bar.ours, bar.low, bar.high))
    return Cell(ours, "–" if bar.paper is None else signed(bar.paper), bar.kind)


def table_4(results: PaperResults) -> tuple[str, Table]:
    """The rule of the definition, and what it gives: ours, and what the paper prints."""
    definition = load_definitions().tables["4"]
    rows, columns = definition.more["rows"], definition.more["columns"]
    lines = []
    for row in rows:
        names = [name for name in paper_sets() if {name, catalogue()[name].suite} & {*row["datasets"]}]
        asked = [Question("td3_bc", column["samplers"], ["baseline"], names).ask(results) for column in columns]
        lines.append(Line(row["name"], list(map(_mark, asked, row["paper"]))))
    title = "Table 4: which priority for which data"
    rule = " ".join(definition.more["rule"].split())
    for word, mark in MARKS.items():
        rule = rule.replace(f" {word} where", f" {mark} where")
    samplers = "; ".join(f"{each['name']}: {', '.join(LABELS[name] for name in each['samplers'])}" for each in columns)
    return f"{rule} Here {samplers}", Table(title, ["Data", *(column["name"] for column in columns)], lines)


def _mark(contrast: Contrast, printed: str) -> Cell:
    sets = f", {len(contrast.used)} of {len(contrast.wanted)} sets" if contrast.used else ""
    return Cell(f"{points(contrast.ours)}{sets}", f"paper: {MARKS[printed]}", effect(contrast))
