"""lab/tools/impossible_q.py: the rows with an impossible Q are found, and the trajectories that hold them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("equinox")

from lab.tests.tools import load_tool
from tests.helpers import make
from tests.training.small import DATA

from rewind.data import save_npz
from rewind.training.view import Source, make_normaliser


@pytest.fixture
def tool():
    return load_tool("impossible_q")


@pytest.fixture
def group(tool, monkeypatch):
    """Three trajectories; in the second, which a time-out ended, nothing changes, and Q is 50 at three of five rows."""
    data = make([4, 5, 6])
    observations = data.observations.copy()
    observations[4:9] = 1.0
    data = replace(data, observations=observations, terminated=np.array([True, False, True]))
    q = np.zeros(data.rows)
    q[[4, 5, 6]], q[10] = 50.0, 1.5
    monkeypatch.setattr(tool, "ROWS", 7)  # Q is asked for in parts
    at = {row.tobytes(): value for row, value in zip(data.actions, q, strict=True)}
    monkeypatch.setattr(tool, "critic_of", lambda group, at_: lambda s, a: np.array([at[row.tobytes()] for row in a]))
    return SimpleNamespace(sources=[Source(data, make_normaliser(data, True))], possible=[(-40.0, 0.0)])


def test_rows_beyond_what_is_possible_are_named_by_trajectory(tool, group):
    mean, rows, limit, cut, change, _, *worst = tool.lines(group)
    assert mean == "mean Q 10.1; possible are -40 to 0; Q is 0 to 50" and rows == (
        "3 of 15 rows are impossible, in 1 of 3 trajectories"  # 1.5 is within a twentieth of the range
    )
    assert limit.startswith("of these 0% are in trajectories of 6 steps (of all: 40%)")
    assert cut.startswith("100% in trajectories without a terminal (of all: 33%)")
    assert change.startswith("states change by 0.00 deviations")
    assert [line.split() for line in worst] == [["1", "5", "cut", "3", "50"]]


def test_a_q_that_is_too_low_is_impossible_too(tool, group):
    group.possible = [(10.0, 60.0)]
    assert [*tool.lines(group)][1].startswith("12 of 15 rows are impossible, in 3 of 3")
    assert [line.split()[-1] for line in [*tool.lines(group)][6:]] == ["0", "0", "0"]


def test_where_all_is_possible_nothing_is_named(tool, group):
    group.possible = [(-100.0, 100.0)]
    assert len([*tool.lines(group)]) == 2


def test_it_trains_looks_and_goes_on_in_its_folder(tool, tmp_path, capsys):
    save_npz(DATA, tmp_path / "data.npz")
    ask = [str(tmp_path / "data.npz"), "--algorithm", "iql", "--out", str(tmp_path / "run")]
    tool.main([*ask, "--steps", "10"])
    assert "rows are impossible" in capsys.readouterr().out
    tool.main([*ask, "--steps", "10"])
    assert "has been trained so far already" in capsys.readouterr().out
