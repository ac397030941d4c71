"""What explains the disagreements: the controls of the evidence, as far as they were run."""

from rewind.report.document import Block, Cell, Line, Table
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, in_order, load_definitions
from rewind_lab.paper.report.beyond import compared_table
from rewind_lab.paper.report.recommendation import outcome_of, outcome_text
from rewind_lab.paper.report.results import PaperResults

PARTS = {
    "0": "uniform sampling and cloning", "a": "TD3+BC on AntMaze", "b": "IQL and ReBRAC on AntMaze", "c": "OGBench",
    "d": "MuJoCo", "e": "controls", "f": "Adroit, EDAC, other priorities",
    "recommendation": "the recommendation's test",
}  # fmt: skip


def progress(results: PaperResults) -> tuple[Table, int, int]:
    """How much of each part has run, and the counts in all, as `rewind paper status` has them."""
    definitions = load_definitions(EVIDENCE)
    wanted = definitions.wanted(RunChoice())
    lines = []
    for part, words in PARTS.items():
        own = in_order({name: wanted[name] for name, table in definitions.tables.items() if table.part == part})
        done = sum(spec.run in results.every for spec in own)
        lines.append(Line(f"{part}: {words}" if len(part) == 1 else words, [Cell(f"{done:,}"), Cell(f"{len(own):,}")]))
    every = in_order(wanted)
    note = "Runs of several parts count in each. The held-back half opens with the choice of a setting, and adds runs."
    done = sum(spec.run in results.every for spec in every)
    return Table("What has run", ("Part", "Done", "Wanted"), lines, note), done, len(every)


def controls(results: PaperResults) -> list[Block]:
    """A table for each control with something to compare; a sentence for those without."""
    definitions = load_definitions(EVIDENCE)
    tables_of_e = [table for table in definitions.tables.values() if table.part == "e"]
    included = {name for table in tables_of_e for name in table.includes}
    asked = [table for table in tables_of_e if table.name not in included]
    found = {table.title: compared_table(definitions, table, results) for table in asked}
    tables: list[Block] = [table for table in found.values() if table is not None]
    missing = [_lower(title) for title, table in found.items() if table is None]
    return [*tables, f"Not run yet: {'; '.join(missing)}."] if missing else tables


def explained(results: PaperResults) -> list[Block]:
    """The same in few words: of each control the means, or the differences."""
    return [_in_words(block) if isinstance(block, Table) else block for block in controls(results)]


def _in_words(table: Table) -> str:
    pairs = [(line.head, line.cells[-1]) for line in table.lines]
    if table.lines[-1].total:
        pairs = list(zip(table.columns[1:], table.lines[-1].cells, strict=True))
    return f"{table.caption}. {'; '.join(f'{name}: {cell.text}' for name, cell in pairs if cell.text)}."


def _lower(title: str) -> str:
    return title if title.startswith("TD3") else title[0].lower() + title[1:]


def recommendation(results: PaperResults) -> list[Block]:
    return [line for line in outcome_text(outcome_of(results)).split("\n") if line]
