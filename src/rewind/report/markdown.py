"""A document as Markdown: the same tables and verdicts, without charts."""

from rewind.report.document import KINDS, Block, Cell, Chart, Document, Fold, Section, Table


def to_markdown(document: Document) -> str:
    parts = [f"# {document.title}", document.subtitle, facts_text(document)]
    for section in document.sections:
        if told := section_text(section):
            parts += [f"## {section.title}", told]
    return "\n\n".join(filter(None, parts)) + "\n"


def facts_text(document: Document) -> str:
    return "\n".join(f"- {what}: {much}" for what, much in document.facts)


def section_text(section: Section) -> str:
    """A section without its title; empty where there are charts alone."""
    return "\n\n".join(filter(None, map(_block, section.blocks)))


def _block(block: Block) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, Table):
        return table_text(block)
    if isinstance(block, Fold):
        return "\n\n".join(filter(None, map(_block, block.blocks)))
    if isinstance(block, Chart):
        return ""
    return ""  # bars: their numbers are in a table beside them


def table_text(table: Table) -> str:
    rows = [[line.head, *map(cell_text, line.cells)] for line in table.lines]
    bold = [[f"**{cell}**" if cell else "" for cell in row] if line.total else row
            for row, line in zip(rows, table.lines, strict=True)]  # fmt: skip
    ruler = ["---"] * len(table.columns)
    lines = ["| " + " | ".join(map(_plain, row)) + " |" for row in [list(table.columns), ruler, *bold]]
    note = f"\n\n{table.note}" if table.note else ""
    return f"**{table.caption}**\n\n" + "\n".join(lines) + note


def cell_text(cell: Cell) -> str:
    """Ours, the sign, the paper's: 48.2 ± 0.4 (3) = 48.1 ± 0.4."""
    sign, word = KINDS.get(cell.kind, ("", ""))
    if cell.strong and cell.kind:
        return f"{sign} {word}"
    return " ".join(filter(None, (cell.text, sign, cell.beside)))


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
