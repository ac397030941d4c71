"""How often a walker reaches its own goal, played as its data is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rewind.errors import UsageError
from rewind.progress import progress
from rewind.rebuilt.ant import uprightness
from rewind.rebuilt.collect import join, play
from rewind.rebuilt.players import find_player
from rewind.rebuilt.recipes import find_recipe
from rewind.rebuilt.shipped import FOLDER

MAZES = ("umaze", "medium-play", "large-play")


def measure(policy: Path | None = None, episodes: int = 200, seed: int = 0) -> list[dict[str, Any]]:
    """One row for each maze; a whole number of chunks is played."""
    if episodes < 1:
        raise UsageError(f"episodes is {episodes}; expected at least 1")
    rows = []
    for kind in MAZES:
        recipe = find_recipe(f"rewind/antmaze-{kind}-v0")
        recipe = replace(recipe, width=min(recipe.width, episodes))
        player = find_player(recipe, str(FOLDER / "ant.npz" if policy is None else policy))
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
