"""What explains the disagreements: the controls of the evidence, as far as they were run."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from rewind.report.document import Block, Cell, Line, Table
from rewind.report.methods import ALGORITHMS, short
from rewind.report.runs import FinishedRun
from rewind.report.stability import critic_known, diverged
from rewind.statistics import Estimate, Measured
from rewind_lab.paper.choice import Setting, read_choice
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, TableDefinition, in_order, load_definitions
from rewind_lab.paper.halves import ONE_LENGTH
from rewind_lab.paper.published import ALL_SUITES
from rewind_lab.paper.report.beyond import compared_table
from rewind_lab.paper.report.by_kind import METHODS, Pairs, clear, gains_with_norm, resting, without_strongest
from rewind_lab.paper.report.comparisons import LEAST_RUNS, NO_BREAK, limit_of, points
from rewind_lab.paper.report.divergence import mostly_diverged
from rewind_lab.paper.report.recommendation import (
    AGENT,
    KINDS,
    mean_of,
    outcome_of,
    outcome_rows,
    outcome_text,
    over_norm,
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

UNIFORM = "uniform sampling"
INSTEAD_OF_UNIFORM = f"TR instead of {UNIFORM}"
INSTEAD = " instead of backward sweeps"
MOST_NAMED = 3  # data sets; more are counted
OrderRuns = Sequence[tuple[str, FinishedRun]]
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
    tables = _control_tables(results)
    return [*(table for _, table in tables if table is not None), *_missing(tables)]


ControlTables = list[tuple[TableDefinition, Table | None]]


def _control_tables(results: PaperResults) -> ControlTables:
    definitions = load_definitions(EVIDENCE)
    tables_of_e = [table for table in definitions.tables.values() if table.part == "e"]
    included = {name for table in tables_of_e for name in table.includes}
    asked = [table for table in tables_of_e if table.name not in included]
    return [(table, compared_table(definitions, table, results)) for table in asked]


def _missing(tables: ControlTables) -> list[Block]:
    missing = [_lower(definition.title) for definition, table in tables if table is None]
    return [f"Too few runs to compare yet: {'; '.join(missing)}."] if missing else []


def explained(results: PaperResults) -> list[Block]:
    """The same in few words: what each change does, in points; mean scores where more than two things are compared."""
    tables = _control_tables(results)
    order_runs = list(_order_runs(results))
    orders = _orders(results, order_runs)
    lines = [*_lengths(results), *_with_norm(results), *(line for line, _ in orders)]
    words: list[Block] = []
    left_out: list[str] = []
    for definition, table in tables:
        if table is None or (definition.name == "e_order" and orders):
            continue
        left_out += [table.note] if table.note else []
        if table.columns[-1] == "Difference":
            lines += _changes(table, {agent for part in definition.parts for agent in part.algorithms})
        else:
            words.append(_in_words(table))
    columns = ("Change", "Of what", "Points")
    changes = [Table("What one change does", columns, lines, " ".join(dict.fromkeys(left_out)))] if lines else []
    return [*_order_words(orders, order_runs), *changes, *mostly_diverged(results), *words, *_missing(tables)]


def _order_words(orders: Sequence[tuple[Line, Estimate]], runs: OrderRuns) -> list[Block]:
    """Whether backward order itself, with one-step targets, does what TR is for."""
    better: dict[str, list[str]] = {line.cells[0].text: [] for line, _ in orders}
    for line, gain in orders:
        if gain.low is not None and gain.low > 0:
            better[line.cells[0].text].append(line.head.removesuffix(INSTEAD))
    return [f"With one-step targets, backward sweeps score less than {' and '.join(heads)} on {sets}."
            + _lost_in_order(runs) for sets, heads in better.items() if heads]  # fmt: skip


def _lost_in_order(runs: OrderRuns) -> str:
    """How many critics of each order diverged, where any did."""
    sweeps = [(order, run) for order, run in runs if order != UNIFORM and critic_known(run)]
    compared = {run.dataset for order, run in sweeps if order != "backward"}
    lost: dict[str, list[bool]] = {}
    for order, run in sweeps:
        if run.dataset in compared:
            lost.setdefault(order, []).append(diverged(run))
    told = ", ".join(f"{order} {sum(own)} of {len(own)}" for order, own in lost.items())
    return f" Critics that diverged: {told}." if any(map(any, lost.values())) else ""


def _changes(table: Table, agents: Collection[str]) -> list[Line]:
    """Means over data sets, or the data sets where there is no mean."""
    one, other = table.columns[1:3]
    named = "".join(f", {ALGORITHMS[agent]}" for agent in agents if agent != AGENT)
    lines = [line for line in table.lines if line.total] or table.lines
    return [Line(f"{other} instead of {one}{named}", [Cell(line.head), line.cells[-1]]) for line in lines]


def _lengths(results: PaperResults) -> list[Line]:
    """What plain TR gains where trajectories differ in length, and where they do not and sweeps are in step."""
    in_step = results.literally()
    mixed = {name: pair for name, pair in _tr_pairs(results).items() if name not in ONE_LENGTH}
    alike = {name: pair for name, pair in _tr_pairs(in_step).items() if name in ONE_LENGTH}
    if not alike or not mixed:
        return []
    return [
        Line(f"{INSTEAD_OF_UNIFORM}, lengths differ", [_sets(mixed, _rests(results, mixed)), _points(results, mixed)]),
        Line(f"{INSTEAD_OF_UNIFORM}, one length and sweeps in step", [_sets(alike), _points(in_step, alike)]),
    ]


def _with_norm(results: PaperResults) -> list[Line]:
    """The same by kind of data where both have layer norm."""
    return [
        Line(
            f"{INSTEAD_OF_UNIFORM}, layer norm in both",
            [Cell(f"{ALL_SUITES[gain.kind]}, {gain.used} sets"), Cell(points(gain.difference))],
        )
        for gain in gains_with_norm(results, {"TR": METHODS["TR"]})
        if gain.agent == AGENT and gain.used > 1
    ]


def _rests(results: PaperResults, pairs: Pairs) -> str:
    """The one set without which a clear difference is not clear."""
    strongest, without = without_strongest(results, AGENT, pairs)
    rests = without is not None and clear(results.difference(AGENT, pairs).estimate) and not clear(without)
    return resting(strongest) if rests else ""


def _sets(pairs: Pairs, rests: str = "") -> Cell:
    return Cell((", ".join(map(short, pairs)) if len(pairs) <= MOST_NAMED else f"{len(pairs)} sets") + rests)


def _points(results: PaperResults, pairs: Pairs) -> Cell:
    return Cell(points(results.difference(AGENT, pairs).estimate))


def _tr_pairs(results: PaperResults) -> Pairs:
    """Scores of plain TR and of uniform sampling on the paper's sets that can show a difference."""
    pairs = {}
    for name in results.datasets:
        ones, others = (results.scores(name, AGENT, sampler) for sampler in ("tr", "baseline"))
        enough = min(len(ones), len(others)) >= LEAST_RUNS
        if source(name) is not None and enough and not limit_of(results, name, AGENT):
            pairs[name] = (ones, others)
    return pairs


def _order_runs(results: PaperResults) -> Iterator[tuple[str, FinishedRun]]:
    """Those on the sets that can show a difference."""
    for spec in load_definitions(EVIDENCE).wanted(RunChoice(["e_order"]))["e_order"]:
        if spec.run in results.every and not limit_of(results, spec.dataset, AGENT):
            order = UNIFORM if spec.sampler == "baseline" else str(dict(spec.settings).get("order", "backward"))
            yield order, results.every[spec.run]


def _orders(results: PaperResults, runs: OrderRuns) -> list[tuple[Line, Estimate]]:
    """What another order than backward changes, and uniform sampling, on the sets that can show it."""
    scores: dict[str, dict[str, list[float]]] = {}  # by order and data set
    for order, run in runs:
        scores.setdefault(order, {}).setdefault(run.dataset, []).append(run.score)
    there = {order: {name for name, own in found.items() if len(own) >= LEAST_RUNS} for order, found in scores.items()}
    common = set.intersection(*there.values()) if len(there) > 1 else set()  # or the lines would not compare
    backward = scores.pop("backward", {})
    lines = []
    for order, found in scores.items():
        both = [name for name in found if name in (common or there[order] & there.get("backward", set()))]
        pairs = {name: (np.array(found[name]), np.array(backward[name])) for name in both}
        if pairs:
            gain = results.difference(AGENT, pairs).estimate
            change = f"{order if order == UNIFORM else f'{order} sweeps'}{INSTEAD}"
            lines.append((Line(change, [_sets(pairs), Cell(points(gain))]), gain))
    return lines


def _in_words(table: Table) -> str:
    """What the numbers are is said: means over data sets, or scores where no two sets have all runs."""
    *_, last = table.lines
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
    texts = (cell.text.replace(" ", NO_BREAK) for cell in cells)
    told = "; ".join(f"{name}: {text}" for name, text in zip(names, texts, strict=True) if text)
    return f"{caption} ({what}). {told}."


def _lower(title: str) -> str:
    return title if title.startswith("TD3") else title[0].lower() + title[1:]


def recommendation(results: PaperResults) -> list[Block]:
    """What the test of the chosen setting says, or why it has not run; then its numbers."""
    outcome, setting = outcome_of(results), read_choice()
    if isinstance(outcome, str):
        chosen = [] if setting is None else [_chosen(setting), *_parts(results)]
        found = so_far(results)
        rows = [(name, one, name == mean_of(len(found) - 1)) for name, one in found.items()]
        tested = _tested(results, ", on the sets whose runs are all there", rows) if rows else []
        return [*chosen, *outcome_text(outcome).split("\n"), *tested]
    return [verdict_text(outcome), *_parts(results), *_tested(results, "", list(outcome_rows(outcome)))]


Rows = Sequence[tuple[str, Measured, bool]]  # name, difference, whether it is pooled


def _tested(results: PaperResults, where: str, rows: Rows) -> list[Block]:
    """The test's numbers; beside them what is left of a gain where uniform sampling has layer norm too."""
    norm = over_norm(results)
    caption = f"The setting over uniform sampling{where}"
    if not norm:
        note = "Uniform sampling with layer norm has not run there: the gain may be layer norm's."
        return [_gains(caption, rows, note)]
    lines = [
        Line(
            short(name), [Cell(points(one.estimate)), Cell(points(norm[name].estimate) if name in norm else "")], pooled
        )
        for name, one, pooled in rows
    ]
    return [Table(caption, ("Data sets", "Points", "Over uniform sampling with layer norm"), lines)]


def _chosen(setting: Setting) -> str:
    sparse, dense = (reason(setting, kind) for kind in KINDS)
    why = sparse if sparse == dense else f"{sparse}; {dense}"
    return f"Chosen on {setting.date}: {setting}. By the runs of that day: {why}."


def _parts(results: PaperResults) -> list[Block]:
    """Where the gain of the setting for sparse rewards comes from."""
    rows = [(what, gain, False) for what, gain in taken_apart(results).items()]
    caption = "Where the gain on sparse rewards comes from, on all sets of the choosing half"
    return [_gains(caption, rows, "")] if rows else []


def _gains(caption: str, rows: Rows, note: str) -> Table:
    lines = [Line(short(what), [Cell(points(gain.estimate))], total=pooled) for what, gain, pooled in rows]
    return Table(caption, ("Data sets", "Points"), lines, note)
