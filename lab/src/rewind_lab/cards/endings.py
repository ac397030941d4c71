"""How long an episode of an AntMaze -v1 set continues after it reached its own goal: the rule that chose it.

Stop at once if that gives D4RL's number of fragments within a factor of AT_ONCE; otherwise take the ending whose number
is nearest, by ratio. Counted for the goal that the set is rewarded for.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewind.rebuilt.recipes import Recipe, find_recipe, recipes
from rewind_lab.cards.likeness import FACTOR
from rewind_lab.cards.published import published

AT_ONCE = 1.7  # a factor: nearer than this, an episode stops at its own goal
RULE = (
    f"stop at once if that gives D4RL's number of fragments within a factor of {AT_ONCE}, otherwise take the ending "
    "whose number is nearest, by ratio"
)
Stop = bool | tuple[int, int]  # as in a recipe


@dataclass(frozen=True)
class ChosenEnding:
    """What the rule chooses for a data set.

    counts: fragments per million rows by ending; None: an episode never stops
    """

    name: str
    published: int
    counts: Mapping[int | None, int]
    dwell: int | None
    why: str

    @property
    def stop(self) -> Stop:
        """As a recipe has it."""
        if self.dwell == 0:
            return True
        return False if self.dwell is None else (self.dwell, self.dwell)

    @property
    def shipped(self) -> Stop:
        """What the recipe has."""
        maze = find_recipe(self.name).maze
        assert maze is not None, "AntMaze's recipes have mazes"
        return maze.stop

    @property
    def texts(self) -> dict[str, str]:
        """A row of a table."""
        tried = {_words(dwell): f"{count:,}" for dwell, count in self.counts.items()}
        agrees = "yes" if self.stop == self.shipped else "NO"
        verdict = {"D4RL": f"{self.published:,}", "chosen": _words(self.dwell), "shipped": agrees}
        return {"set": self.name.removeprefix("rewind/"), **tried, **verdict}


def chosen_endings(measured: Mapping[str, Any]) -> list[ChosenEnding]:
    """What the rule chooses for each set. measured: `sets` of likeness.json"""
    return [chosen_ending(name, measured[name]["endings"]) for name in recipes() if name in measured]


def chosen_ending(name: str, tried: Sequence[Mapping[str, Any]]) -> ChosenEnding:
    wanted = published(name.removeprefix("rewind/").replace("-v1", "-v0")).trajectories
    counts = {ending["dwell"]: ending["fragments"] for ending in tried}
    apart = {dwell: _apart(count, wanted) for dwell, count in counts.items()}
    if apart[0] <= AT_ONCE:
        return ChosenEnding(name, wanted, counts, 0, f"at once is within a factor of {AT_ONCE}: {apart[0]:.2f}")
    nearest, second, *_ = sorted(apart, key=lambda dwell: apart[dwell])
    why = f"nearest: {apart[nearest]:.2f} times apart, then {_words(second)} with {apart[second]:.2f}"
    if nearest != 0:
        why += f"; at once {apart[0]:.2f}"
    return ChosenEnding(name, wanted, counts, nearest, why)


def ending_section(recipe: Recipe, measured: Mapping[str, Any], fragments: int) -> tuple[str, list[tuple[str, ...]]]:
    """Which ending a data set has and why, for its card, and a table of what the others give.

    measured: of that set in likeness.json
    fragments: of the data set itself
    """
    maze, tried = recipe.maze, measured["endings"]
    assert maze is not None, "AntMaze's recipes have mazes"
    goal = ", ".join(f"{at:g}" for at in measured["goal"])
    first = "; it is the first of these, whatever the seed, because with seed 0's own draw no ending comes near"
    text = (
        f"An episode {ending_in_words(maze.stop)}. How D4RL's files end theirs is not known, so a rule chose: {RULE}. "
        f"{_reason(chosen_ending(recipe.name, tried), fragments)} What the walkers do does not depend on it. Fragments "
        f"per million rows, counted in {tried[-1]['rows']:,} rows of episodes that never stop, for the goal that this "
        f"set is rewarded for, ({goal}), and for 32 draws of it{first if maze.target is not None else ''}:"
    )
    rows: list[tuple[str, ...]] = [
        ("ends after its own goal", "fragments, this goal", "fewest, 32 draws", "mean", "most")
    ]
    for one in tried:
        counts = (one["fragments"], *one["fragments_of_other_goals"])
        rows.append((_words(one["dwell"]), *(f"{count:,}" for count in counts)))
    return text, rows


def _reason(chosen: ChosenEnding, fragments: int) -> str:
    """Why the rule chose an ending. fragments: of the data set"""
    apart = {dwell: _apart(count, chosen.published) for dwell, count in chosen.counts.items()}
    at_once = f"Stopping at once gives {chosen.counts[0]:,} against D4RL's {chosen.published:,}"
    if apart[0] <= AT_ONCE:
        return f"{at_once}, a factor of {apart[0]:.2f}."
    if apart[chosen.dwell] > FACTOR:
        return (
            f"**No ending comes near D4RL's number** ({fragments:,} in this set against {chosen.published:,}), so the "
            f'nearest was taken: "{_words(chosen.dwell)}", a factor of {apart[chosen.dwell]:.2f}.'
        )
    if chosen.dwell == 0:
        return f"{at_once}, a factor of {apart[0]:.2f}: no other ending is nearer."
    return (
        f'{at_once}, a factor of {apart[0]:.2f}. The nearest ending, "{_words(chosen.dwell)}", gives '
        f"{chosen.counts[chosen.dwell]:,}, a factor of {apart[chosen.dwell]:.2f}."
    )


def _apart(count: int, other: int) -> float:
    return math.exp(abs(math.log(count / other)))


def ending_in_words(stop: bool | Sequence[int]) -> str:
    """What an episode does at its own goal."""
    if isinstance(stop, bool):
        return "ends at its own goal" if stop else "continues after its own goal"
    return f"ends {' to '.join(map(str, dict.fromkeys(stop)))} steps after it reached its own goal"


def _words(dwell: int | None) -> str:
    return "never" if dwell is None else "at once" if dwell == 0 else f"{dwell} step{'' if dwell == 1 else 's'}"
