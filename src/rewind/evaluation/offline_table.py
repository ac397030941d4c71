"""`offline.json`, read and shown in a terminal: what `rewind evaluate --offline` found. Needs no JAX."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rewind.errors import DataError
from rewind.files import read_json
from rewind.table import alike, number, table

OFFLINE = "offline.json"
LOG = "the log's own policy"
AGAIN = "the same `rewind evaluate --offline` command writes it again"


def read_offline(folder: Path) -> dict[str, Any] | None:
    """The offline evaluation in a folder; None where there is none."""
    path = folder / OFFLINE
    if not path.exists():
        return None
    record = read_json(path)
    if not isinstance(record, dict) or not {"log", "policies", "trajectories", "held_out"} <= record.keys():
        raise DataError(f"{path} is damaged: it is not an offline evaluation; {AGAIN}")
    return record


def steps_of(folder: Path) -> int:
    """Updates of the fit that a folder holds; 0 where there is none, or none that can be read."""
    try:
        record = read_offline(folder)
    except DataError:
        return 0
    return int((record or {}).get("settings", {}).get("steps", 0))


def offline_table(record: Mapping[str, Any]) -> str:
    lines = [_line(rank, policy) for rank, policy in enumerate(record["policies"], 1)]
    log_line = {"name": LOG, "estimate": record["log"]["estimate"], "against_log": (), "distance": None}
    if "importance" in record["policies"][0]:
        log_line["importance"] = {"estimate": ()}
    lines.append(_line("-", log_line))
    notes = [how_measured(record)]
    if tied := tied_with_best(record):
        notes.append(f"the data cannot tell the first from {len(tied)} of the others: {', '.join(tied)}")
    if choice := best_supported(record):
        notes.append(choice)
    return "\n".join([table(lines), *notes, *_concerns(record["policies"])])


def _concerns(policies: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each concern of each policy; one line for what all policies share."""
    shared = [one for one in policies[0]["concerns"] if all(one in policy["concerns"] for policy in policies[1:])]
    if len(policies) == 1:
        shared = []
    single = [(policy["name"], one) for policy in policies for one in policy["concerns"] if one not in shared]
    return [f"{name}: {concern}" for name, concern in [*(("all policies", one) for one in shared), *single]]


def tied_with_best(record: Mapping[str, Any]) -> list[str]:
    """Policies whose paired interval with the first holds 0; without the first."""
    return [policy["name"] for policy in record["policies"][1:] if policy["tied"]]


def preferred(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The policy to start with: the highest estimate of those whose actions the log shows; of all if there is none."""
    policies: Sequence[Mapping[str, Any]] = record["policies"]
    return next((policy for policy in policies if policy.get("supported", True)), policies[0])


def best_supported(record: Mapping[str, Any]) -> str:
    """What to do where the log does not show what the first policy does; empty where it does."""
    first, choice = record["policies"][0], preferred(record)
    if first.get("supported", True):  # files of earlier versions do not say
        return ""
    seldom = f"In {first['unsupported']:.0%} of the states the log shows nothing like what {first['name']} does: its "
    others = "; that holds for all of them" if len(record["policies"]) > 1 else ""
    rest = others if choice is first else f". Of those that it shows, prefer {choice['name']}"
    return f"{seldom}estimate may be far off{rest}. Try a policy on a small scale before you rely on it."


def how_measured(record: Mapping[str, Any]) -> str:
    where = "held-out trajectories" if record["held_out"] else "trajectories, which the policies were trained on"
    cut = record["log"]["cut"]
    fit = record.get("settings")  # files of earlier versions do not have it
    size = "" if fit is None else f" ({fit['members']} networks, {fit['steps']:,} steps each{_order(fit)})"
    short = f" (a time-out ends the sum: {cut:,} of them are cut short by it)" if cut else ""
    return (
        f"Values are discounted sums of the log's rewards (discount {record['discount']:g}) from the first states of "
        f"{record['trajectories']:,} {where}, by fitted Q evaluation{size}, with 95% intervals. "
        f"The mean discounted return of these trajectories is {told(record['log']['monte_carlo'])}{short}."
    )


def _order(fit: Mapping[str, Any]) -> str:
    return f", TR order with beta {fit['beta']:g}" if fit.get("order") == "tr" else ""


def told(estimate: Sequence[float | None]) -> str:
    """A value and its interval."""
    if not estimate or estimate[0] is None:
        return "-"
    numbers = [bound for bound in estimate if bound is not None]
    if len(numbers) < len(estimate):
        return number(numbers[0])
    value, *bounds = alike(numbers)
    return f"{value} [{', '.join(bounds)}]" if bounds else value


def _line(rank: int | str, policy: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rank": rank,
        "policy": policy["name"],
        "value [95%]": told(policy["estimate"]),
        "against the log [95%]": told(policy["against_log"]),
        "distance": "-" if policy["distance"] is None else number(policy["distance"]),
        **({"importance sampling [95%]": by_importance(policy["importance"])} if "importance" in policy else {}),
    }


def by_importance(sampled: Mapping[str, Any]) -> str:
    """An estimate by importance sampling, and how many trajectories it rests on."""
    effective = sampled.get("effective")
    return told(sampled["estimate"]) + ("" if effective is None else f", of {effective:.1f} trajectories")
