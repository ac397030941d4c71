"""A document as Markdown: the same tables and verdicts, without charts."""

import re

from rewind.report.document import KINDS, Block, Cell, Document, Fold, Section, Table


def to_markdown(document: Document) -> str:
    parts = [f"# {_plain(document.title)}", _plain(document.subtitle), facts_text(document)]
    for section in document.sections:
        if text := section_text(section):
            parts += [f"## {_plain(section.title)}", text]
    return "\n\n".join(filter(None, parts)) + "\n"


def facts_text(document: Document) -> str:
    return "\n".join(f"- {_plain(what)}: {_plain(much)}" for what, much in document.facts)


def section_text(section: Section) -> str:
    """A section without its title; empty where there are charts alone."""
    return "\n\n".join(filter(None, map(_block, section.blocks)))


def _block(block: Block) -> str:
    if isinstance(block, str):
        return _plain(block)
    if isinstance(block, Table):
        return table_text(block)
    if isinstance(block, Fold):
        return "\n\n".join(filter(None, map(_block, block.blocks)))
    return ""  # charts and bars: their numbers are in a table beside them


def table_text(table: Table) -> str:
    rows = [[line.head, *map(cell_text, line.cells)] for line in table.lines]
    bold = [[f"**{cell}**" if cell else "" for cell in row] if line.total else row
            for row, line in zip(rows, table.lines, strict=True)]  # fmt: skip
    ruler = ["---"] * len(table.columns)
    cells = [[_plain(cell).replace("|", "\\|") for cell in row] for row in [list(table.columns), ruler, *bold]]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    note = f"\n\n{_plain(table.note)}" if table.note else ""
    return f"**{_plain(table.caption)}**\n\n" + "\n".join(lines) + note


def cell_text(cell: Cell) -> str:
    """Ours, the sign, the paper's: 48.2 ± 0.4 (3) = 48.1 ± 0.4."""
    sign, word = KINDS.get(cell.kind, ("", ""))
    if cell.strong and cell.kind:
        return f"{sign} {word}"
    return " ".join(filter(None, (cell.text, sign, cell.beside)))


def _plain(text: str) -> str:
    """One line without HTML, links and images: names come from files."""
    return re.sub(r"<(?=[\w/!?])", "&lt;", " ".join(text.split("\n"))).replace("](", "]\\(")
