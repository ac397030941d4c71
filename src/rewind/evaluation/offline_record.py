"""From folders of trained policies to `offline.json`: their offline evaluation, ranked, with what could be wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, load
from rewind.data.split import split
from rewind.data.table_files import SUFFIXES
from rewind.errors import DataError, RewindError, UsageError
from rewind.evaluation.fqe import FitSettings
from rewind.evaluation.importance import weighted_importance_sampling
from rewind.evaluation.offline import LogView, OfflineEvaluation, evaluate_offline
from rewind.evaluation.offline_table import LOG, OFFLINE
from rewind.evaluation.support import Support
from rewind.files import file_digest, finite, write_json
from rewind.policy import Policy, load_policy
from rewind.statistics import Estimate
from rewind.table import counted, listed, number
from rewind.training.spec import with_vectors

# Of `rewind train`: what the data is loaded with
SOURCE = ("dataset", "boundaries", "merge_fragments", "keys", "extras", "mask", "reward", "horizon")
LOG_PROB = "log_prob"  # the further column with the log-probabilities of the logged actions
FEW = 20  # trajectories, below which an interval over resamples of them says little
OUTSIDE = 0.05  # share of a policy's actions that are outside what the log usually does
USUAL = (0.005, 0.995)  # quantiles of the log's actions that are usual
QUARTERS = (0.25, 0.75)
LEVELS = 5  # different values of an action, at most, that make it a switch
NEAR_LEVEL = 0.05  # of the smallest step between them: as near as this an action is one of them


class SavedPolicy(NamedTuple):
    name: str
    folder: Path
    policy: Policy


def find_policies(paths: Sequence[Path]) -> list[SavedPolicy]:
    """The policies in these folders: of `rewind train`, or of single policies. Names that occur twice get numbers."""
    folders: list[Path] = []
    for path in paths:
        inside = sorted(file.parent for file in path.glob("policies/*/policy.json"))
        folders += inside or [path]  # load_policy says what is missing
    saved_policies: list[SavedPolicy] = []
    for folder in dict.fromkeys(folders):
        policy = load_policy(folder)
        name = str(policy.provenance.get("name") or folder.name)
        if name in {saved.name for saved in saved_policies}:
            name = f"{name} ({folder})"
        saved_policies.append(SavedPolicy(name, folder, policy))
    return saved_policies


def load_log(policies: Sequence[SavedPolicy], dataset: str | None = None) -> Trajectories:
    """The data that all of them were trained on, or a part of it.

    dataset: where it is now; default: where it was then
    """
    first = policies[0].policy.provenance
    prints = {str(saved.policy.provenance.get("data", {}).get("fingerprint")) for saved in policies}
    if len(prints) > 1:
        raise UsageError(f"the policies were trained on {len(prints)} different data sets: evaluate them apart")
    source = dict(first.get("source", {}))
    loaded = source.pop("dataset", None)
    place = dataset or loaded or first.get("data", {}).get("name")
    if place is None:
        raise UsageError(f"{policies[0].folder} does not say what it was trained on: --dataset FILE")
    if str(loaded).lower().endswith(SUFFIXES):  # its columns say all
        source = {name: value for name, value in source.items() if name not in ("reward", "horizon")}
    columns = first.get("data", {}).get("notes", {}).get("columns")
    if columns and str(place).lower().endswith(SUFFIXES):  # a table, and not what was made of it
        source["map"] = columns
    try:
        data = with_vectors(load(place, **source))
    except RewindError as error:
        raise type(error)(f"the data of {policies[0].folder}: {error}; --dataset says where it is now") from error
    if {data.fingerprint} != prints:
        raise DataError(f"{place} is not the data that {policies[0].folder} was trained on: its fingerprint differs")
    return data


def held_out_of(policies: Sequence[SavedPolicy], data: Trajectories) -> Array | None:
    """The trajectories that none of them was trained on; None where one of them was trained on all."""
    common = np.arange(len(data))
    for view in (saved.policy.provenance.get("view", {}) for saved in policies):
        if not view.get("hold_out"):
            return None
        _, held_out = split(len(data), view["hold_out"], view.get("hold_out_seed", 0))
        common = np.intersect1d(common, held_out)
    if not len(common):
        raise UsageError("no trajectory was held out by all of these policies: evaluate each training alone")
    return common


def discount_of(policies: Sequence[SavedPolicy]) -> float:
    """The largest that any of them was trained with: the one that looks furthest ahead."""
    trained = [saved.policy.provenance.get("agent", {}).get("discount") for saved in policies]
    return max((float(value) for value in trained if value is not None), default=0.99)


def write_offline(
    folder: Path,
    paths: Sequence[Path],
    data: Trajectories | None = None,
    dataset: str | None = None,
    discount: float | None = None,
    settings: FitSettings | None = None,
) -> dict[str, Any]:
    """Evaluate the policies in `paths`, write `offline.json` in `folder`, and return what it holds.

    Where the log has the column `log_prob`, discrete policies get importance sampling as well.

    data: what they were trained on, where it is loaded already
    """
    policies = find_policies(paths)
    data = load_log(policies, dataset) if data is None else data
    chosen = held_out_of(policies, data)
    log = data if chosen is None else data.select(chosen)
    acts = {saved.name: saved.policy for saved in policies}
    result = evaluate_offline(log, acts, discount_of(policies) if discount is None else discount, settings)
    view = LogView(log, acts)
    record = offline_record(result, view, policies, chosen is not None)
    if LOG_PROB in log.extras and view.discrete:
        for policy in record["policies"]:
            policy["importance"] = _importance(view, policy["name"], log.extras[LOG_PROB], result.discount)
    write_json(folder / OFFLINE, record)
    return record


def offline_record(
    result: OfflineEvaluation, log: LogView, policies: Sequence[SavedPolicy], held_out: bool
) -> dict[str, Any]:
    """All of it, for a JSON file; policies by rank. Values are discounted sums of the log's own rewards."""
    saved_by_name, best = {saved.name: saved for saved in policies}, result.ranked()[0]
    support, ranked = Support(log), []
    for name in result.ranked():
        saved = saved_by_name[name]
        figures: dict[str, Any] = {
            "name": name,
            "folder": str(saved.folder),
            "digest": file_digest(saved.folder / "policy.json"),
            "estimate": _plain(result.estimate(name)),
            "against_log": _plain(result.difference(name)),
            "behind_best": _plain(result.difference(best, name)),
            "tied": result.tied(name),
            "drift": result.moved(name),
            "unsupported": support.unsupported(name),
            "supported": support.supports(name),
            **policy_figures(log, name),
        }
        figures["concerns"] = concerns_of(figures, result, saved.policy.provenance)
        ranked.append(figures)
    return {
        "discount": result.discount,
        "held_out": held_out,
        "trajectories": result.trajectories,
        "rows": log.data.rows,
        "settings": asdict(result.settings),
        "log": {
            "estimate": _plain(result.estimate(LOG)),
            "monte_carlo": _plain(result.monte_carlo),
            "cut": result.cut,
            **log_figures(log),
        },
        "policies": ranked,
    }


def _importance(view: LogView, name: str, log_prob: Array, discount: float) -> dict[str, Any]:
    target = view.log_prob(name)
    assert target is not None
    sampled = weighted_importance_sampling(view.data, log_prob, target, discount)
    return {"estimate": _plain(sampled.estimate), "effective": sampled.effective}


def _plain(estimate: Estimate) -> list[float | None]:
    return [None if bound is None else finite(bound) for bound in estimate]


# What a log shows, where a policy leaves it, and what could be wrong with an estimate


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
        outside, ranges, between = rare[chosen], [], []
    else:
        low, high = np.quantile(log.logged, USUAL, axis=0)
        outside = ((chosen < low) | (chosen > high)).any(axis=1)
        ranges = [_five(column) for column in chosen.T]
        between = [at for at, pair in enumerate(zip(log.logged.T, chosen.T, strict=True)) if _between(*pair)]
    return {
        "between": between,
        "distance": float(distances.mean()),
        "outside": float(outside.mean()),
        "actions": ranges,
        "leaves": _leaves(log, distances),
    }


def _between(logged: Array, chosen: Array) -> bool:
    """Whether the log has a few values, and the policy mostly others."""
    values = np.unique(logged)
    if not 1 < len(values) <= LEVELS:
        return False
    apart = np.abs(chosen[:, None] - values).min(axis=1)
    return bool(np.mean(apart > NEAR_LEVEL * np.diff(values).min()) > OUTSIDE)


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
    (value, *_), outside = figures["estimate"], figures["outside"]
    concerns = {
        "it was trained on these trajectories: the estimate may be too high (--hold-out 0.1)":
            not provenance.get("view", {}).get("hold_out"),
        "its training broke: this is the policy from before": provenance.get("alive") is False,
        f"only {counted(result.trajectories, 'trajectory')}: the interval may be too narrow": result.trajectories < FEW,
        f"the fit still moved, by {number(figures['drift'])} in a quarter of its updates: more --steps":
            result.unsettled(figures["name"]),
        f"the fit of the log's own policy still moved, by {number(result.moved(LOG))} in a quarter of its updates: "
        "more --steps": result.unsettled(LOG),
        f"{outside:.0%} of its actions are outside what the log usually does": outside > OUTSIDE,
        f"{figures['unsupported']:.0%} of its actions are unlike what the log shows in similar states: "
        "the estimate may be far off": not figures["supported"],
        f"action column {listed(figures['between'], FEW)} has few values in the log, like a switch, and the policy "
        "gives others: the estimate may be far off": bool(figures["between"]),
        "the estimate is above the best trajectory of the log: nothing in the log shows such a value":
            not result.cut and value > result.best_return,
    }  # fmt: skip
    return [concern for concern, applies in concerns.items() if applies]


def _five(values: Array) -> list[float]:
    return [float(value) for value in np.quantile(values, (0, 0.25, 0.5, 0.75, 1))]
