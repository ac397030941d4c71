"""How good a ranking is: rank correlation, regret of the first choice, coverage of intervals."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rewind.arrays import Array

BIGGEST, SMALLEST, NEAREST_ZERO = "biggest", "smallest", "nearest zero"
BEST = {"td_error": SMALLEST, "value_bias": NEAREST_ZERO, "action_distance": SMALLEST}


class Judged(NamedTuple):
    """By policy.

    truths: `return`, `value` (discounted)
    estimates: of each fit [value, low, high], discounted
    diagnostics: of each figure; None where a policy has none
    """

    truths: Mapping[str, Mapping[str, float]]
    estimates: Mapping[str, Mapping[str, Sequence[float]]]
    diagnostics: Mapping[str, Mapping[str, float | None]]


def judge(judged: Judged) -> dict[str, Any]:
    """Of each criterion: rank correlation with the true return, regret@1, and coverage where it has intervals.

    Criteria that some policies do not have (BC has no critic) choose among the others.
    """
    criteria: dict[str, dict[str, float | None]] = {}
    for fit, estimates in judged.estimates.items():
        covered = [low <= judged.truths[key]["value"] <= high for key, (_, low, high) in estimates.items()]
        figures = _ranked({key: estimate[0] for key, estimate in estimates.items()}, judged.truths)
        criteria[fit] = {**figures, "coverage": float(np.mean(covered))}
    for name, of in judged.diagnostics.items():
        scores = {key: _better(value, BEST[name]) for key, value in of.items() if value is not None}
        criteria[name] = {**_ranked(scores, judged.truths), "coverage": None}
    return {"criteria": criteria}


def _better(value: float, best: str) -> float:
    """A number that is larger where the criterion is better."""
    return -abs(value) if best == NEAREST_ZERO else -value if best == SMALLEST else value


def _ranked(scores: Mapping[str, float], truths: Mapping[str, Mapping[str, float]]) -> dict[str, float | None]:
    every = np.array([truth["return"] for truth in truths.values()])
    spread = every.max() - every.min()
    if not scores or not spread:
        return {"rank_correlation": None, "regret": None, "policies": float(len(scores))}
    true = np.array([truths[key]["return"] for key in scores])
    given = np.array(list(scores.values()))
    correlation = None
    if given.std() and true.std():
        correlation = float(np.corrcoef(average_ranks(given), average_ranks(true))[0, 1])
    regret = float((every.max() - true[int(given.argmax())]) / spread)
    return {"rank_correlation": correlation, "regret": regret, "policies": float(len(scores))}


def average_ranks(values: Array) -> Array:
    """Ties share their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse])


def summarise(measured: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over sets, for the page of a training."""
    names = list(dict.fromkeys(name for one in measured for name in one["criteria"]))
    criteria = {}
    for name in names:
        of = [one["criteria"][name] for one in measured if name in one["criteria"]]
        criteria[name] = {key: _mean([figures[key] for figures in of]) for key in ("rank_correlation", "regret")}
        criteria[name]["coverage"] = _mean([figures["coverage"] for figures in of])
    return {
        "sets": [one["set"] for one in measured],
        "policies": sum(len(one["truths"]) for one in measured),
        "coverage": criteria.get("fqe", {}).get("coverage"),
        "criteria": criteria,
    }


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None
