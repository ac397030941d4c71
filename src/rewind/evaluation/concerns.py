"""What a log shows, where a policy leaves it, and what could be wrong with an offline estimate."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.evaluation.offline import LogView, OfflineEvaluation
from rewind.table import number

FEW = 20  # trajectories, below which an interval over resamples of them says little
FAR = 0.5  # mean distance from the log, in half-ranges of its actions; of discrete actions, the share of other ones
OUTSIDE = 0.05  # share of a policy's actions that are outside what the log usually does
USUAL = (0.005, 0.995)  # quantiles of the log's actions that are usual
QUARTERS = (0.25, 0.75)


def log_figures(log: LogView) -> dict[str, Any]:
    """Of a page: lengths, returns, how trajectories end, action ranges."""
    data = log.data
    if log.discrete:
        shares = np.bincount(log.logged, minlength=log.actions) / len(log.logged)
        actions: list[Any] = [float(share) for share in shares]
    else:
        actions = [_five(column) for column in log.logged.T]
    return {
        "lengths": _five(data.lengths),
        "returns": _five(data.returns),
        "terminated": int(data.terminated.sum()),
        "discrete": log.discrete,
        "actions": actions,
    }


def policy_figures(log: LogView, name: str) -> dict[str, Any]:
    """How far a policy is from the log, how often it is outside of it, and where most."""
    distances, chosen = log.distances(name), log.chosen[name]
    if log.discrete:
        rare = np.bincount(log.logged, minlength=log.actions) < USUAL[0] * len(log.logged)
        outside, ranges = rare[chosen], []
    else:
        low, high = np.quantile(log.logged, USUAL, axis=0)
        outside = ((chosen < low) | (chosen > high)).any(axis=1)
        ranges = [_five(column) for column in chosen.T]
    return {
        "distance": float(distances.mean()),
        "outside": float(outside.mean()),
        "actions": ranges,
        "leaves": _leaves(log, distances),
    }


def _leaves(log: LogView, distances: Array) -> list[dict[str, Any]]:
    """The three quarters of the rows, by one column of the observations, where a policy is furthest from the log."""
    parts: list[dict[str, Any]] = []
    for column, values in enumerate(log.data.observations.T):
        low, high = np.quantile(values, QUARTERS)
        for side, limit, rows in (("below", low, values < low), ("above", high, values > high)):
            if rows.any():
                part = {"column": column, "side": side, "limit": float(limit), "rows": int(rows.sum())}
                parts.append({**part, "distance": float(distances[rows].mean())})
    return sorted(parts, key=lambda part: -part["distance"])[:3]


def concerns_of(figures: Mapping[str, Any], result: OfflineEvaluation, provenance: Mapping[str, Any]) -> list[str]:
    """What could be wrong with the estimate of one policy, in words."""
    (value, low, _), drift, outside = figures["estimate"], figures["drift"], figures["outside"]
    apart = f"{figures['distance']:.2f} half-ranges from the log's actions"
    if not figures["actions"]:
        apart = f"{figures['distance']:.0%} of its actions differ from the log's"
    concerns = {
        "it was trained on these trajectories: the estimate may be too high (--hold-out 0.1)":
            not provenance.get("view", {}).get("hold_out"),
        "its training broke: this is the policy from before": provenance.get("alive") is False,
        f"only {result.trajectories} trajectories: the interval may be too narrow": result.trajectories < FEW,
        f"the fit still moved, by {number(drift)} in a quarter of its updates: more --steps":
            abs(drift) > (value - low) / 2,
        f"{outside:.0%} of its actions are outside what the log usually does": outside > OUTSIDE,
        f"{apart}: the log says little about them": figures["distance"] > FAR,
        "the estimate is above the best trajectory of the log: nothing in the log shows such a value":
            not result.cut and value > result.best_return,
    }  # fmt: skip
    return [concern for concern, applies in concerns.items() if applies]


def _five(values: Array) -> list[float]:
    return [float(value) for value in np.quantile(values, (0, 0.25, 0.5, 0.75, 1))]
