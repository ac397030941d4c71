"""Adroit's sets from the published experts, where they and the simulator are there."""

from pathlib import Path

import numpy as np
import pytest

from rewind.data import load
from rewind.rebuilt.build import build, load_rebuilt, read_built
from tests.rebuilt.policies import shorten

pytest.importorskip("gymnasium_robotics")

SHARED = Path(__file__).parents[3] / "shared" / "data"
# Mean returns of 100 episodes, as published with the policies, and how far the mean of a few may be from them.
RETURNS = {"pen": (3122, 900), "door": (2941, 250), "hammer": (13691, 3500), "relocate": (4464, 500)}


@pytest.mark.parametrize("task", RETURNS)
def test_an_expert_is_as_good_as_published_at_any_number_of_processes(task, tmp_path, monkeypatch):
    policy = SHARED / f"adroit-{task}-expert-policy.npz"
    if not policy.is_file():
        pytest.skip("the shared data is not here")
    monkeypatch.setenv("REWIND_DATA", str(tmp_path))
    name = f"rewind/{task}-expert-v0"
    horizon = 100 if task == "pen" else 200
    shorten(monkeypatch, name, size=16 * horizon)
    data, again = (read_built(build(name, policy=policy, threads=n, force=True)) for n in (1, 2))
    assert data.digest == again.digest
    assert len(data) == 16 and (data.lengths == horizon).all() and not data.terminated.any()
    assert np.abs(data.actions).max() <= 1.0 and data.name == name
    mean, spread = RETURNS[task]
    assert abs(data.returns.mean() - mean) < spread
    assert load(name).digest == load_rebuilt(name).digest == data.digest  # the one that is there is meant
