"""The policies that ship with Rewind: a table of them, and how often the ant reaches its own goal."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewind.data.catalogue import normalised_score
from rewind.envs.make import known_task
from rewind.errors import UsageError
from rewind.progress import progress
from rewind.rebuilt.orders import POLICIES
from rewind.rebuilt.policy import BehaviourPolicy, load_behaviour
from rewind.rebuilt.recipes import find_recipe

MAZES = ("umaze", "medium-play", "large-play")


def shipped() -> dict[str, BehaviourPolicy]:
    """The policies that ship with Rewind, by name."""
    paths = sorted(POLICIES.rglob("*.npz"))
    return {path.relative_to(POLICIES).with_suffix("").as_posix(): load_behaviour(path) for path in paths}


def described(policies: Mapping[str, BehaviourPolicy]) -> list[dict[str, Any]]:
    """Rows of a table: seed, step, returns and scores of policies."""
    rows = []
    for name, policy in policies.items():
        known = known_task(str(policy.meta.get("environment")))
        trained = "step" in policy.meta  # those of Adroit are fitted to a published expert
        row = {"policy": name, "seed": policy.meta.get("seed", "-")}
        row["step"] = f"{policy.meta['step']:,}" if trained else "-"
        measured = "return" in policy.meta  # those of the -v1 sets are judged by their data: rewind data cards --check
        row |= {key: f"{policy.meta[key]:.0f}" if measured else "-" for key in ("return", "deviation")}
        row["score"] = "-"
        if known is not None and measured:
            row["score"] = f"{normalised_score(known.name, policy.meta['return']):.1f}"
        rows.append(row)
    return rows


def measure(policy: Path | None = None, episodes: int = 200, seed: int = 0) -> list[dict[str, Any]]:
    """One row for each maze; the number of episodes is rounded up to whole chunks."""
    if episodes < 1:
        raise UsageError(f"episodes is {episodes}; expected at least 1")
    from rewind.envs.ant_model import uprightness
    from rewind.rebuilt.collect import join, play
    from rewind.rebuilt.players import find_player

    rows = []
    for kind in MAZES:
        recipe = find_recipe(f"rewind/antmaze-{kind}-v0")
        recipe = replace(recipe, width=min(recipe.width, episodes))
        player = find_player(recipe, str(POLICIES / "ant.npz" if policy is None else policy))
        chunks = progress(range(-(-episodes // recipe.width)), f"ants in {kind}")
        played = join(play(player, recipe, seed, 0, chunk) for chunk in chunks)
        lengths = played.lengths[played.terminated]
        rows.append(
            {
                "set": recipe.name,
                "episodes": len(played.lengths),
                "reached own goal": f"{100.0 * played.terminated.mean():.1f}%",
                "steps to it": round(float(lengths.mean())) if len(lengths) else None,
                "on its back": f"{100.0 * ((uprightness(played.finals) < 0.0) & ~played.terminated).mean():.1f}%",
            }
        )
    return rows
