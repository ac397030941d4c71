"""How often a shipped walker reaches its own goal."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco")

from rewind.data.catalogue import normalised_score
from rewind.errors import UsageError
from rewind.rebuilt.collect import Episodes
from rewind_lab.behaviour import shipped
from rewind_lab.behaviour.commands import BehaviourList
from rewind_lab.behaviour.shipped import described, measured_returns
from rewind_lab.behaviour.shipped import shipped as shipped_policies


def test_a_walker_that_never_arrives_is_measured_too(monkeypatch):
    def lying(player, recipe, seed, part, chunk):
        count, rows = recipe.width, np.zeros((recipe.width, 29))
        ones = np.ones(count, int)
        return Episodes(rows, rows[:, :8], rows[:, 0], ones, np.zeros(count, bool), rows)

    monkeypatch.setattr("rewind.rebuilt.players.find_player", lambda recipe, policy: None)
    monkeypatch.setattr("rewind.rebuilt.collect.play", lying)
    row = shipped.measure(episodes=4)[0]
    assert (row["episodes"], row["reached own goal"], row["steps to it"]) == (4, "0.0%", None)


def test_returns_come_from_the_file_or_from_the_sets_that_a_policy_makes_alone():
    score = {"mean_score": 50.0, "deviation": 10.0}
    stages = {"sets": [{"set": "rewind/hopper-medium-replay-v1", "policies": ["hopper-replay-00"], "parts": [score]}]}
    cards = {
        "rewind/pen-expert-v1": {"mean_return": 3074.4, "behaviour_score": 99.9},
        "rewind/pen-cloned-v0": {"mean_return": 1.0, "behaviour_score": 1.0},
    }
    found = {row["policy"]: row for row in described(shipped_policies(), measured_returns(cards, stages))}
    assert found["adroit/pen-expert"]["return"] == "3074"
    assert found["adroit/pen-expert"]["measured on"] == "rewind/pen-expert-v1"
    assert found["adroit/pen-clone"]["return"] == found["v1/ant-fast"]["return"] == "-"  # not alone; has none
    stage = found["v1/hopper-replay-00"]
    assert (stage["score"], stage["measured on"]) == ("50.0", "rewind/hopper-medium-replay-v1")
    assert normalised_score("hopper-medium-v2", float(stage["return"])) == pytest.approx(50.0, abs=0.02)
    assert found["hopper-medium"]["return"] == "1016" and found["hopper-medium"]["measured on"] == ""


def test_the_list_has_a_return_for_all_but_the_ants_of_v1_and_adroits_clones(capsys, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])
    BehaviourList().run()
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.count("  ") > 3]
    without = [row[0] for row in rows if row[3] == "-"]
    clones = [f"adroit/{task}-clone" for task in ("door", "hammer", "pen", "relocate")]
    assert without == [*clones, "v1/ant-fast", "v1/ant-slow"]


def test_no_episodes_are_no_measurement():
    with pytest.raises(UsageError, match="episodes is 0"):
        shipped.measure(episodes=0)
