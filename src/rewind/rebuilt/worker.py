"""A process that plays chunks: `python -m rewind.rebuilt.worker`.

It receives jobs, writes the chunk's file, and answers with its number of rows. Results depend on the number of threads
of the linear algebra; `rewind.processes` sets it to one.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rewind.files import whole_file
from rewind.processes import Message, serve
from rewind.rebuilt.collect import FIELDS, Episodes, play
from rewind.rebuilt.oracles import OraclePlayer, play_oracles
from rewind.rebuilt.players import find_player
from rewind.rebuilt.recipes import ORACLE, MazeRecipe, Recipe


@dataclass(frozen=True)
class Job:
    """One chunk.

    policy: the file of the part's policy, None if it needs none
    out: the file to write
    """

    recipe: Recipe
    seed: int
    part: int
    chunk: int
    policy: str | None
    out: str

    def message(self) -> Message:
        return {"job": json.dumps(asdict(self))}

    @classmethod
    def read(cls, text: str) -> Job:
        fields: dict[str, Any] = json.loads(text)
        recipe = _tuples(fields.pop("recipe"))
        maze = recipe.pop("maze")
        return cls(Recipe(**recipe, maze=None if maze is None else MazeRecipe(**_tuples(maze))), **fields)


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    """Lists back to tuples, which JSON does not have."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def save_chunk(episodes: Episodes, path: str | os.PathLike[str]) -> None:
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **{name: getattr(episodes, name) for name in FIELDS})


def load_chunk(path: Path) -> Episodes | None:
    """The chunk, None if it is missing or damaged: it is then played again."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return Episodes(**{name: archive[name] for name in FIELDS})
    except Exception:  # NumPy, zipfile and zlib raise many kinds of errors for damaged bytes
        return None


def main() -> None:
    players: dict[tuple[Recipe, str | None], Any] = {}

    def answer(message: Message) -> Message:
        job = Job.read(str(message["job"]))
        key, oracles = (job.recipe, job.policy), job.recipe.policies == (ORACLE,)
        if key not in players:
            players.clear()  # simulators are large
            players[key] = OraclePlayer(job.recipe) if oracles else find_player(*key)
        play_chunk = play_oracles if oracles else play
        episodes = play_chunk(players[key], job.recipe, job.seed, job.part, job.chunk)
        save_chunk(episodes, job.out)
        return {"rows": episodes.rows}

    serve(answer)


if __name__ == "__main__":
    main()
