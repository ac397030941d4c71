"""Measure how often a walker reaches its own goal in the episodes of a recipe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rewind.errors import UsageError
from rewind.progress import progress
from rewind.rebuilt.ant import uprightness
from rewind.rebuilt.collect import join, play
from rewind.rebuilt.orders import POLICIES
from rewind.rebuilt.players import find_player
from rewind.rebuilt.recipes import find_recipe

MAZES = ("umaze", "medium-play", "large-play")


def measure(policy: Path | None = None, episodes: int = 200, seed: int = 0) -> list[dict[str, Any]]:
    """One row for each maze; the number of episodes is rounded up to whole chunks."""
    if episodes < 1:
        raise UsageError(f"episodes is {episodes}; expected at least 1")
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
