"""The policies that come with the package, and how good they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewind.data.catalogue import normalised_score
from rewind.envs.make import known_task
from rewind.rebuilt.policy import BehaviourPolicy, load_behaviour

FOLDER = Path(__file__).parent / "policies"


def shipped() -> dict[str, BehaviourPolicy]:
    """All of them, by name."""
    return {path.stem: load_behaviour(path) for path in sorted(FOLDER.glob("*.npz"))}


def described(policies: Mapping[str, BehaviourPolicy]) -> list[dict[str, Any]]:
    """Rows of a table: what was chosen, and how good it is."""
    rows = []
    for name, policy in policies.items():
        known = known_task(str(policy.meta["environment"]))
        row = {"policy": name, "seed": policy.meta["seed"], "step": f"{policy.meta['step']:,}"}
        row |= {key: f"{policy.meta[key]:.0f}" for key in ("return", "deviation")}
        row["score"] = "-" if known is None else f"{normalised_score(known.name, policy.meta['return']):.1f}"
        rows.append(row)
    return rows
