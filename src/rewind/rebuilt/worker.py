"""A process that plays chunks: `python -m rewind.rebuilt.worker`.

It reads a job a line from stdin, writes the chunk's file, and answers with a line. Arrays depend on the number of
threads of the linear algebra, so whoever starts it gives it one (`rewind.rebuilt.workers`).
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rewind.errors import RewindError
from rewind.files import whole_file
from rewind.processes import answering
from rewind.rebuilt.collect import FIELDS, Episodes, play
from rewind.rebuilt.players import Player, find_player
from rewind.rebuilt.recipes import MazeRecipe, Recipe


@dataclass(frozen=True)
class Job:
    """One chunk.

    policy: the file of the part's policy, None where it needs none
    out: the file to write
    """

    recipe: Recipe
    seed: int
    part: int
    chunk: int
    policy: str | None
    out: str

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Job:
        given: dict[str, Any] = json.loads(text)
        recipe = given.pop("recipe")
        way = recipe.pop("maze")
        maze = None if way is None else MazeRecipe(**{**way, "target": tuple(way["target"])})
        return cls(Recipe(**{**recipe, "policies": tuple(recipe["policies"])}, maze=maze), **given)


def save_chunk(episodes: Episodes, path: str | os.PathLike[str]) -> None:
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **{name: getattr(episodes, name) for name in FIELDS})


def load_chunk(path: Path) -> Episodes | None:
    """The chunk, None where there is none or it is damaged: it will be played again."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return Episodes(**{name: archive[name] for name in FIELDS})
    except Exception:  # whatever NumPy, zipfile and zlib make of damaged bytes
        return None


def main() -> None:
    """Answer jobs until there are no more."""
    orders, answers = answering()
    players: dict[tuple[Recipe, str | None], Player] = {}
    for line in orders:
        try:
            answers.write(json.dumps(_answer(Job.read(line.decode()), players)).encode() + b"\n")
            answers.flush()
        except BrokenPipeError:  # nobody waits for it any more
            os._exit(1)


def _answer(job: Job, players: dict[tuple[Recipe, str | None], Player]) -> dict[str, Any]:
    try:
        key = (job.recipe, job.policy)
        if key not in players:
            players.clear()  # simulators are large
            players[key] = find_player(*key)
        episodes = play(players[key], job.recipe, job.seed, job.part, job.chunk)
        save_chunk(episodes, job.out)
    except RewindError as error:
        return {"error": type(error).__name__, "text": str(error)}
    except OSError as error:
        return {"error": "OSError", "errno": error.errno, "text": error.strerror or str(error)}
    return {"rows": episodes.rows}


if __name__ == "__main__":
    main()
