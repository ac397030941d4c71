"""What explains the disagreements: the controls of the evidence, as far as they were run."""

from collections.abc import Sequence

import numpy as np

from rewind.arrays import Array
from rewind.report.document import Block, Cell, Line, Table
from rewind.report.methods import ALGORITHMS, short
from rewind_lab.paper.choice import Setting, read_choice
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, in_order, load_definitions
from rewind_lab.paper.halves import ONE_LENGTH
from rewind_lab.paper.report.beyond import compared_table
from rewind_lab.paper.report.comparisons import LEAST_RUNS, limit_of, points
from rewind_lab.paper.report.recommendation import (
    AGENT,
    KINDS,
    outcome_of,
    outcome_rows,
    outcome_text,
    so_far,
    taken_apart,
    verdict_text,
)
from rewind_lab.paper.report.recommended import reason
from rewind_lab.paper.report.results import PaperResults, source

PARTS = {
    "0": "uniform sampling and cloning", "a": "TD3+BC on AntMaze", "b": "IQL and ReBRAC on AntMaze", "c": "OGBench",
    "d": "MuJoCo", "e": "controls", "f": "Adroit, EDAC, other priorities",
    "recommendation": "the recommendation: candidates and test",
}  # fmt: skip

MEAN = "Mean of "  # as `compared_table` heads a mean over data sets


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
    note = "Runs of several parts count in each."
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
    return [*tables, f"Too few runs to compare yet: {'; '.join(missing)}."] if missing else tables


def explained(results: PaperResults) -> list[Block]:
    """The same in few words: of each control the means, or the differences; first what lengths and order explain."""
    orders = _orders(results)
    told = load_definitions(EVIDENCE).tables["e_order"].title if orders else ""  # by its differences
    return [
        *_lengths(results),
        *orders,
        *(
            " ".join(filter(None, [_in_words(block), block.note])) if isinstance(block, Table) else block
            for block in controls(results)
            if not (isinstance(block, Table) and block.caption == told)
        ),
    ]


def _lengths(results: PaperResults) -> list[Block]:
    """What plain TR gains where trajectories differ in length, and where they do not and sweeps are in step."""
    in_step = results.literally()
    mixed = {name: pair for name, pair in _tr_pairs(results).items() if name not in ONE_LENGTH}
    alike = {name: pair for name, pair in _tr_pairs(in_step).items() if name in ONE_LENGTH}
    if not alike or not mixed:
        return []
    one, many = (
        f"{len(some)} {'set' if len(some) == 1 else 'sets'}{named}: {points(of.difference(AGENT, some).estimate)}"
        for of, some, named in ((in_step, alike, f" ({', '.join(map(short, alike))})"), (results, mixed, ""))
    )
    return [
        f"Trajectories of one length (TR minus uniform sampling, {ALGORITHMS[AGENT]}, in points). Lengths differ, "
        f"{many}; one length and sweeps in step, {one}. In step, a batch is a single time step; `stagger=True` spreads "
        "the sweeps."
    ]


def _tr_pairs(results: PaperResults) -> dict[str, tuple[Array, Array]]:
    """Scores of plain TR and of uniform sampling on the paper's sets that can show a difference."""
    pairs = {}
    for name in results.datasets:
        ones, others = (results.scores(name, AGENT, sampler) for sampler in ("tr", "baseline"))
        enough = min(len(ones), len(others)) >= LEAST_RUNS
        if source(name) is not None and enough and not limit_of(results, name, AGENT):
            pairs[name] = (ones, others)
    return pairs


def _orders(results: PaperResults) -> list[Block]:
    """What another order than backward changes, and uniform sampling, on the sets that can show it."""
    scores: dict[str, dict[str, list[float]]] = {}  # by order and data set
    for spec in load_definitions(EVIDENCE).wanted(RunChoice(["e_order"]))["e_order"]:
        if spec.run in results.every and not limit_of(results, spec.dataset, AGENT):
            order = "uniform sampling" if spec.sampler == "baseline" else dict(spec.settings).get("order", "backward")
            score = results.every[spec.run].score
            scores.setdefault(order, {}).setdefault(spec.dataset, []).append(score)
    backward = scores.pop("backward", {})
    told = []
    for order, found in scores.items():
        both = [name for name in found if min(len(found[name]), len(backward.get(name, ()))) >= LEAST_RUNS]
        if both:
            pairs = {name: (np.array(found[name]), np.array(backward[name])) for name in both}
            gain = points(results.difference(AGENT, pairs).estimate)
            told.append(f"{order} {gain} ({', '.join(map(short, both))})")
    return [f"Orders minus backward sweeps, one-step targets, in points. {'; '.join(told)}."] if told else []


def _in_words(table: Table) -> str:
    """What the numbers are is said: differences, means over data sets, or scores where no two sets have all runs."""
    *_, last = table.lines
    if table.columns[-1] == "Difference":
        one, other = table.columns[1:3]
        means = [line for line in table.lines if line.total] or table.lines
        heads, ends = [line.head for line in means], [line.cells[-1] for line in means]
        return _listed(table.caption, f"{other} minus {one}, in points", heads, ends)
    if last.total:
        return _listed(
            table.caption, f"mean scores of {last.head.removeprefix(MEAN)} sets", table.columns[1:], last.cells
        )
    heads, ends = [line.head for line in table.lines], [line.cells[-1] for line in table.lines]
    if table.columns[-1].startswith(MEAN):
        return _listed(table.caption, f"mean scores of {table.columns[-1].removeprefix(MEAN)} sets", heads, ends)
    if table.columns[0]:  # data sets down
        by_set = [_listed("", line.head, table.columns[1:], line.cells) for line in table.lines]
    else:
        columns = zip(*(line.cells for line in table.lines), strict=True)
        by_set = [_listed("", name, heads, cells) for name, cells in zip(table.columns[1:], columns, strict=True)]
    return f"{table.caption}{'' if len(by_set) == 1 else '.'}{''.join(by_set)}"


def _listed(caption: str, what: str, names: Sequence[str], cells: Sequence[Cell]) -> str:
    told = "; ".join(f"{name}: {cell.text}" for name, cell in zip(names, cells, strict=True) if cell.text)
    return f"{caption} ({what}). {told}."


def _lower(title: str) -> str:
    return title if title.startswith("TD3") else title[0].lower() + title[1:]


def recommendation(results: PaperResults) -> list[Block]:
    """What the test of the chosen setting says, or why it has not run; then its numbers."""
    outcome, setting = outcome_of(results), read_choice()
    if isinstance(outcome, str):
        chosen = [] if setting is None else [_chosen(setting), *_parts(results)]
        why, rule = outcome_text(outcome).split("\n")
        return [*chosen, why, *_so_far(results), rule]
    rows = outcome_rows(outcome)
    lines = [Line(short(name), [Cell(points(one.estimate))], total=pooled) for name, one, pooled in rows]
    table = Table("The recommended setting over uniform sampling, in points", ["Data set", "Difference"], lines)
    return [verdict_text(outcome), *_parts(results), table]


def _chosen(setting: Setting) -> str:
    sparse, dense = (reason(setting, kind) for kind in KINDS)
    why = sparse if sparse == dense else f"{sparse}; {dense}"
    return f"Chosen on {setting.date}: {setting}. {why[0].upper()}{why[1:]}."


def _so_far(results: PaperResults) -> list[Block]:
    sets = "; ".join(f"{short(name)}: {points(one.estimate)}" for name, one in so_far(results).items())
    return (
        [f"On the sets whose runs are all there, the setting minus uniform sampling, in points: {sets}."]
        if sets
        else []
    )


def _parts(results: PaperResults) -> list[Block]:
    """Where the gain of the setting for sparse rewards comes from."""
    parts = [f"{what}: {points(gain.estimate)}" for what, gain in taken_apart(results).items()]
    return [f"Where the gain on sparse rewards comes from (data sets): {'; '.join(parts)}."] if parts else []
