"""Data cards: a page for each rebuilt data set, beside the published figures of D4RL's set of the same name.

OUT/README.md        all sets in a table
OUT/NAME.md, .png    one set
OUT/cards.json       the figures of all pages, including those written earlier; others: rewind_lab.cards.likeness
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rewind.data import Trajectories
from rewind.data.catalogue import known_entry
from rewind.data.ogbench import REBUILT
from rewind.errors import MissingExtra
from rewind.files import whole_file, write_json
from rewind.rebuilt.build import load_rebuilt
from rewind.rebuilt.orders import find_built
from rewind.rebuilt.recipes import GIVEN, ORACLE, Recipe, find_recipe, is_rebuilt, later_version, recipes
from rewind.rebuilt.summary import scores, summary
from rewind.report.inspection import Spread
from rewind.table import text
from rewind_lab.cards.cloned import cloned_notes, cloned_rows, tasks_of
from rewind_lab.cards.endings import ending_in_words, ending_section
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
            draw_card(data, recipe, folder / f"{stem(recipe.name)}.png")
        except MissingExtra as error:
            print(f"{recipe.name}: no picture: {error}")
    facts = read_facts(folder)
    pages = [_write(folder / f"{stem(recipe.name)}.md", card(recipe, facts, folder)) for recipe in chosen]
    return [_write(folder / "README.md", contents(facts)), *pages]


def _write(path: Path, page: str) -> Path:
    with whole_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def stem(name: str) -> str:
    """rewind/hopper-medium-v1 -> hopper-medium-v1, which its files are named after"""
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
    picture = f"{stem(recipe.name)}.png"
    sections = [f"# {recipe.name}", _warning(recipe, theirs), *_instead(recipe)]
    sections += [f"![{recipe.name}]({picture})"] if (folder / picture).is_file() else []
    sections += [
        _table(_compared(figures, theirs)),
        *_longer(recipe),
        *_likeness(recipe, facts),
        *_cloned(recipe, facts),
    ]
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
    limited = any(figure.limit for figure in figures)
    head, columns = ("", "rebuilt", "D4RL's", "at most apart", "verdict"), 5 if limited else 3
    rows = [tuple(figure.texts.values())[:columns] for figure in figures]
    checked = "`rewind data cards --check` checks the limits." if limited else "No figure of this set has a limit."
    sections = ["## How like D4RL's", _table([head[:columns], *rows])]
    sections.append(f"{rests_on(recipe, facts)} Empty: not known. {checked}")
    measured = facts.measured.get(recipe.name, {})
    if measured.get("endings"):
        why, tried = ending_section(recipe, measured, facts.cards[recipe.name]["fragments"])
        sections += ["## Where episodes end", why, _table(tried)]
    return sections


def _cloned(recipe: Recipe, facts: CardFacts) -> list[str]:
    """Scores of behaviour cloning; empty where neither ours nor published ones are known."""
    known = [row for row in cloned_rows(recipe, facts, _theirs(recipe.name)) if any(row[1:])]
    if not known:
        return []
    whose = "OGBench's, as published" if recipe.policies == (ORACLE,) else "D4RL's"
    table = _table([("score", "rebuilt", "seeds", "updates", whose), *known])
    return ["## Behaviour cloning", table, *cloned_notes(recipe)]


def _warning(recipe: Recipe, theirs: Published | None) -> str:
    if theirs is None:
        if recipe.policies == (ORACLE,):
            return (
                f"**Made by Rewind with OGBench's own environment and oracles**, as OGBench made its "
                f"`{recipe.name.removeprefix(REBUILT)}`: the same policy, other random numbers. OGBench's relabeller "
                "gives the rewards. Without a task in its name, it has OGBench's default task. Every trajectory is cut "
                "after 1,000 steps; a row that solves the task is a terminal (y = r), but its trajectory goes on."
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


def _instead(recipe: Recipe) -> list[str]:
    """Where a reader of an earlier version should go."""
    later = later_version(recipe.name)
    if later is None:
        return []
    why = "it needs no policy of yours" if recipe.policies == (GIVEN,) else "it is nearer to D4RL's"
    return [f"**Use [{later}]({stem(later)}.md)**: {why}. This set is kept to repeat earlier results."]


def _longer(recipe: Recipe) -> list[str]:
    """Why the scores of episodes that are longer than an evaluation's are high."""
    known = known_entry(recipe.name)
    steps = longest(recipe)
    if known is None or steps <= known.horizon:
        return []
    some = "Its" if len(recipe.policies) == 1 else "Half of its rows are demonstrations, whose"
    return [
        f"{some} episodes have {steps} steps. The score's scale is for evaluations of {known.horizon} steps, and "
        "longer episodes collect more reward, so these scores are too high to compare with an evaluation's."
    ]


def longest(recipe: Recipe) -> int:
    """Steps of its longest episodes; a set that is repeated in it has its own."""
    return max([recipe.horizon, *(find_recipe(name).horizon for name in recipe.policies if is_rebuilt(name))])


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
            f"an episode {ending_in_words(maze['stop'])}; rewarded within {maze['reached']:g} m of "
            f"({maze['target'][0]:g}, {maze['target'][1]:g})"
        )
    return _table([("", ""), *facts.items()], numbers=False)


def _steps(recipe: Recipe) -> str:
    """The steps of an evaluation, where the data's episodes are as long."""
    known = known_entry(recipe.name)
    horizon = recipe.horizon if known is None else known.horizon
    return "" if recipe.policies == (ORACLE,) else f", {horizon:,} steps"


def _policy(one: dict[str, Any]) -> str:
    digest = "" if one["sha256"] is None else f" (`{one['sha256'][:12]}`)"
    source = f", from {one['meta']['source']}" if "source" in one["meta"] else ""
    return f"{one['name']}{digest}{source}: {one['transitions']:,}"


def contents(facts: CardFacts) -> str:
    heads = ("data set", "transitions", "D4RL", "trajectories", "D4RL", "mean normalised return", "D4RL", "like D4RL's")
    rows: Rows = [heads]
    for name, figures in facts.cards.items():
        theirs, counted = _theirs(name), figures["fragments" if "rewarded_rows" in figures else "trajectories"]
        mark = " *" if _longer(find_recipe(name)) else ""
        ours = (text(figures["transitions"]), text(counted), _score(figures.get("behaviour_score")) + mark)
        beside = ("-",) * 3 if theirs is None else (_size(theirs), text(theirs.trajectories), _score(theirs.mean_score))
        verdicts = dict.fromkeys(figure.verdict for figure in likeness(find_recipe(name), facts) if figure.verdict)
        pairs = (cell for pair in zip(ours, beside, strict=True) for cell in pair)
        rows.append((f"[{name}]({stem(name)}.md)", *pairs, ", ".join(verdicts)))
    return f"{HEAD}\n\n{_table(rows)}\n\n{FOOT}\n"


HEAD = """# Data cards

Rewind's rebuilt data sets, beside what is published of D4RL's sets of the same names. **They are other data**: same
environments and recipes, policies of our own ([how they are made](../rebuilt_data.md)). Use a -v1 set where there is
one: most are held to limits, and the last column says whether they are within them (empty: no figure has a limit).
Written by `rewind data cards`."""

FOOT = """In mazes, trajectories are counted here as in the published figures, where every terminal ends one; the pages
also have how many Rewind replays. In mazes the score of a trajectory is 100 if it comes to the rewarded goal, and 0 if
not. A star: the data's episodes are longer than an evaluation's (200 steps against 100 for the pen), and the score's
scale is for an evaluation's, so these scores are too high to compare with a policy's. A dash: not published, as far as
we know. `lab/src/rewind_lab/cards/published.toml` has the others' sources."""


def _table(rows: Rows, numbers: bool = True) -> str:
    """A table in Markdown; numbers, in all columns but the first, are right-aligned."""
    head, *body = rows
    line = ["---:" if numbers and column else "---" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, line, *body))
