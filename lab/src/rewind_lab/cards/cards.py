"""Data cards: a page for each rebuilt data set, beside the published figures of D4RL's set of the same name.

OUT/README.md        all sets in a table
OUT/NAME.md, .png    one set
OUT/cards.json       the figures of all pages, including those written earlier; others: rewind_lab.cards.likeness
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rewind.data import Trajectories
from rewind.data.catalogue import known_entry
from rewind.data.ogbench import REBUILT
from rewind.errors import MissingExtra, UsageError
from rewind.files import whole_file, write_json
from rewind.rebuilt.build import load_rebuilt
from rewind.rebuilt.orders import find_built
from rewind.rebuilt.recipes import GIVEN, ORACLE, Recipe, find_recipe, recipes
from rewind.rebuilt.summary import scores, summary
from rewind.report.inspection import Spread
from rewind.table import table, text
from rewind_lab.cards.cloned import cloned_rows, tasks_of
from rewind_lab.cards.likeness import FIGURES, CardFacts, likeness, read_facts, rests_on
from rewind_lab.cards.plot import draw_card
from rewind_lab.cards.published import Published, published

Rows = list[tuple[str, ...]]


def write_cards(names: Sequence[str], folder: Path, read_data: bool = True) -> list[Path]:
    """Build missing data sets, write the pages, and return them, the index first.

    names: empty for all that exist or can be built without a policy of the user's
    read_data: False to write the pages of known figures again, without looking at data
    """
    facts = read_facts(folder)
    possible = list(facts.cards)
    if read_data:
        possible = [name for name, each in recipes().items() if each.policies != (GIVEN,) or len(find_built(name)) == 1]
    chosen = [find_recipe(name) for name in names or possible]
    cards = dict(facts.cards)
    for recipe in chosen if read_data else ():
        data = load_rebuilt(recipe.name)
        cards[recipe.name] = card_figures(data)
        write_json(folder / FIGURES, {name: cards[name] for name in recipes() if name in cards})
        try:
            draw_card(data, recipe, folder / f"{_stem(recipe.name)}.png")
        except MissingExtra as error:
            print(f"{recipe.name}: no picture: {error}")
    facts = read_facts(folder)
    pages = [_write(folder / f"{_stem(recipe.name)}.md", card(recipe, facts, folder)) for recipe in chosen]
    return [_write(folder / "README.md", contents(facts)), *pages]


def check_cards(names: Sequence[str], folder: Path) -> int:
    """Print how like D4RL's the -v1 sets are, and return how many figures are outside their limits or missing.

    A data set that is built here is looked at; for others, the figures of the last build that a page was written from.
    """
    facts = read_facts(folder)
    chosen = [find_recipe(name) for name in names] or [each for each in recipes().values() if likeness(each, facts)]
    if without := [recipe.name for recipe in chosen if not likeness(recipe, facts)]:
        raise UsageError(f"{without[0]} is held to no limits: --check is for -v1 sets that are named after D4RL's")
    needed = {name for each in chosen for name in (each.name, each.name.replace("medium-replay", "medium"))}
    here = {name: card_figures(load_rebuilt(name)) for name in needed if find_built(name)}
    facts = replace(facts, cards={**facts.cards, **here})
    failed = 0
    for recipe in chosen:
        figures = likeness(recipe, facts)
        where = "built here" if recipe.name in here else "not built here: figures of cards.json"
        print(f"{recipe.name} ({where})\n{table([figure.texts for figure in figures])}\n{rests_on(recipe, facts)}\n")
        unknown = recipe.name not in facts.cards  # where nothing has a limit, nothing else would tell
        failed += max(unknown, sum(figure.failed for figure in figures))
    return failed


def _write(path: Path, page: str) -> Path:
    with whole_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def _stem(name: str) -> str:
    return name.removeprefix("rewind/")


def card_figures(data: Trajectories) -> dict[str, Any]:
    spreads = {"length": data.lengths, "return": data.returns}
    if (scored := scores(data)) is not None and data.notes["made"]["recipe"]["maze"] is None:
        spreads["normalised score"] = scored
    solved = {"solved_by_task": _solved_by_task(data.name)} if data.name and data.name.startswith(REBUILT) else {}
    return {
        **summary(data),
        **solved,
        "spreads": {name: asdict(Spread.of(values)) for name, values in spreads.items()},
        "made": data.notes["made"],
    }


def _solved_by_task(name: str) -> dict[str, float]:
    """The share of rows in which each task of an OGBench set is solved."""
    return {task: float(load_rebuilt(one).terminals.mean()) for task, one in tasks_of(name).items()}


def card(recipe: Recipe, facts: CardFacts, folder: Path) -> str:
    """The page of one data set. folder: where its picture is, if it has one"""
    figures, theirs = facts.cards[recipe.name], _theirs(recipe.name)
    picture = f"{_stem(recipe.name)}.png"
    sections = [f"# {recipe.name}", _warning(recipe, theirs)]
    sections += [f"![{recipe.name}]({picture})"] if (folder / picture).is_file() else []
    sections += [_table(_compared(figures, theirs)), *_likeness(recipe, facts), *_cloned(recipe, facts)]
    sections += ["## Trajectories", _table(_spreads(figures)), "## How it was made"]
    sections.append(_made(recipe, figures))
    return "\n\n".join(sections) + "\n"


def _theirs(name: str) -> Published | None:
    """What is published of D4RL's set of that name."""
    known = known_entry(name)
    return None if known is None else published(known.name)


def _likeness(recipe: Recipe, facts: CardFacts) -> list[str]:
    """How like D4RL's a -v1 set is: figures with limits, and the endings that were tried."""
    figures, theirs = likeness(recipe, facts), _theirs(recipe.name)
    if not figures or theirs is None:
        return []
    rows = [tuple(figure.texts.values()) for figure in figures]
    sections = ["## How like D4RL's", _table([("", "rebuilt", "D4RL's", "at most apart", "verdict"), *rows])]
    sections.append(f"Measured on {rests_on(recipe, facts)}. Empty: not known. Judged by `rewind data cards --check`.")
    if endings := facts.measured.get(recipe.name, {}).get("endings"):
        sections += ["## Where episodes end", _endings(recipe, facts, endings, theirs.trajectories)]
    return sections


def _cloned(recipe: Recipe, facts: CardFacts) -> list[str]:
    """Scores of behaviour cloning; empty where neither ours nor published ones are known."""
    known = [row for row in cloned_rows(recipe, facts, _theirs(recipe.name)) if any(row[1:])]
    if not known:
        return []
    whose = "OGBench's, as published" if recipe.policies == (ORACLE,) else "D4RL's"
    empty = "Empty: not run yet, or nothing is published that we know of."
    return ["## Behaviour cloning", _table([("score", "rebuilt", "seeds", whose), *known]), empty]


def _endings(recipe: Recipe, facts: CardFacts, tried: list[dict[str, Any]], wanted: int) -> str:
    """Which ending was chosen, why, and what the others give."""
    measured = facts.measured[recipe.name]
    assert recipe.maze is not None
    rows: Rows = [("ends after its own goal", "fragments, this goal", "fewest, 32 draws", "mean", "most")]
    for one in tried:
        steps = "never" if one["dwell"] is None else f"{one['dwell']} steps"
        rows.append((steps, *(f"{count:,}" for count in (one["fragments"], *one["fragments_of_other_goals"]))))
    goal = ", ".join(f"{at:g}" for at in measured["goal"])
    first = "; it is the first of these, whatever the seed, because with seed 0's own draw no ending comes near"
    fixed = first if recipe.maze.target is not None else ""
    return (
        f"An episode {_ending(recipe.maze.stop)}. How D4RL's files end theirs is not known. Of the endings tried, this "
        f"one gives a number of fragments near D4RL's {wanted:,}, or the nearest; what the walkers do does not depend "
        f"on it. Fragments per million rows, counted in {tried[-1]['rows']:,} rows of episodes that never stop, for "
        f"the goal that this set is rewarded for, ({goal}), and for 32 draws of it{fixed}:\n\n{_table(rows)}"
    )


def _warning(recipe: Recipe, theirs: Published | None) -> str:
    if theirs is None:
        if recipe.policies == (ORACLE,):
            return (
                f"**Made by Rewind with OGBench's own environment and oracles**, as OGBench made its "
                f"`{recipe.name.removeprefix(REBUILT)}`: the same policy, other random numbers. OGBench's relabeller "
                "gives the rewards. Without a task in its name, it has OGBench's default task."
            )
        return "**Made by Rewind**, in an environment of its own. D4RL has no such set."
    by, like = "policies of its own", "same recipe, other policies, other data"
    if recipe.policies == (GIVEN,):
        by, like = "a policy it was given", "same recipe, other data"
    elif "-demos-" in recipe.name:
        like = "as many demonstrations, by a noisy policy instead of people"
    paid = theirs.name.startswith(("door", "hammer", "relocate"))
    rewards = " Its rewards differ a little from D4RL's ([Adroit](../environments.md))." if paid else ""
    return (
        f"**Rebuilt by Rewind from {by}. This is not D4RL's `{theirs.name}`**: same environment, {like}. "
        f"Never report results on one as results on the other.{rewards}"
    )


def _compared(figures: dict[str, Any], theirs: Published | None) -> Rows:
    maze = "rewarded_rows" in figures
    ours = {
        "transitions": text(figures["transitions"]),
        "trajectories": text(figures["trajectories"]),
        "trajectories, ended at every terminal": text(figures["fragments"]) if maze else None,
        "mean length": f"{figures['mean_length']:.1f}",
        "mean return": f"{figures['mean_return']:.2f}",
        "mean normalised return": None if "solved_by_task" in figures else _score(figures.get("behaviour_score")),
        "rewarded rows": f"{figures['rewarded_rows']:.3%}" if maze else None,
    }
    if "reached_own_goal" in figures:
        ours["episodes that reach their own goal"] = f"{figures['reached_own_goal']:.1%}"
    solved = figures.get("solved_by_task", {})
    rows = {name: value for name, value in ours.items() if value is not None}
    rows |= {f"rows with the goal of {task}": f"{share:.2%}" for task, share in solved.items()}
    if solved:  # a script of OGBench's makes 1,000 episodes of 1,001 rows, the last of which are no transitions
        known = {"transitions": "1,000,000", "trajectories": "1,000", "mean length": "1000.0"}
        head = ("", "rebuilt", "OGBench's, as published")
        return [head, *((name, value, known.get(name, "")) for name, value in rows.items())]
    if theirs is None:
        return [("", "rebuilt"), *rows.items()]
    counted = "trajectories, ended at every terminal" if maze else "trajectories"
    published_figures = {
        "transitions": _size(theirs),
        counted: text(theirs.trajectories),
        "mean return": "" if theirs.mean_return is None else f"{theirs.mean_return:.2f}",
        "mean normalised return": _score(theirs.mean_score),
    }
    head = ("", "rebuilt", f"D4RL's {theirs.name}, as published")
    return [head, *((name, value, published_figures.get(name, "")) for name, value in rows.items())]


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}".replace("-0.0", "0.0")


def _size(theirs: Published) -> str:
    return ("about " if theirs.about else "") + text(theirs.transitions)


def _spreads(figures: dict[str, Any]) -> Rows:
    keys = ("smallest", "lower_quarter", "median", "upper_quarter", "largest", "mean")
    body = [(name, *(f"{spread[key]:,.1f}" for key in keys)) for name, spread in figures["spreads"].items()]
    return [("of a trajectory", "smallest", "25%", "median", "75%", "largest", "mean"), *body]


def _made(recipe: Recipe, figures: dict[str, Any]) -> str:
    made = figures["made"]
    facts = {
        "made by": f"`rewind data build {recipe.name}{' --policy FILE' if recipe.policies == (GIVEN,) else ''}`",
        "evaluated on": f"`{recipe.environment}`{_steps(recipe)}",
        "policies": ", ".join(map(_policy, made["policies"])),
        "seed, recipe": f"{made['seed']}, version {made['recipe_version']}",
        "digest": f"`{figures['digest']}`",
        "made with": ", ".join(f"{name} {version}" for name, version in made["versions"].items()),
    }
    if (maze := made["recipe"]["maze"]) is not None:
        facts["maze"] = (
            f"{maze['maze']}, starts: {maze['starts']}, goals: {maze['goals']}, noise {maze['noise']:g}; "
            f"an episode {_ending(maze['stop'])}; rewarded within {maze['reached']:g} m of "
            f"({maze['target'][0]:g}, {maze['target'][1]:g})"
        )
    return _table([("", ""), *facts.items()], numbers=False)


def _steps(recipe: Recipe) -> str:
    """The steps of an evaluation, where the data's episodes are as long."""
    known = known_entry(recipe.name)
    horizon = recipe.horizon if known is None else known.horizon
    return "" if recipe.policies == (ORACLE,) else f", {horizon:,} steps"


def _ending(stop: bool | Sequence[int]) -> str:
    if isinstance(stop, bool):
        return "ends at its own goal" if stop else "continues after its own goal"
    return f"ends {' to '.join(map(str, dict.fromkeys(stop)))} steps after it reached its own goal"


def _policy(one: dict[str, Any]) -> str:
    digest = "" if one["sha256"] is None else f" (`{one['sha256'][:12]}`)"
    source = f", from {one['meta']['source']}" if "source" in one["meta"] else ""
    return f"{one['name']}{digest}{source}: {one['transitions']:,}"


def contents(facts: CardFacts) -> str:
    heads = ("data set", "transitions", "D4RL", "trajectories", "D4RL", "mean normalised return", "D4RL", "like D4RL's")
    rows: Rows = [heads]
    for name, figures in facts.cards.items():
        theirs, counted = _theirs(name), figures["fragments" if "rewarded_rows" in figures else "trajectories"]
        ours = (text(figures["transitions"]), text(counted), _score(figures.get("behaviour_score")))
        beside = ("-",) * 3 if theirs is None else (_size(theirs), text(theirs.trajectories), _score(theirs.mean_score))
        verdicts = dict.fromkeys(figure.verdict for figure in likeness(find_recipe(name), facts) if figure.verdict)
        pairs = (cell for pair in zip(ours, beside, strict=True) for cell in pair)
        rows.append((f"[{name}]({_stem(name)}.md)", *pairs, ", ".join(verdicts)))
    return f"{HEAD}\n\n{_table(rows)}\n\n{FOOT}\n"


HEAD = """# Data cards

Rewind's rebuilt data sets, beside what is published of D4RL's sets of the same names. **They are other data**: same
environments and recipes, policies of our own ([how they are made](../rebuilt_data.md)). Use a -v1 set where there is
one: it is held to limits, and the last column says whether it is within them. Written by `rewind data cards`."""

FOOT = """In mazes, trajectories are counted here as in the published figures, where every terminal ends one; the pages
also have how many Rewind replays. In mazes the score of a trajectory is 100 if it comes to the rewarded goal, and 0 if
not. A dash: not published, as far as we know. `lab/src/rewind_lab/cards/published.toml` has the others' sources."""


def _table(rows: Rows, numbers: bool = True) -> str:
    """A table in Markdown; numbers, in all columns but the first, are right-aligned."""
    head, *body = rows
    line = ["---:" if numbers and column else "---" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, line, *body))
