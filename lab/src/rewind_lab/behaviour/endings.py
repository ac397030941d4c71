"""How long an episode of an AntMaze -v1 set continues after it reached its own goal: the rule that chose it.

Stop at once if that gives D4RL's number of fragments within a factor of AT_ONCE; otherwise take the ending whose number
is nearest, by ratio. Counted for the goal that the set is rewarded for.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewind.rebuilt.recipes import find_recipe
from rewind_lab.behaviour.likeness import KINDS
from rewind_lab.cards.published import published

AT_ONCE = 1.7  # a factor: nearer than this, an episode stops at its own goal
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
    names = [f"rewind/antmaze-{kind}-v1" for kind in KINDS]
    return [_chosen(name, measured[name]["endings"]) for name in names if name in measured]


def _chosen(name: str, tried: Sequence[Mapping[str, Any]]) -> ChosenEnding:
    wanted = published(name.removeprefix("rewind/").replace("-v1", "-v0")).trajectories
    counts = {ending["dwell"]: ending["fragments"] for ending in tried}
    apart = {dwell: math.exp(abs(math.log(count / wanted))) for dwell, count in counts.items()}
    if apart[0] <= AT_ONCE:
        return ChosenEnding(name, wanted, counts, 0, f"at once is within a factor of {AT_ONCE}: {apart[0]:.2f}")
    nearest, second, *_ = sorted(apart, key=lambda dwell: apart[dwell])
    why = f"nearest: {apart[nearest]:.2f} times apart, then {_words(second)} with {apart[second]:.2f}"
    if nearest != 0:
        why += f"; at once {apart[0]:.2f}"
    return ChosenEnding(name, wanted, counts, nearest, why)


def _words(dwell: int | None) -> str:
    return "never" if dwell is None else "at once" if dwell == 0 else f"{dwell} step{'' if dwell == 1 else 's'}"
