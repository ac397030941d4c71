"""Tables as text for a terminal."""

import math
from collections.abc import Sequence
from typing import Any


def table(rows: list[dict[str, Any]]) -> str:
    """A table with one line per row, under the keys. Columns of numbers are aligned to the right."""
    cells = [list(rows[0]), *([text(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [any(_is_number(row[key]) for row in rows) for key in rows[0]]
    lines = (
        "  ".join(f"{cell:{'>' if r else '<'}{w}}" for cell, w, r in zip(line, widths, right, strict=True))
        for line in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def text(value: Any) -> str:
    """A value as a table shows it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(text, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def number(value: float) -> str:
    """A number with four significant digits, and all digits before the point: 0.04567, 12.35, 14,720."""
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def alike(values: Sequence[float]) -> list[str]:
    """Numbers with the same digits after the point, four significant ones for the largest: -27.61, -55.43, 0.21."""
    largest = max(map(abs, values))
    digits = min(max(3 - math.floor(math.log10(largest)), 0), 8) if 0 < largest < math.inf else 0
    return [f"{round(value, digits) + 0.0:,.{digits}f}" for value in values]  # not -0


def counted(count: int, noun: str) -> str:
    """A number with its noun: 1 trajectory, 1,200 trajectories, 2 rows."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def listed(names: Sequence[object], most: int) -> str:
    """Names in one line; of many, the first and how many more there are."""
    return ", ".join(map(str, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value.replace(".", "", 1).replace(",", "").lstrip("-+").rstrip("%").isdigit()
    return isinstance(value, (int, float)) and not isinstance(value, bool)
