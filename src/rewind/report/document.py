"""A report as data: sections of text, tables and charts, which `page` writes as HTML and `markdown` as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# What a cell says of its number: the sign it is read by without colours, and the word for it.
KINDS = {
    "agrees": ("=", "agrees with the paper"),
    "similar": ("≈", "cannot be told apart from the paper"),
    "higher": ("▲", "higher than the paper"),
    "lower": ("▼", "lower than the paper"),
    "missing": ("·", "no runs yet"),
    "holds": ("✔", "holds"),
    "fails": ("✖", "does not hold"),
    "undecided": ("~", "undecided"),
    "open": ("·", "not enough data"),
    "helps": ("✔", "helps"),
    "hurts": ("✖", "hurts"),
    "neither": ("–", "no clear difference"),
    "same": ("=", "same direction as the paper"),
    "opposite": ("≠", "opposite direction to the paper"),
    "unclear": ("~", "direction not clear"),
}


@dataclass(frozen=True)
class Interval:
    """A small picture: a figure and its interval on a scale around zero, and the paper's figure."""

    value: float
    low: float | None
    high: float | None
    paper: float | None
    reach: float  # the scale goes from -reach to reach


@dataclass(frozen=True)
class Cell:
    """text: ours; beside: the paper's, or an interval; kind: one of KINDS or nothing; strong: worth a second look."""

    text: str = ""
    beside: str = ""
    kind: str = ""
    strong: bool = False
    picture: Interval | None = None


@dataclass(frozen=True)
class Line:
    """A row of a table; total: a sum of rows above."""

    head: str
    cells: Sequence[Cell]
    total: bool = False


@dataclass(frozen=True)
class Table:
    """columns: the names above the cells, the head's first; cards: rows become cards where the page is narrow."""

    caption: str
    columns: Sequence[str]
    lines: Sequence[Line]
    note: str = ""
    cards: bool = False


@dataclass(frozen=True)
class Bars:
    """Differences to the baseline as bars, ours beside the paper's; values beyond `clip` are cut there."""

    title: str
    rows: Sequence[Bar]
    clip: float


@dataclass(frozen=True)
class Bar:
    """A difference on one data set, None where there is none.

    earlier: ours of an earlier edition
    limit: floor or ceiling, where every method is there and the set can show nothing
    """

    name: str
    ours: float | None
    low: float | None
    high: float | None
    paper: float | None
    kind: str
    earlier: float | None = None
    limit: str = ""


@dataclass(frozen=True)
class Chart:
    """Lines with intervals, drawn by the page's script from `Document.data[name]`: {first: {second: [series]}}."""

    name: str
    title: str
    first: str  # what the first selector chooses
    x: str
    y: str = ""  # default: what the first selector shows
    second: str = "Agent"  # what the second selector chooses
    digits: int | None = 1  # after the point, of values that are read off; None: four digits, wherever the point is


@dataclass(frozen=True)
class Fold:
    """Blocks behind a line of text that opens them."""

    title: str
    blocks: Sequence[Block]


Block = str | Table | Chart | Fold | Sequence[Bars]  # text is a paragraph


@dataclass(frozen=True)
class Section:
    name: str  # of its anchor
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """data: what the charts are drawn from, for JSON; extracts: parts for pages that people write, not on this page."""

    title: str
    subtitle: str
    facts: Sequence[tuple[str, str]]  # at the top: what, how much
    sections: Sequence[Section]
    data: Mapping[str, Any] = field(default_factory=dict)
    extracts: Sequence[Section] = ()
