"""Data cards: a page for each rebuilt data set, beside the published figures of D4RL's set of the same name.

OUT/README.md        all sets in a table
OUT/NAME.md, .png    one set
OUT/cards.json       the figures of all pages, including those written earlier
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rewind.data import Trajectories
from rewind.data.catalogue import known_entry
from rewind.data.published import Published, published
from rewind.errors import require
from rewind.files import read_json, whole_file, write_json
from rewind.rebuilt.build import load_rebuilt
from rewind.rebuilt.orders import find_built
from rewind.rebuilt.recipes import GIVEN, Recipe, find_recipe, recipes
from rewind.rebuilt.summary import scores, summary
from rewind.report.figures import BLUE, GREY, new_figure, styled
from rewind.report.inspection import Spread
from rewind.report.inspection_plot import histogram
from rewind.report.maze_plot import draw_goals, draw_maze
from rewind.table import text

FIGURES = "cards.json"
DPI, COLOURS = 100, 256  # for small files
Rows = list[tuple[str, ...]]


def write_cards(names: Sequence[str], folder: Path) -> list[Path]:
    """Build missing data sets, write the pages, and return them, the index first.

    names: empty for all that exist or can be built without a policy of the user's
    """
    chosen = [find_recipe(name) for name in names] or [recipe for recipe in recipes().values() if _possible(recipe)]
    index: dict[str, Any] = read_json(folder / FIGURES) if (folder / FIGURES).is_file() else {}
    pages = []
    for recipe in chosen:
        data = load_rebuilt(recipe.name)
        figures = card_figures(data)
        draw_card(data, recipe, folder / f"{_stem(recipe.name)}.png")
        pages.append(_write(folder / f"{_stem(recipe.name)}.md", card(recipe, figures)))
        index[recipe.name] = figures
    ordered = {name: index[name] for name in recipes() if name in index}
    write_json(folder / FIGURES, ordered)
    return [_write(folder / "README.md", contents(ordered)), *pages]


def _possible(recipe: Recipe) -> bool:
    return recipe.policies != (GIVEN,) or len(find_built(recipe.name)) == 1


def _write(path: Path, page: str) -> Path:
    with whole_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def _stem(name: str) -> str:
    return name.removeprefix("rewind/")


def card_figures(data: Trajectories) -> dict[str, Any]:
    """All figures on the page of a data set."""
    spreads = {"length": data.lengths, "return": data.returns}
    if (scored := scores(data)) is not None and data.notes["made"]["recipe"]["maze"] is None:
        spreads["normalised score"] = scored
    return {
        **summary(data),
        "spreads": {name: asdict(Spread.of(values)) for name, values in spreads.items()},
        "made": data.notes["made"],
    }


def card(recipe: Recipe, figures: dict[str, Any]) -> str:
    """The page of one data set."""
    known = known_entry(recipe.name)
    theirs = None if known is None else published(known.name)
    title = f"# {recipe.name}\n\n{_warning(recipe, theirs)}\n\n![{recipe.name}]({_stem(recipe.name)}.png)"
    sections = [title, _table(_compared(figures, theirs)), _table(_spreads(figures)), _made(recipe, figures)]
    return "\n\n".join(sections) + "\n"


def _warning(recipe: Recipe, theirs: Published | None) -> str:
    if theirs is None:
        return "**Made by Rewind**, in an environment of its own. D4RL has no such set."
    by, other = "policies of its own", "other policies, "
    if recipe.policies == (GIVEN,):
        by, other = "a policy it was given", ""
    return (
        f"**Rebuilt by Rewind from {by}. This is not D4RL's `{theirs.name}`**: same environment, same recipe, "
        f"{other}other data. Never report results on one as results on the other."
    )


def _compared(figures: dict[str, Any], theirs: Published | None) -> Rows:
    maze = "rewarded_rows" in figures
    ours = {
        "transitions": text(figures["transitions"]),
        "trajectories": text(figures["trajectories"]),
        "trajectories, ended at every terminal": text(figures["fragments"]) if maze else None,
        "mean length": f"{figures['mean_length']:.1f}",
        "mean return": f"{figures['mean_return']:.2f}",
        "mean normalised return": _score(figures.get("behaviour_score")),
        "rewarded rows": f"{figures['rewarded_rows']:.3%}" if maze else None,
        "episodes that reach their own goal": _percent(figures.get("reached_own_goal")),
    }
    rows = {name: value for name, value in ours.items() if value is not None}
    if theirs is None:
        return [("", "rebuilt"), *rows.items()]
    counted = "trajectories, ended at every terminal" if maze else "trajectories"
    published_figures = {
        "transitions": ("about " if theirs.about else "") + text(theirs.transitions),
        counted: text(theirs.trajectories),
        "mean return": "-" if theirs.mean_return is None else f"{theirs.mean_return:.2f}",
        "mean normalised return": _score(theirs.mean_score),
    }
    head = ("", "rebuilt", f"D4RL's {theirs.name}, as published")
    return [head, *((name, value, published_figures.get(name, "-")) for name, value in rows.items())]


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}".replace("-0.0", "0.0")


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{value:.1%}"


def _spreads(figures: dict[str, Any]) -> Rows:
    keys = {"smallest": "smallest", "lower_quarter": "25%", "median": "median", "upper_quarter": "75%"}
    keys |= {"largest": "largest", "mean": "mean"}
    body = [(name, *(f"{spread[key]:,.1f}" for key in keys)) for name, spread in figures["spreads"].items()]
    return [("of a trajectory", *keys.values()), *body]


def _made(recipe: Recipe, figures: dict[str, Any]) -> str:
    made = figures["made"]
    policies = ", ".join(_policy(one) for one in made["policies"])
    facts = {
        "made by": f"`rewind data build {recipe.name}{' --policy FILE' if recipe.policies == (GIVEN,) else ''}`",
        "evaluated on": f"`{recipe.environment}`, {recipe.horizon:,} steps",
        "policies": policies,
        "seed, recipe": f"{made['seed']}, version {made['recipe_version']}",
        "digest": f"`{figures['digest']}`",
        "made with": ", ".join(f"{name} {version}" for name, version in made["versions"].items()),
    }
    if (maze := made["recipe"]["maze"]) is not None:
        stop = "ends at its own goal" if maze["stop"] else "continues after its own goal"
        facts["maze"] = (
            f"{maze['maze']}, starts: {maze['starts']}, goals: {maze['goals']}, noise {maze['noise']:g}; "
            f"an episode {stop}; rewarded within {maze['reached']:g} m of "
            f"({maze['target'][0]:g}, {maze['target'][1]:g})"
        )
    return _table([("", "how it was made"), *facts.items()], numbers=False)


def _policy(one: dict[str, Any]) -> str:
    digest = "" if one["sha256"] is None else f" (`{one['sha256'][:12]}`)"
    return f"{one['name']}{digest}: {one['transitions']:,}"


def contents(index: dict[str, Any]) -> str:
    """The page with a table of all sets."""
    rows: Rows = [("data set", "transitions", "D4RL", "trajectories", "D4RL", "mean normalised return", "D4RL")]
    for name, figures in index.items():
        known = known_entry(name)
        theirs = None if known is None else published(known.name)
        counted = figures["fragments"] if "rewarded_rows" in figures else figures["trajectories"]
        rows.append(
            (
                f"[{name}]({_stem(name)}.md)",
                text(figures["transitions"]),
                "-" if theirs is None else ("about " if theirs.about else "") + text(theirs.transitions),
                text(counted),
                "-" if theirs is None else text(theirs.trajectories),
                _score(figures.get("behaviour_score")),
                "-" if theirs is None else _score(theirs.mean_score),
            )
        )
    return f"{HEAD}\n\n{_table(rows)}\n\n{FOOT}\n"


HEAD = """# Data cards

Rewind's rebuilt data sets, beside what is published of D4RL's sets of the same names. **They are other data**: same
environments and recipes, policies of our own ([how they are made](../rebuilt_data.md)). Written by `rewind data
cards`."""

FOOT = """In mazes, trajectories are counted here as in the published figures, where every terminal ends one; the pages
also have how many Rewind replays. In mazes the score of a trajectory is 100 if it comes to the rewarded goal, and 0 if
not. A dash: not published, as far as we know. `src/rewind/data/published.toml` says where the others come from."""


def _table(rows: Rows, numbers: bool = True) -> str:
    """A table in Markdown; numbers, in all columns but the first, are right-aligned."""
    head, *body = rows
    line = ["---:" if numbers and column else "---" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, line, *body))


def draw_card(data: Trajectories, recipe: Recipe, path: Path) -> None:
    """Write the picture, a small PNG."""
    with styled():
        figure = _maze_card(data, recipe) if recipe.maze is not None else _score_card(data)
        _save_small(figure, path)


def _score_card(data: Trajectories) -> Any:
    figure = new_figure(12.0, 3.6)
    figure.set_layout_engine("constrained")
    quality, lengths, order = figure.subplots(1, 3)
    scored = scores(data)
    values, unit = (data.returns, "return") if scored is None else (scored, "normalised score")
    histogram(quality, values, data.terminated, unit, "Scores" if scored is not None else "Returns")
    histogram(lengths, data.lengths, data.terminated, "steps", "Lengths")
    order.plot((data.starts + data.lengths) / 1000, values, ".", color=BLUE, markersize=1.5, alpha=0.5)
    order.set(xlabel="thousand transitions", ylabel=unit, title="In the order of the data")
    return figure


def _maze_card(data: Trajectories, recipe: Recipe) -> Any:
    from rewind.envs.ant_model import CELL
    from rewind.envs.mazes import find_maze

    assert recipe.maze is not None
    maze, cell = find_maze(recipe.maze.maze), CELL if "AntMaze" in recipe.environment else 1.0
    left, right, bottom, top = maze.bounds(cell)
    width = 3.2 * (right - left) / (top - bottom) + 1.6
    figure = new_figure(width + 4.6, 4.2)
    figure.set_layout_engine("constrained")
    places, lengths = figure.subplots(1, 2, width_ratios=(width, 4.6))
    draw_maze(places, maze, cell)
    edges = [np.arange(low, high + cell / 8, cell / 8) for low, high in ((left, right), (bottom, top))]
    counts, *_ = np.histogram2d(data.observations[:, 0], data.observations[:, 1], edges)
    shown = np.ma.masked_equal(np.log10(np.maximum(counts, 1.0)).T, 0.0)
    image = places.pcolormesh(*edges, shown, cmap="Oranges", vmax=1.3 * shown.max(), rasterized=True, zorder=1)
    figure.colorbar(image, ax=places, label="states, powers of 10", shrink=0.9)
    draw_goals(places, np.array(recipe.maze.target), recipe.maze.reached)
    places.set_title("Places visited", loc="left")
    places.set_title("green: the goal that is rewarded", loc="right", fontsize=9, color=GREY)
    histogram(lengths, data.lengths, data.terminated, "steps", "Lengths")
    return figure


def _save_small(figure: Any, path: Path) -> None:
    """Write a PNG with few colours: a fifth of the size, and it looks the same."""
    images = require("PIL.Image", "plot")
    with whole_file(path) as temporary:
        figure.savefig(temporary, dpi=DPI, metadata={"Software": None})
        with images.open(temporary) as image:
            small = image.convert("RGB").quantize(COLOURS, method=images.Quantize.MAXCOVERAGE)
        small.save(temporary, optimize=True)
