"""How often a shipped walker reaches its own goal."""

import numpy as np
import pytest

pytest.importorskip("mujoco")

from rewind.errors import UsageError
from rewind.rebuilt.collect import Episodes
from rewind_lab.behaviour import shipped


def test_a_walker_that_never_arrives_is_measured_too(monkeypatch):
    def lying(player, recipe, seed, part, chunk):
        count, rows = recipe.width, np.zeros((recipe.width, 29))
        ones = np.ones(count, int)
        return Episodes(rows, rows[:, :8], rows[:, 0], ones, np.zeros(count, bool), rows)

    monkeypatch.setattr("rewind.rebuilt.players.find_player", lambda recipe, policy: None)
    monkeypatch.setattr("rewind.rebuilt.collect.play", lying)
    row = shipped.measure(episodes=4)[0]
    assert (row["episodes"], row["reached own goal"], row["steps to it"]) == (4, "0.0%", None)


def test_no_episodes_are_no_measurement():
    with pytest.raises(UsageError, match="episodes is 0"):
        shipped.measure(episodes=0)
