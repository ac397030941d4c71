"""`rewind data cards --check`: which figures of the -v1 data sets are not like D4RL's."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rewind.errors import UsageError
from rewind.rebuilt.build import load_rebuilt
from rewind.rebuilt.orders import find_built
from rewind.rebuilt.recipes import find_recipe, recipes
from rewind.table import table
from rewind_lab.cards.cards import card_figures, stem
from rewind_lab.cards.likeness import UNMATCHED, likeness, read_facts, rests_on


@dataclass(frozen=True)
class Checked:
    """What `check_cards` found: figures as "antmaze-umaze-v1, fragments".

    failed: outside their limits, not measured, or measured on too few rows
    unmatched: outside, but no ending that was tried comes nearer
    """

    failed: list[str]
    unmatched: list[str]


def check_cards(names: Sequence[str], folder: Path) -> Checked:
    """Print how like D4RL's the -v1 sets are, and return which figures are not like them.

    A data set that is built here is looked at; for others, the figures of the last build that a page was written from.
    """
    facts = read_facts(folder)
    chosen = [find_recipe(name) for name in names] or [each for each in recipes().values() if likeness(each, facts)]
    if without := [recipe.name for recipe in chosen if not likeness(recipe, facts)]:
        raise UsageError(f"{without[0]} is held to no limits: --check is for -v1 sets that are named after D4RL's")
    needed = {name for each in chosen for name in (each.name, each.name.replace("medium-replay", "medium"))}
    here = {name: card_figures(load_rebuilt(name)) for name in needed if find_built(name)}
    facts = replace(facts, cards={**facts.cards, **here})
    failed, unmatched = [], []
    for recipe in chosen:
        figures = likeness(recipe, facts)
        where = "built here" if recipe.name in here else "not built here: figures of cards.json"
        print(f"{recipe.name} ({where})\n{table([figure.texts for figure in figures])}\n{rests_on(recipe, facts)}\n")
        failed += [f"{stem(recipe.name)}, {figure.name}" for figure in figures if figure.failed]
        unmatched += [f"{stem(recipe.name)}, {figure.name}" for figure in figures if figure.verdict == UNMATCHED]
        if recipe.name not in facts.cards and not any(figure.limit for figure in figures):
            failed.append(f"{stem(recipe.name)}, no data set")
    return Checked(failed, unmatched)
