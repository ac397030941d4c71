"""Play the walkers of the AntMaze -v1 sets on all cores and write what their data is like: `rewind behaviour likeness`.

Each set is played twice: with episodes that stop at their own goal, which is how the published walker was measured,
and with episodes that never stop, which are then cut by every ending that was tried. What is written depends only on
the seed and the number of rows, not on the number of processes.

OUT            figures of all sets, written anew after every chunk: `rewind data cards` reads it
OUT.chunks     a line for each chunk; the same command resumes from it. Delete it to start anew
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rewind.files import write_json
from rewind.processes import Answer, Message, Processes, serve
from rewind.progress import steps_bar
from rewind.rebuilt.build import Share, versions
from rewind.rebuilt.collect import with_goal
from rewind.rebuilt.orders import make_order
from rewind.rebuilt.recipes import Recipe
from rewind.rebuilt.worker import Job, play_job
from rewind_lab.behaviour.likeness import (
    KINDS,
    ending_table,
    evaluation_goals,
    fragment_sums,
    mixed,
    walker_figures,
    walker_sums,
)

DWELLS = (0, 1, 2, 4, 6, 8, 15, 30, 60, 120, 250, None)  # steps after the own goal; None: never stops
GOALS = 32  # draws of the evaluation's goal, beside the set's own


@dataclass(frozen=True, eq=False)
class Playing:
    """A set played in one of the two ways: whole chunks of each walker, until it has its share of the rows."""

    kind: str
    recipe: Recipe
    seed: int
    shares: Sequence[Share]
    lines: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)

    @property
    def stops(self) -> bool:
        assert self.recipe.maze is not None
        return self.recipe.maze.stop is True

    @property
    def key(self) -> str:
        return json.dumps([self.recipe.name, self.stops, self.seed, [share.order.digest for share in self.shares]])

    def add(self, share: Share, chunk: int, line: dict[str, Any]) -> None:
        share.rows[chunk] = line["played"]
        self.lines[share.index, chunk] = line

    def sums(self) -> list[dict[str, Any]]:
        """For each walker, over its chunks in the order of their numbers until they are enough; none: left out."""
        found = []
        for share in self.shares:
            enough = share.asked if share.chunks is None else share.chunks
            lines = [self.lines[share.index, c] for c in range(enough) if (share.index, c) in self.lines]
            if lines:
                names = [name for name in lines[0] if name != "played"]
                found.append({name: np.sum([line[name] for line in lines], axis=0) for name in names})
        return found


def measure_likeness(
    out: Path, kinds: Sequence[str] = KINDS, rows: int = 1_000_000, ending_rows: int = 400_000,
    seed: int = 0, threads: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """The figures of the sets, which are also written to `out`.

    rows, ending_rows: of each set, with episodes that stop at their own goal, and that never stop
    """
    plan = ((True, rows), (False, ending_rows))
    playings = [_playing(kind, stop, size, seed) for stop, size in plan for kind in kinds if size]
    log = out.with_suffix(".chunks")
    out.parent.mkdir(parents=True, exist_ok=True)
    _resume(playings, log)
    bar = steps_bar("likeness", sum(share.order.size for p in playings for share in p.shares), 0)
    with Processes(__name__, threads) as workers, log.open("a", encoding="utf-8") as file:
        for playing, share, chunk, line in _played(playings, workers):
            playing.add(share, chunk, line)
            file.write(json.dumps([playing.key, share.index, chunk, line]) + "\n")
            file.flush()
            bar.update(line["played"])
            write_json(out, _figures(playings, seed))
    bar.close()
    figures = _figures(playings, seed)
    write_json(out, figures)
    return figures


def _playing(kind: str, stop: bool, size: int, seed: int) -> Playing:
    order = make_order(f"rewind/antmaze-{kind}-v1", size=size, seed=seed)
    assert order.recipe.maze is not None
    recipe = replace(order.recipe, maze=replace(order.recipe.maze, stop=stop))
    guess = recipe.width * recipe.horizon // 2
    return Playing(kind, recipe, seed, [Share(index, part, guess) for index, part in enumerate(order.parts)])


def _resume(playings: Sequence[Playing], log: Path) -> None:
    """Take what an earlier run of the same command played."""
    by_key = {playing.key: playing for playing in playings}
    for text in log.read_text(encoding="utf-8").splitlines() if log.is_file() else ():
        try:
            key, index, chunk, line = json.loads(text)
        except json.JSONDecodeError:  # the last line of a run that was killed
            continue
        if key in by_key:
            by_key[key].add(by_key[key].shares[index], chunk, line)
    for share in (share for playing in playings for share in playing.shares):
        while share.asked in share.rows:
            share.asked += 1


def _played(playings: Sequence[Playing], workers: Processes) -> Iterator[tuple[Playing, Share, int, dict[str, Any]]]:
    """Chunks as they are finished, until every walker of every set has its share."""
    running: dict[Future[Answer], tuple[Playing, Share, int]] = {}
    while True:
        for playing in playings:
            for share in playing.shares:
                while share.chunks is None and share.hungry and len(running) < workers.count:
                    chunk, share.asked = share.asked, share.asked + 1
                    if chunk not in share.rows:
                        job = Job(playing.recipe, playing.seed, share.index, chunk, str(share.order.path), "")
                        running[workers.submit(job.message())] = (playing, share, chunk)
        if not running:
            return
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            yield *running.pop(future), json.loads(str(future.result()["line"]))


def _figures(playings: Sequence[Playing], seed: int) -> dict[str, Any]:
    sets: dict[str, dict[str, Any]] = {}
    for playing in playings:
        sums, figures = playing.sums(), sets.setdefault(playing.recipe.name, {})
        if len(sums) < len(playing.shares):
            continue
        if playing.stops:
            together = mixed([walker_figures(walker) for walker in sums])
            figures["walker"] = {name: round(float(value), 4) for name, value in together.items()}
        else:
            maze = with_goal(playing.recipe, seed).maze
            assert maze is not None and maze.target is not None
            figures |= {"goal": [round(at, 3) for at in maze.target], "endings": ending_table(DWELLS, sums)}
    return {"seed": seed, "versions": versions(), "sets": sets}


def _answer(message: Message) -> Message:
    job = Job.read(str(message["job"]))
    player, played = play_job(job)
    assert job.recipe.maze is not None
    if job.recipe.maze.stop:
        line: dict[str, Any] = walker_sums(played)
    else:
        kind, maze = job.recipe.name.removeprefix("rewind/antmaze-"), with_goal(job.recipe, job.seed).maze
        assert maze is not None
        targets = np.concatenate([[maze.target], evaluation_goals(kind, GOALS)])
        line = fragment_sums(played, player.goals, targets, DWELLS)
    return {"line": json.dumps({"played": played.rows, **line})}


if __name__ == "__main__":
    serve(_answer)
