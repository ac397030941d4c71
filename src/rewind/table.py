"""Figures as text for a terminal."""

from __future__ import annotations

from typing import Any


def table(rows: list[dict[str, Any]]) -> str:
    """Columns under their names; a column that holds numbers stands to the right."""
    cells = [list(rows[0]), *([text(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [any(_is_number(row[key]) for row in rows) for key in rows[0]]
    lines = (
        "  ".join(f"{cell:{'>' if r else '<'}{w}}" for cell, w, r in zip(line, widths, right, strict=True))
        for line in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def text(value: Any) -> str:
    """A value as it stands in a table."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(text, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def number(value: float) -> str:
    """Four digits, and all before the point: 0.04567, 12.35, 14,720."""
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value.replace(".", "", 1).replace(",", "").lstrip("-+").rstrip("%").isdigit()
    return isinstance(value, (int, float)) and not isinstance(value, bool)
