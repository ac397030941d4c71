"""The policies that ship with Rewind, and how good they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewind.data.catalogue import normalised_score
from rewind.envs.make import known_task
from rewind.rebuilt.orders import POLICIES
from rewind.rebuilt.policy import BehaviourPolicy, load_behaviour


def shipped() -> dict[str, BehaviourPolicy]:
    """The policies that ship with Rewind, by name."""
    return {path.stem: load_behaviour(path) for path in sorted(POLICIES.glob("*.npz"))}


def described(policies: Mapping[str, BehaviourPolicy]) -> list[dict[str, Any]]:
    """Rows of a table: seed, step, returns and scores of policies."""
    rows = []
    for name, policy in policies.items():
        known = known_task(str(policy.meta["environment"]))
        row = {"policy": name, "seed": policy.meta["seed"], "step": f"{policy.meta['step']:,}"}
        row |= {key: f"{policy.meta[key]:.0f}" for key in ("return", "deviation")}
        row["score"] = "-" if known is None else f"{normalised_score(known.name, policy.meta['return']):.1f}"
        rows.append(row)
    return rows
