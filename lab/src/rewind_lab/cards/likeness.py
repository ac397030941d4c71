"""How like D4RL's the -v1 data sets are, and whether that is like enough: `rewind data cards --check`.

Figures come from the JSON files beside the pages:

cards.json      of the data set itself, from the build that its page was written from
likeness.json   what a data set does not show: AntMaze's walkers with episodes that stop at their own goal, and the
                endings that were tried (`rewind behaviour likeness`)
cloned.json     scores of behaviour cloning (`rewind paper cloned`)
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewind.data.catalogue import known_entry
from rewind.files import read_json
from rewind.rebuilt.recipes import Recipe, find_recipe
from rewind_lab.cards.published import Published, published

FIGURES = "cards.json"
CLONED = ("BC", "10% BC")  # behaviour cloning on all the data, and on the best tenth of its trajectories
OWN_GOAL, THIRD, FACTOR = 0.08, 1 / 3, 2.0  # of AntMaze: points; share of the published figure; of the fragments
NEARER = 1.1  # a ratio that counts of fragments can be told apart by
MEDIUM, REPLAY, BEST = 3.0, 4.0, 10.0  # of MuJoCo: points of the mean scores, and of the replay's best episode
WITHIN, OUTSIDE, UNMATCHED, MISSING, FEW = "within", "OUTSIDE", "unmatched", "NOT MEASURED", "TOO FEW ROWS"


@dataclass(frozen=True)
class Likeness:
    """One figure beside the published one.

    ours, theirs: None if unknown
    limit: how far ours may be from theirs, in words; "" for no limit
    verdict: one of the five above, "" without a limit
    """

    name: str
    ours: float | None
    theirs: float | None
    form: str = "{:,.0f}"
    limit: str = ""
    verdict: str = ""

    @property
    def failed(self) -> bool:
        return self.verdict in (OUTSIDE, MISSING, FEW)

    @property
    def texts(self) -> dict[str, str]:
        """A row of a table, empty where something is unknown."""
        ours, theirs = ("" if value is None else self.form.format(value) for value in (self.ours, self.theirs))
        return {"figure": self.name, "rebuilt": ours, "D4RL": theirs, "limit": self.limit, "verdict": self.verdict}


@dataclass(frozen=True)
class CardFacts:
    """What pages are written from: each by data set."""

    cards: Mapping[str, Any]
    measured: Mapping[str, Any]
    cloned: Mapping[str, Any]


def read_facts(folder: Path) -> CardFacts:
    """The files beside the pages; nothing from those that are missing."""
    files = [folder / name for name in (FIGURES, "likeness.json", "cloned.json")]
    cards, measured, cloned = (read_json(path) if path.is_file() else {} for path in files)
    return CardFacts(cards, measured.get("sets", {}), cloned)


def likeness(recipe: Recipe, facts: CardFacts) -> list[Likeness]:
    """The figures of a -v1 set beside the published ones; empty for other sets.

    Fewer rows than the recipe has, which is about a million, say too little: then no figure is within its limit.
    """
    known = known_entry(recipe.name)
    if known is None or not recipe.name.endswith("-v1"):
        return []
    theirs, figures = published(known.name), facts.cards.get(recipe.name, {})
    if recipe.maze is not None:
        found = _antmaze(recipe.maze.stop, theirs, figures, facts.measured.get(recipe.name, {}))
    else:
        found = _scored(recipe.name, theirs, figures, facts.cards)
    few = any(0 < rows < size for rows, size in _rows(recipe, facts))
    return [replace(figure, verdict=FEW) if few and figure.verdict not in ("", MISSING) else figure for figure in found]


def _rows(recipe: Recipe, facts: CardFacts) -> list[tuple[float, int]]:
    """What figures with limits rest on: numbers of rows, 0 where nothing is measured, and how many are needed."""
    own = facts.cards.get(recipe.name, {})
    rows = [(own.get("transitions", 0), recipe.size)]
    if recipe.maze is not None and not _of_the_set(own):
        rows.append((_walker(recipe, facts)["rows"], recipe.size))
    if "medium-replay" in recipe.name:
        medium = find_recipe(recipe.name.replace("medium-replay", "medium"))
        rows.append((facts.cards.get(medium.name, {}).get("transitions", 0), medium.size))
    return rows


def _walker(recipe: Recipe, facts: CardFacts) -> Mapping[str, float]:
    walker: Mapping[str, float] = facts.measured.get(recipe.name, {}).get("walker", {"rows": 0})
    return walker


def rests_on(recipe: Recipe, facts: CardFacts) -> str:
    """How many rows the figures are of, as a sentence."""
    own = facts.cards.get(recipe.name, {})
    data = f"the data set ({own['transitions']:,} rows, seed {own['made']['seed']})" if own else "no data set"
    if recipe.maze is None:
        return f"Measured on {data}."
    stopped = f"{_walker(recipe, facts)['rows']:,.0f} rows of episodes that stop at their own goal"
    if _of_the_set(own):
        return f"Measured on {data}; the figures from the steps to the own goal on, on {stopped}."
    return f"Fragments are measured on {data}, all other figures on {stopped}."


def _of_the_set(figures: Mapping[str, Any]) -> dict[str, float]:
    """The walkers' figures that a data set shows itself, because its episodes stop at their own goal."""
    if not figures or figures["made"]["recipe"]["maze"]["stop"] is not True:
        return {}
    names = {"reached": "reached_own_goal", "back": "rows_on_the_back", "saturated": "saturated_actions"}
    return {key: figures[name] for key, name in names.items()}


def _antmaze(
    stop: bool | tuple[int, int], theirs: Published, figures: Mapping[str, Any], measured: Mapping[str, Any]
) -> list[Likeness]:
    endings = measured.get("endings", [])
    at_once = {key: endings[0][key] for key in ("met", "rewarded_rows")} if endings else {}
    walker = {**at_once, **measured.get("walker", {}), **_of_the_set(figures)}
    fragments, wanted = figures.get("fragments"), theirs.trajectories
    verdict = MISSING if fragments is None else _fragments(stop, fragments, wanted, endings)

    def of_walker(name: str, key: str, form: str) -> Likeness:
        return Likeness(name, walker.get(key), theirs.walker[key], form)

    third = {key: THIRD * theirs.walker[key] for key in ("back", "saturated")}
    return [
        _limited(of_walker("episodes that reach their own goal", "reached", "{:.1%}"), OWN_GOAL, "8 points"),
        _limited(of_walker("rows on the back", "back", "{:.1%}"), third["back"], "a third"),
        _limited(of_walker("saturated actions", "saturated", "{:.1%}"), third["saturated"], "a third"),
        Likeness("fragments", fragments, wanted, limit="a factor of 2", verdict=verdict),
        of_walker("steps to the own goal", "steps", "{:.0f}"),
        of_walker("standard deviation of actions", "action_std", "{:.2f}"),
        of_walker("episodes per million rows", "episodes_per_million", "{:,.0f}"),
        of_walker("episodes that meet the rewarded goal", "met", "{:.0%}"),
        of_walker("rewarded rows if episodes stop", "rewarded_rows", "{:.2%}"),
    ]


def _scored(name: str, theirs: Published, figures: Mapping[str, Any], cards: Mapping[str, Any]) -> list[Likeness]:
    mean = Likeness("mean score", figures.get("behaviour_score"), theirs.mean_score, "{:.1f}")
    best = Likeness("best score", _best(figures), theirs.best_score, "{:.1f}")
    if "medium-replay" in name:
        medium = _best(cards.get(name.replace("medium-replay", "medium"), {}))
        reached = _limited(best, BEST, f"{BEST:g} points of the best of medium-v1", medium)
        mean, best = _limited(mean, REPLAY, f"{REPLAY:g} points"), replace(reached, theirs=theirs.best_score)
    elif name.endswith("-medium-v1"):
        mean = _limited(mean, MEDIUM, f"{MEDIUM:g} points")
    return [Likeness("trajectories", figures.get("trajectories"), theirs.trajectories), mean, best]


def _limited(figure: Likeness, span: float, limit: str, of: float | None = None) -> Likeness:
    """The figure with a limit: at most `span` from `of`, or from the published figure."""
    of = figure.theirs if of is None else of
    if figure.ours is None or of is None:
        return replace(figure, limit=limit, verdict=MISSING)
    return replace(figure, limit=limit, verdict=WITHIN if abs(figure.ours - of) <= span else OUTSIDE)


def _fragments(stop: bool | tuple[int, int], ours: float, theirs: float, endings: Sequence[Mapping[str, Any]]) -> str:
    """Unmatched: no ending that was tried comes within the factor, and none is nearer (by NEARER) than the chosen one.

    A set whose own count is not what its ending gave when it was tried is outside.
    """
    if _near(ours, theirs):
        return WITHIN
    first, last = ((0, 0) if stop else (math.inf, math.inf)) if isinstance(stop, bool) else stop
    counts = {math.inf if one["dwell"] is None else one["dwell"]: one["fragments"] for one in endings}
    apart = {dwell: abs(math.log(count / theirs)) for dwell, count in counts.items()}
    chosen = [dwell for dwell in counts if first <= dwell <= last and _near(ours, counts[dwell])]
    if not chosen or any(_near(count, theirs) for count in counts.values()):
        return OUTSIDE
    return UNMATCHED if min(apart[dwell] for dwell in chosen) <= min(apart.values()) + math.log(NEARER) else OUTSIDE


def _near(count: float, other: float) -> bool:
    return other / FACTOR <= count <= other * FACTOR


def _best(figures: Mapping[str, Any]) -> float | None:
    """The highest normalised score of a trajectory."""
    spread = figures.get("spreads", {}).get("normalised score")
    return None if spread is None else float(spread["largest"])
