"""How good a ranking is: rank correlation, regret of the first choice, coverage of intervals."""

from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from rewind.memory.ranks import average_ranks
from rewind.report.document import Cell, Line, Table

BIGGEST, SMALLEST, NEAREST_ZERO = "biggest", "smallest", "nearest zero"
MEANS = ("rank_correlation", "regret", "value_rank_correlation", "value_regret", "coverage")
COLUMNS = {
    "fqe": "FQE", "fqe_supported": "FQE, supported", "fqe_tr": "FQE, TR order", "fqe_tr_weighted": "TR order, β 0.75",
    "td_error": "TD error", "value_bias": "Q − returns", "action_distance": "distance",
}  # fmt: skip
BEST = {"td_error": SMALLEST, "value_bias": NEAREST_ZERO, "action_distance": SMALLEST}


class Judged(NamedTuple):
    """By policy.

    truths: `return`, `value` (discounted)
    estimates: of each fit [value, low, high], discounted
    diagnostics: of each figure; None where a policy has none
    supported: whether the log shows what it does (`rewind.evaluation.support`)
    """

    truths: Mapping[str, Mapping[str, float]]
    estimates: Mapping[str, Mapping[str, Sequence[float]]]
    diagnostics: Mapping[str, Mapping[str, float | None]]
    supported: Mapping[str, bool]


def judge(judged: Judged) -> dict[str, Any]:
    """Of each criterion: rank correlation and regret@1 in the true return, the same in the true discounted value, which
    is what is estimated, and coverage where it has intervals.

    Criteria that some policies do not have (BC has no critic) choose among the others. So does `fqe_supported`: among
    the policies that the log supports, or among all if it supports none.
    """
    criteria: dict[str, dict[str, float | None]] = {}
    supported = {key for key, held in judged.supported.items() if held} or set(judged.truths)
    fits = {**judged.estimates, "fqe_supported": _only(supported, judged.estimates["fqe"])}
    for fit, estimates in fits.items():
        covered = [low <= judged.truths[key]["value"] <= high for key, (_, low, high) in estimates.items()]
        figures = _ranked({key: estimate[0] for key, estimate in estimates.items()}, judged.truths)
        criteria[fit] = {**figures, "coverage": float(np.mean(covered))}
    for name, of in judged.diagnostics.items():
        scores = {key: _better(value, BEST[name]) for key, value in of.items() if value is not None}
        criteria[name] = {**_ranked(scores, judged.truths), "coverage": None}
    return {"criteria": criteria}


def _only(keys: Set[str], estimates: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    return {key: estimate for key, estimate in estimates.items() if key in keys}


def _better(value: float, best: str) -> float:
    """A number that is larger where the criterion is better."""
    return -abs(value) if best == NEAREST_ZERO else -value if best == SMALLEST else value


def _ranked(scores: Mapping[str, float], truths: Mapping[str, Mapping[str, float]]) -> dict[str, float | None]:
    correlation, regret = _agreement(scores, {key: truth["return"] for key, truth in truths.items()})
    value_correlation, value_regret = _agreement(scores, {key: truth["value"] for key, truth in truths.items()})
    return {"rank_correlation": correlation, "regret": regret, "value_rank_correlation": value_correlation,
            "value_regret": value_regret, "policies": float(len(scores))}  # fmt: skip


def _agreement(scores: Mapping[str, float], truths: Mapping[str, float]) -> tuple[float | None, float | None]:
    """Rank correlation, and regret of the first choice as a share of the spread of all truths."""
    every = np.array(list(truths.values()))
    spread = every.max() - every.min()
    if not scores or not spread:
        return None, None
    true = np.array([truths[key] for key in scores])
    given = np.array(list(scores.values()))
    correlation = None
    if given.std() and true.std():
        correlation = float(np.corrcoef(average_ranks(given), average_ranks(true))[0, 1])
    return correlation, float((every.max() - true[int(given.argmax())]) / spread)


def summarise(measured: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over sets, for the page of a training; and what fitted Q evaluation did on each."""
    criteria = _means(measured)
    return {
        "sets": [one["set"] for one in measured],
        "policies": sum(len(one["truths"]) for one in measured),
        "coverage": criteria.get("fqe", {}).get("coverage"),
        "criteria": criteria,
        "fqe_by_set": {
            one["set"]: {key: one["criteria"]["fqe"][key] for key in ("coverage", "value_regret")} for one in measured
        },
    }


def _means(measured: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of each criterion, over the sets."""
    criteria = {}
    for name in measured[0]["criteria"] if measured else ():
        of = [one["criteria"][name] for one in measured]
        criteria[name] = {key: _mean([figures.get(key) for figures in of]) for key in MEANS}
    return criteria


def overview(measured: Sequence[Mapping[str, Any]], wanted: int) -> Table:
    """All sets, for a page of the docs: regrets, rank correlations and coverage, all in the discounted value."""
    lines, figures = [], {one["set"]: one["criteria"] for one in measured}
    if measured:
        figures["mean"] = _means(measured)
    for name, criteria in figures.items():
        cells = [_told(criteria[each]["value_regret"]) for each in COLUMNS]
        cells += [_told(criteria[each]["value_rank_correlation"]) for each in ("fqe", "value_bias")]
        lines.append(Line(name.removeprefix("rewind/"), [*cells, Cell(f"{criteria['fqe']['coverage']:.0%}")]))
    columns = ("set", *COLUMNS.values(), "ρ of FQE", "ρ of Q − returns", "intervals that hold")
    return Table(f"Regret of the first choice by each criterion, {len(measured)} of {wanted} sets", columns, lines)


def _told(value: float | None) -> Cell:
    return Cell("–" if value is None else f"{value:.2f}")


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None
