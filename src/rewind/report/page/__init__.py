"""A document as one HTML page that needs nothing else: style, script and figures are inside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources

from rewind.report.document import KINDS, Block, Cell, Chart, Document, Fold, Line, Section, Table
from rewind.report.markup import Html, element, embedded_json, escaped, joined
from rewind.report.page.pictures import bars, interval


def render(document: Document) -> str:
    """The page's text."""
    parts = {
        "title": escaped(document.title),
        "subtitle": escaped(document.subtitle),
        "facts": joined(*(element("div", element("dt", what), element("dd", much)) for what, much in document.facts)),
        "navigation": element("ul", *(_link(section) for section in document.sections)),
        "sections": joined(*(_section(section) for section in document.sections)),
        "data": embedded_json(document.data),
        "style": "".join(_file(name) for name in ("report.css", "tables.css", "charts.css")),
        "script": "".join(_file(name) for name in ("chart.js", "report.js")),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _file("report.html"))


def _file(name: str) -> str:
    return (resources.files("rewind.report.page") / name).read_text(encoding="utf-8")


def _link(section: Section) -> Html:
    return element("li", element("a", section.title, href=f"#{section.name}"))


def _section(section: Section) -> Html:
    title = element("h2", section.title, id=f"{section.name}-title")
    blocks = [_block(block) for block in section.blocks]
    return element("section", title, *blocks, id=section.name, aria_labelledby=f"{section.name}-title")


def _block(block: Block) -> Html:
    if isinstance(block, str):
        return element("p", *_text(block))
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Chart):
        return _chart(block)
    if isinstance(block, Fold):
        inner = [_block(each) for each in block.blocks]
        return element("details", element("summary", block.title), *inner, open=block.open)
    return element("div", *(bars(panel) for panel in block), class_="panels")


def _text(text: str) -> list[str]:
    """What stands between backticks is code."""
    return [element("code", part) if place % 2 else part for place, part in enumerate(text.split("`"))]


def _table(table: Table) -> Html:
    head = element("tr", *(element("th", name, scope="col") for name in table.columns))
    rows = [_row(line, table.columns[1:]) for line in table.lines]
    shown = element(
        "table",
        element("caption", table.caption),
        element("thead", head),
        element("tbody", *rows),
        class_="cards" if table.cards else "wide" if len(table.columns) > 9 else None,
    )
    # A box that scrolls must be reachable by keyboard, and then needs a name.
    box = element("div", shown, class_="scroll", tabindex=0, role="region", aria_label=table.caption)
    return joined(box, element("p", table.note, class_="note") if table.note else None)


def _row(line: Line, columns: Sequence[str]) -> Html:
    cells = [_cell(cell, name) for cell, name in zip(line.cells, columns, strict=True)]
    return element("tr", element("th", line.head, scope="row"), *cells, class_="total" if line.total else None)


def _cell(cell: Cell, column: str) -> Html:
    """Ours, a sign for how it compares, the paper's below."""
    ours = element("span", cell.text, class_="ours") if cell.text else None
    sign = None
    if cell.kind:
        mark, word = KINDS[cell.kind]
        word_seen = element("span", f" {word}") if cell.strong else None
        sign = joined(element("span", mark, class_="sign", role="img", aria_label=word, title=word), word_seen)
    theirs = element("span", cell.beside, class_="paper") if cell.beside else None
    picture = interval(cell.picture) if cell.picture is not None else None
    kinds = " ".join(filter(None, (cell.kind, "strong" if cell.strong else "")))
    inner = element("div", ours, sign, theirs, picture)
    return element("td", inner, class_=kinds or None, data_label=column)


def _chart(chart: Chart) -> Html:
    """The frame that the script fills."""

    def selector(role: str, name: str) -> Html:
        return element("label", name, element("select", data_role=role))

    return element(
        "div",
        element("div", selector("first", chart.first), selector("agent", chart.second), class_="controls"),
        element(
            "fieldset",
            element("legend", "Methods"),
            element("div", data_role="presets", class_="presets"),
            element("div", data_role="methods", class_="methods"),
        ),
        element("h3", chart.title, " ", element("span", data_role="title")),
        element("div", data_role="chart", class_="chart"),
        element("output", data_role="readout", class_="readout"),
        element("ul", data_role="legend", class_="legend"),
        element(
            "details",
            element("summary", "The numbers"),
            element("div", element("table", data_role="numbers"), class_="scroll", tabindex=0, role="region",
                    aria_label=f"{chart.title}, numbers"),
        ),
        element("noscript", element("p", "This chart is drawn by a script, which your browser does not run.")),
        class_="panel", data_name=chart.name, data_x=chart.x, data_y=chart.y,
        data_digits=chart.digits,
    )  # fmt: skip
