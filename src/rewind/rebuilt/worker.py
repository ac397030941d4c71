"""A process that plays chunks: `python -m rewind.rebuilt.worker`.

It receives jobs, writes the chunk's file, and answers with its number of rows. Results depend on the number of threads
of the linear algebra; `rewind.processes` sets it to one.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
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


def load_chunk(path: Path) -> Episodes | None:
    """The chunk, None if it is missing or damaged: it is then played again."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return Episodes(**{name: archive[name] for name in FIELDS})
    except Exception:  # NumPy, zipfile and zlib raise many kinds of errors for damaged bytes
        return None


@lru_cache(maxsize=1)  # simulators are large
def _player(recipe: Recipe, policy: str | None) -> Any:
    return OraclePlayer(recipe) if recipe.policies == (ORACLE,) else find_player(recipe, policy)


def play_job(job: Job) -> tuple[Any, Episodes]:
    """The player of a chunk, and the chunk."""
    player = _player(job.recipe, job.policy)
    play_chunk = play_oracles if isinstance(player, OraclePlayer) else play
    return player, play_chunk(player, job.recipe, job.seed, job.part, job.chunk)


def _answer(message: Message) -> Message:
    job = Job.read(str(message["job"]))
    _, episodes = play_job(job)
    with whole_file(job.out) as temporary, temporary.open("wb") as file:
        np.savez(file, **{name: getattr(episodes, name) for name in FIELDS})
    return {"rows": episodes.rows}


if __name__ == "__main__":
    serve(_answer)
