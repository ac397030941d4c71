"""Behaviour cloning on a rebuilt data set beside published scores: rows of its card."""

from collections.abc import Mapping
from typing import Any

from rewind.data.ogbench import family_of
from rewind.rebuilt.recipes import ORACLE, Recipe, is_rebuilt
from rewind_lab.cards.likeness import CLONED, CardFacts
from rewind_lab.cards.published import Published, ogbench_means

Row = tuple[str, str, str, str, str]  # what, our score, its seeds and updates, the published score; each may be empty


def cloned_rows(recipe: Recipe, facts: CardFacts, theirs: Published | None) -> list[Row]:
    """theirs: what is published of D4RL's set of that name"""
    if recipe.policies == (ORACLE,):
        return _of_tasks(recipe.name, facts)
    ours, scores = facts.cloned.get(recipe.name, {}), (theirs and theirs.cloned) or ("", "")
    return [(kind, *_cells(ours.get(kind)), str(score)) for kind, score in zip(CLONED, scores, strict=True)]


def cloned_notes(recipe: Recipe) -> list[str]:
    """What stands below the rows."""
    copies = "The demonstrations are repeated, so the best tenth of the trajectories are mostly copies of a few."
    empty = "Empty: not run yet, or nothing is published that we know of."
    return [copies, empty] if any(map(is_rebuilt, recipe.policies)) else [empty]


def _of_tasks(name: str, facts: CardFacts) -> list[Row]:
    """Of each task of an OGBench set, and their mean, which is what is published."""
    found = {task: facts.cloned.get(one, {}).get("BC") for task, one in tasks_of(name).items()}
    scores = [ours["score"] for ours in found.values() if ours is not None]
    mean = f"{sum(scores) / len(scores):.1f}" if len(scores) == len(found) else ""
    theirs = ogbench_means().of(family_of(name) or "", "bc")
    rows: list[Row] = [(f"BC, {task}", *_cells(ours), "") for task, ours in found.items()]
    return [*rows, ("BC, mean of the five tasks", mean, "", "", "" if theirs is None else f"{theirs:g}")]


def tasks_of(name: str) -> dict[str, str]:
    """The sets of an OGBench set's five tasks."""
    return {f"task {task}": name.replace("-v0", f"-task{task}-v0") for task in range(1, 6)}


def _cells(ours: Mapping[str, Any] | None) -> tuple[str, str, str]:
    return ("", "", "") if ours is None else (f"{ours['score']:.1f}", str(ours["seeds"]), f"{ours['steps']:,}")
