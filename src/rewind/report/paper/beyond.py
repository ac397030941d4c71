"""What the paper lacks: one beta for all sets, modes of reuse, exponents, delays, grids; as far as it was run."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rewind.data.catalogue import known_entry
from rewind.experiments.paper.definitions import Choice, Definitions, load_definitions
from rewind.experiments.paper.definitions import Table as Definition
from rewind.experiments.paper.specs import RunSpec
from rewind.report.document import Cell, Line, Table
from rewind.report.paper.methods import ALGORITHMS, LABELS, Method, paper_sets, short
from rewind.report.paper.runs import Array, Results, Run, scores_of
from rewind.statistics import bootstrap, deviation, mean

Variant = tuple[tuple[str, Any], ...]  # what a run has of the things that differ in its table

USUAL = ("algorithm", "sampler", "beta")  # which the paper's own tables vary
WIDE = 7  # columns that a page still shows well
BOUNDS = ("target_low", "target_high")  # of TD3+BC's targets

RULE = (
    "Each cell: mean and standard deviation over runs, and their number. At the end is the mean over the data sets "
    "on which every variant of the table has runs, with a 95% bootstrap interval."
)


def beyond_tables(results: Results) -> list[Table]:
    """The definitions without numbers of the paper's, those that have runs."""
    definitions = load_definitions()
    asked = [table for table in definitions.tables.values() if table.parts and not table.published and not table.more]
    tables = [_table(definitions, definition, results) for definition in asked if definition.name != "fixed_beta"]
    tables.insert(0, fixed_beta_table(definitions, results))
    return [table for table in tables if table is not None]


def _table(definitions: Definitions, definition: Definition, results: Results) -> Table | None:
    choice = Choice([definition.name], results.data, steps=results.protocol.steps)
    specs = definitions.wanted(choice)[definition.name]
    described = {spec: _described(spec) for spec in specs}
    differing = _differing(described)
    runs: dict[tuple[str, Variant], list[Run]] = {}
    for spec, full in described.items():
        own = tuple((name, full[name]) for name in differing if name in full)
        found = runs.setdefault((spec.dataset, own), [])
        if spec.run in results.every:
            found.append(results.every[spec.run])
    scores = {key: scores_of(own) for key, own in runs.items()}
    scores = {key: own for key, own in scores.items() if len(own)}
    shown = _compared(scores, [name for name in differing if name not in USUAL])
    asked = [name for name in differing if name != "sampler"]
    compares = all(any(len(values) > 1 for values in _values(shown, name).values()) for name in asked)
    return _shown(definition.title, shown) if shown and compares else None


def _compared(scores: dict[tuple[str, Variant], Array], asked: Sequence[str]) -> dict[tuple[str, Variant], Array]:
    """Those on data sets where all that the table asks about has two values with runs."""
    found = [{name for name, values in _values(scores, each).items() if len(values) > 1} for each in asked]
    return {key: own for key, own in scores.items() if all(key[0] in names for names in found)}


def _values(scores: dict[tuple[str, Variant], Array], name: str) -> dict[str, set[Any]]:
    """What there is of something that varies, by data set."""
    values: dict[str, set[Any]] = {}
    for dataset, variant in scores:
        values.setdefault(dataset, set()).update(value for each, value in variant if each == name)
    return values


def fixed_beta_table(definitions: Definitions, results: Results) -> Table | None:
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


def _described(spec: RunSpec) -> dict[str, Any]:
    known = known_entry(spec.dataset)
    settings = ({} if known is None else known.numbers(spec.algorithm)) | dict(spec.settings)
    bounds = [settings.pop(name, math.inf) for name in BOUNDS]
    bounded = settings.pop("bounded", False) or any(map(math.isfinite, bounds))
    return {
        "algorithm": spec.algorithm,
        "sampler": spec.sampler,
        "beta": spec.beta,
        "reuse": spec.reuse,
        "exponent": spec.exponent,
        "stagger": spec.stagger,
        "block": spec.block or "default",
        "bounded": bounded,  # by what, differs from one data set to the next
        **settings,
    }


def _differing(described: dict[RunSpec, dict[str, Any]]) -> list[str]:
    """What varies on some data set; what only differs from one data set to the next is the paper's setting."""
    values: dict[tuple[str, str], set[str]] = {}
    for spec, each in described.items():
        for name, value in each.items():
            values.setdefault((name, spec.dataset), set()).add(json.dumps(value))
    return list(dict.fromkeys(name for (name, _), found in values.items() if len(found) > 1))


def _shown(title: str, scores: dict[tuple[str, Any], Array], variants: Sequence[Any] = ()) -> Table:
    """Data sets down and variants across, or the other way where that is narrower; those without runs are left out."""
    datasets = list(dict.fromkeys(dataset for (dataset, _), own in scores.items() if len(own)))
    there = {variant for (_, variant), own in scores.items() if len(own)}
    shown = [each for each in variants if each in there] or sorted(there, key=_order)
    heads = [each if isinstance(each, str) else _name(each) for each in shown]
    cells = [[_cell(scores.get((name, each))) for each in shown] for name in datasets]
    full = [name for name in datasets if all(len(scores.get((name, each), ())) for each in shown)]
    means = [_mean_cell([scores[name, each] for name in full]) for each in shown] if len(full) > 1 else None
    over = f"Mean of {len(full)}"
    if len(shown) > max(WIDE, len(datasets)):
        columns = ["", *map(short, datasets), *([over] if means else [])]
        turned = list(zip(*cells, *([means] if means else []), strict=True))
        return Table(title, columns, [Line(head, own) for head, own in zip(heads, turned, strict=True)])
    lines = [Line(short(name), own) for name, own in zip(datasets, cells, strict=True)]
    lines += [Line(over, means, total=True)] if means else []
    return Table(title, ["Data set", *heads], lines)


def _mean_cell(scores: Sequence[Array]) -> Cell:
    found = bootstrap(mean, scores)
    return Cell(f"{found.value:.1f}" + ("" if found.low is None else f" [{found.low:.1f}, {found.high:.1f}]"))


def _cell(scores: Array | None) -> Cell:
    if scores is None or not len(scores):
        return Cell(kind="missing")
    spread = deviation(scores)
    told = f"{np.mean(scores):.1f}" + ("" if spread is None else f" ± {spread:.1f}")
    return Cell(f"{told} ({len(scores)})")


def _order(variant: Variant) -> list[tuple[float, str]]:
    """Agents and samplers in the paper's order, numbers by size."""
    orders = {"algorithm": list(ALGORITHMS), "sampler": list(LABELS)}
    return [
        (orders[name].index(value) if name in orders else value if isinstance(value, (int, float)) else 0.0, str(value))
        for name, value in variant
    ]


def _name(variant: Variant) -> str:
    told = []
    for name, value in variant:
        if name == "algorithm":
            told.append(ALGORITHMS[value])
        elif name == "sampler":
            told.append(LABELS[value])
        elif name == "stagger":
            told.append("staggered" if value else "from the end")
        elif name == "bounded":
            told += ["bounded"] if value else []
        elif name == "block":
            told.append(f"{value} steps planned")
        else:
            told.append(f"{'β' if name == 'beta' else name.replace('_', ' ')} {value}")
    return ", ".join(told)
