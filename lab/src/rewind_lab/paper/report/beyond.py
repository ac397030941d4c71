"""What the paper lacks: one beta for all sets, modes of reuse, exponents, delays, grids; as far as it was run."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rewind.agents.settings import paper_settings
from rewind.arrays import Array
from rewind.report.document import Cell, Line, Table
from rewind.report.methods import ALGORITHMS, LABELS, Method, short
from rewind.report.runs import FinishedRun, scores_of
from rewind.run_spec import RunSpec
from rewind.statistics import Estimate, mean_over
from rewind_lab.paper.definitions import Definitions, RunChoice, TableDefinition, load_definitions
from rewind_lab.paper.published import in_print
from rewind_lab.paper.report.comparisons import LEAST_RUNS, limit_of, points, told
from rewind_lab.paper.report.results import PaperResults, paper_sets

Variant = tuple[tuple[str, Any], ...]  # what a run has of the things that differ in its table
Scores = dict[tuple[str, Variant], Array]

VARIED = ("algorithm", "sampler", "beta")  # by the paper's own tables
OWN = {"alpha": 2.5}  # an agent's own numbers, where no table names them for a data set
USUAL = {"window": 1, "precision": "default", "order": "backward"}  # of runs that do not name them
SWEEPS = ("reuse", "rank_exponent", "stagger", "order")
BOUNDS = ("target_low", "target_high")  # of the critics' targets
WORDS: dict[str, Callable[[Any], str]] = {
    "algorithm": lambda value: ALGORITHMS[value],
    "sampler": lambda value: LABELS[value],
    "beta": lambda value: f"β {value}",
    "stagger": lambda value: "staggered" if value else "from the end",
    "bounded": lambda value: "bounded" if value else "",
    "block": lambda value: f"{value} steps planned",
}
PAIRED = {"reuse": "on_finish", "stagger": False, "bounded": False}  # shown side by side; the usual value
WIDE = 7  # columns that a page still shows well

RULE = (
    "Each cell: mean and standard deviation over runs, and their number. At the end is the difference, or the mean "
    "over the data sets on which every variant of the table has runs, with a 95% interval (Student's t; none below "
    "three runs)."
)


def beyond_tables(results: PaperResults) -> list[Table]:
    """The definitions without numbers of the paper's, those that have runs."""
    definitions = load_definitions()
    asked = [table for table in definitions.tables.values() if table.parts and not table.published and not table.more]
    tables = [
        compared_table(definitions, definition, results) for definition in asked if definition.name != "fixed_beta"
    ]
    tables.insert(0, fixed_beta_table(definitions, results))
    return [table for table in tables if table is not None]


def compared_table(definitions: Definitions, definition: TableDefinition, results: PaperResults) -> Table | None:
    """What a table asks about, side by side; None where nothing can be compared."""
    choice = RunChoice([definition.name], results.data, steps=results.protocol.steps)
    specs = definitions.wanted(choice)[definition.name]
    full = _with_own({spec: described(spec) for spec in specs})
    names = differing(full)
    runs: dict[tuple[str, Variant], list[FinishedRun]] = {}
    for spec, values in full.items():
        own = tuple((name, values[name]) for name in names if name in values)
        found = runs.setdefault((spec.dataset, own), [])
        if spec.run in results.every:
            found.append(results.every[spec.run])
    scores = {key: scores_of(own) for key, own in runs.items()}
    scores = {key: own for key, own in scores.items() if len(own)}
    asked = [name for name in names if name not in VARIED]
    shown = _compared(scores, asked)
    compares = [_values(shown, name).values() for name in names if name != "sampler"]
    if not shown or not all(any(len(each) > 1 for each in found) for found in compares):
        return None
    agents = list(dict.fromkeys(spec.algorithm for spec in specs))
    shown, note = _without_limited(shown, results, agents)
    if len(asked) == 1 and asked[0] in PAIRED and len(set().union(*_values(shown, asked[0]).values())) == 2:
        return replace(_pairs(definition.title, shown, asked[0], results, agents[0]), note=note)
    return replace(_shown(definition.title, shown), note=note)


def _without_limited(scores: Scores, results: PaperResults, agents: Sequence[str]) -> tuple[Scores, str]:
    """Without data sets that can show nothing, and which these are; all of them where nothing else would be left."""
    if len(agents) > 1:
        return scores, ""
    limits = {
        name: limit_of(results, name, agents[0], [own for (each, _), own in scores.items() if each == name])
        for name in _datasets(scores)
    }
    out = [name for name, limit in limits.items() if limit]
    if not out or len(out) == len(limits):
        return scores, ""
    kept = {key: own for key, own in scores.items() if key[0] not in out}
    return kept, f"Left out, at floor or ceiling: {', '.join(map(short, out))}."


def _pairs(title: str, scores: Scores, name: str, results: PaperResults, agent: str) -> Table:
    """Of a table that asks about one thing with two values: side by side, the usual one first, and what it changes.

    agent: whose runs they are where a variant does not say
    """
    values = set().union(*_values(scores, name).values())
    one, other = sorted(values, key=lambda value: value != PAIRED[name])
    lines = []
    both: dict[Variant, dict[str, tuple[Array, Array]]] = {}
    for dataset in _datasets(scores):
        found = {variant: own for (each, variant), own in scores.items() if each == dataset}
        rests = {variant: tuple(each for each in variant if each[0] != name) for variant in found}
        for rest in sorted({*rests.values()}, key=order):
            own = {
                dict(variant).get(name, PAIRED[name]): runs for variant, runs in found.items() if rests[variant] == rest
            }
            cells = [_cell(own.get(one)), _cell(own.get(other)), Cell(kind="missing")]
            if len(own) == 2:
                both.setdefault(rest, {})[dataset] = pair = own[other], own[one]
                cells[-1] = _change(results, dict(rest).get("algorithm", agent), {dataset: pair})
            lines.append(Line(f"{short(dataset)}: {name_of(rest)}", cells))
    for rest, pairs in both.items():
        if len(pairs) > 1:
            change = _change(results, dict(rest).get("algorithm", agent), pairs)
            lines.append(Line(f"{name_of(rest)}, mean of {len(pairs)} sets", [Cell(), Cell(), change], total=True))
    heads = [name_of(((name, value),)) or "as it is" for value in (one, other)]
    return Table(title, ["", *heads, "Difference"], lines)


def _compared(scores: Scores, asked: Sequence[str]) -> Scores:
    """Those on data sets where all that the table asks about has two values with runs."""
    found = [{name for name, values in _values(scores, each).items() if len(values) > 1} for each in asked]
    return {key: own for key, own in scores.items() if all(key[0] in names for names in found)}


def _values(scores: Scores, name: str) -> dict[str, set[Any]]:
    """What there is of something that varies, by data set."""
    values: dict[str, set[Any]] = {}
    for dataset, variant in scores:
        values.setdefault(dataset, set()).update(value for each, value in variant if each == name)
    return values


def fixed_beta_table(definitions: Definitions, results: PaperResults) -> Table | None:
    """One beta for all data sets, between what the paper has."""
    definition = definitions.tables["fixed_beta"]
    fixed = [float(beta) for part in definition.parts for beta in part.betas]
    columns: dict[str, str | Method] = {LABELS["baseline"]: "baseline", "β 0 (SARSA)": "sarsa"}
    columns |= {f"β {beta:g}": Method("tr", beta) for beta in fixed} | {"the paper's β": "weighted", "β 1 (TR)": "tr"}
    names = [name for name in map(results.here, paper_sets()) if name is not None]
    found = {(name, label): results.scores(name, "td3_bc", each) for name in names for label, each in columns.items()}
    if not any(len(found[name, f"β {beta:g}"]) for name in names for beta in fixed):
        return None
    return _shown(definition.title, found, list(columns))


def _shown(title: str, scores: dict[tuple[str, Any], Array], variants: Sequence[Any] = ()) -> Table:
    """Data sets down and variants across, or the other way where that is narrower; those without runs are left out."""
    datasets = _datasets(scores)
    there = {variant for (_, variant), own in scores.items() if len(own)}
    shown = [each for each in variants if each in there] or sorted(there, key=order)
    heads = [each if isinstance(each, str) else name_of(each) for each in shown]
    cells = [[_cell(scores.get((name, each))) for each in shown] for name in datasets]
    full = [name for name in datasets if all(len(scores.get((name, each), ())) for each in shown)]
    samples = [[scores[name, each] for name in full] for each in shown]
    means = [Cell(told(mean_over(each).estimate, ".1f")) for each in samples] if len(full) > 1 else None
    over = f"Mean of {len(full)}"
    if len(shown) > max(WIDE, len(datasets)):
        columns = ["", *map(short, datasets), *([over] if means else [])]
        turned = list(zip(*cells, *([means] if means else []), strict=True))
        return Table(title, columns, [Line(head, own) for head, own in zip(heads, turned, strict=True)])
    lines = [Line(short(name), own) for name, own in zip(datasets, cells, strict=True)]
    lines += [Line(over, means, total=True)] if means else []
    return Table(title, ["Data set", *heads], lines)


def _datasets(scores: dict[tuple[str, Any], Array]) -> list[str]:
    """Those with runs, in their order."""
    return list(dict.fromkeys(dataset for (dataset, _), own in scores.items() if len(own)))


def _change(results: PaperResults, algorithm: str, pair: dict[str, tuple[Array, Array]]) -> Cell:
    """An interval from fewer than three runs would be their extremes."""
    found = results.difference(algorithm, pair).estimate
    few = any(len(runs) < LEAST_RUNS for runs in next(iter(pair.values())))
    return Cell(points(Estimate(found.value) if few else found))


def _cell(scores: Array | None) -> Cell:
    return Cell(kind="missing") if scores is None or not len(scores) else Cell(f"{in_print(scores)} ({len(scores)})")


# What sets the runs of a table apart that the paper has not, and what to call it


def described(spec: RunSpec) -> dict[str, Any]:
    settings = paper_settings(spec.algorithm, spec.dataset) | dict(spec.settings)
    settings, bounded = without_bounds(settings)
    values = {
        "algorithm": spec.algorithm,
        "sampler": spec.sampler,
        "beta": spec.beta,
        "reuse": spec.reuse,
        "rank_exponent": spec.rank_exponent,
        "stagger": spec.stagger,
        "block": spec.block or "default",
        "bounded": bounded,  # by what, differs from one data set to the next
        **USUAL,
        **settings,
    }
    if spec.sampler == "baseline":  # it has no sweeps that these could be of
        values = {name: value for name, value in values.items() if name not in SWEEPS}
    return values


def _with_own(specs: dict[RunSpec, dict[str, Any]]) -> dict[RunSpec, dict[str, Any]]:
    """The same number stands in one column, whether a run names it or has it by default."""
    named = {(spec.algorithm, name) for spec, values in specs.items() for name in OWN if name in values}
    own = {
        spec: {name: OWN[name] for name in OWN if name not in values and (spec.algorithm, name) in named}
        for spec, values in specs.items()
    }
    return {spec: values | own[spec] for spec, values in specs.items()}


def without_bounds(settings: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """An agent's settings but for bounds of its targets, and whether it has any: a bound at infinity is none."""
    bounded = bool(settings.get("bounded", False)) or any(
        math.isfinite(settings.get(name, math.inf)) for name in BOUNDS
    )
    return {name: value for name, value in settings.items() if name not in (*BOUNDS, "bounded")}, bounded


def differing(specs: dict[RunSpec, dict[str, Any]]) -> list[str]:
    """What varies on some data set; what only differs from one data set to the next is the paper's setting."""
    values: dict[tuple[str, str], set[str]] = {}
    for spec, each in specs.items():
        for name, value in each.items():
            values.setdefault((name, spec.dataset), set()).add(json.dumps(value))
    return list(dict.fromkeys(name for (name, _), found in values.items() if len(found) > 1))


def order(variant: Variant) -> list[tuple[float, str]]:
    """Agents and samplers in the paper's order, numbers by size."""
    orders = {"algorithm": list(ALGORITHMS), "sampler": list(LABELS)}
    return [
        (orders[name].index(value) if name in orders else value if isinstance(value, (int, float)) else 0.0, str(value))
        for name, value in variant
    ]


def name_of(variant: Variant) -> str:
    values = dict(variant)
    if values.get("window", 1) != 1:  # its rows are always drawn uniformly
        own = [_window_name(values.pop("window"), values.pop("beta"))]
        values.pop("sampler", None)
    else:
        own = []
        if values.get("sampler") == "baseline":
            values.pop("beta", None)  # it weighs nothing
    told = [*own, *(_told(name, value) for name, value in values.items())]
    return ", ".join(text for text in told if text)


def _window_name(rows: int, beta: float) -> str:
    return f"{rows}-step return" if beta == 0 else f"λ-return over {rows} rows, λ {1 - beta:g}"


def _told(name: str, value: Any) -> str:
    if name in WORDS:
        return WORDS[name](value)
    return "" if USUAL.get(name) == value else f"{name.replace('_', ' ')} {value}"
