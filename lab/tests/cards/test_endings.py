"""The rule that chose how long episodes of the AntMaze -v1 sets continue after their goal."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewind.errors import DataError
from rewind.files import read_json
from rewind.rebuilt.recipes import find_recipe
from rewind_lab.behaviour.commands import BehaviourEndings
from rewind_lab.behaviour.likeness import KINDS
from rewind_lab.cards.endings import chosen_endings

MEASURED = Path(__file__).parents[3] / "docs" / "data_cards" / "likeness.json"
UMAZE = "rewind/antmaze-umaze-v1"  # D4RL's has 10,154 fragments


def counted(**fragments: int) -> dict[str, object]:
    """What each ending gives in umaze, by its steps; `never`."""
    dwells = {name: None if name == "never" else int(name.removeprefix("after_")) for name in fragments}
    return {UMAZE: {"endings": [{"dwell": dwells[name], "fragments": count} for name, count in fragments.items()]}}


def test_the_shipped_recipes_are_what_the_rule_chooses() -> None:
    found = {ending.name: ending for ending in chosen_endings(read_json(MEASURED)["sets"])}
    assert set(found) == {f"rewind/antmaze-{kind}-v1" for kind in KINDS}
    for name, ending in found.items():
        maze = find_recipe(name).maze
        assert maze is not None and ending.stop == maze.stop, name


def test_the_counts_are_of_the_goal_that_a_set_is_rewarded_for() -> None:
    cards = read_json(MEASURED.with_name("cards.json"))
    for name, measured in read_json(MEASURED)["sets"].items():
        assert measured["goal"] == pytest.approx(cards[name]["made"]["recipe"]["maze"]["target"], abs=1e-3), name


@pytest.mark.parametrize(
    ("fragments", "stop"),
    [
        ({"after_0": 6_000, "after_8": 10_154}, True),  # near enough, although another ending is nearer
        ({"after_0": 5_900, "after_8": 10_154}, (8, 8)),
        ({"after_0": 20_000, "after_8": 30_000, "never": 40_000}, True),  # none is near: the nearest
        ({"after_0": 1_000, "after_250": 7_000, "never": 14_000}, False),  # by ratio, not by difference
    ],
)
def test_episodes_stop_at_once_within_a_factor_or_else_where_the_count_is_nearest(
    fragments: dict[str, int], stop: object
) -> None:
    (found,) = chosen_endings(counted(**fragments))
    assert found.stop == stop


def test_the_command_prints_counts_choice_and_reason(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    BehaviourEndings(MEASURED).run()
    printed = capsys.readouterr().out
    assert "10,241" in printed and "large-diverse-v1: nearest: 1.43 times apart" in printed and " NO" not in printed
    with pytest.raises(DataError, match="rewind behaviour likeness"):
        BehaviourEndings(tmp_path / "likeness.json").run()
