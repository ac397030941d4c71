"""Readers and priorities of other packages that are broken: one line, and only for those who ask for them."""

import numpy as np
import pytest

pytest.importorskip("tyro")

from tests.helpers import make

from rewind import load
from rewind.cli import main
from rewind.data import save_npz
from rewind.data.load import READERS, Reader
from rewind.errors import DataError, UsageError
from rewind.memory import PRIORITIES, Priority, TrajectoryReplay


def fails(*_):
    raise ValueError("no\nsense")


@pytest.fixture
def log(tmp_path):
    save_npz(make([5, 3, 8]), tmp_path / "log.npz")
    return str(tmp_path / "log.npz")


BROKEN = {
    "not to be imported": ("no_such_package:thing", "the priority no_such_package:thing cannot be imported"),
    "no priority": ("math:pi", "the priority math:pi is a float; expected a Priority"),
    "raises an error": (Priority(fails), "priority 'mine' raised ValueError: no sense"),
    "of each row": (Priority(lambda rewards: rewards.values), "priority 'mine' returned shape (16,)"),
}


@pytest.mark.parametrize(("priority", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_broken_priority_is_left_out_with_a_warning_and_fails_where_it_is_asked_for(
    priority, problem, log, monkeypatch, capsys
):
    monkeypatch.setitem(PRIORITIES._things, "mine", priority)
    main(["inspect", log])
    output = capsys.readouterr()
    assert "avg_reward" in output.out and output.err.startswith(f"rewind: {problem}") and output.err.count("\n") == 1
    with pytest.raises((DataError, UsageError)) as error:
        TrajectoryReplay("mine").load_offline_dataset(log)
    assert str(error.value).startswith(problem)


READERS_THAT_FAIL = {
    "raises an error": (fails, "log.mine cannot be read by the reader 'mine': no sense"),
    "no trajectories": (lambda path: {"rewards": np.ones(3)}, "the reader 'mine' made a dict of"),
}


@pytest.mark.parametrize(("read", "problem"), READERS_THAT_FAIL.values(), ids=READERS_THAT_FAIL)
def test_a_broken_reader_is_one_line(read, problem, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(READERS._things, "mine", Reader(read, suffixes=(".mine",)))
    (tmp_path / "log.mine").touch()
    with pytest.raises(SystemExit) as stop:
        main(["inspect", str(tmp_path / "log.mine")])
    error = capsys.readouterr().err
    assert stop.value.code == 2 and problem in error and error.startswith("rewind: ") and error.count("\n") == 1


@pytest.mark.parametrize("reader", ["no_such_package:thing", "math:pi", Reader(load, reads=fails)])
def test_a_broken_reader_leaves_the_data_of_others_to_their_readers(reader, monkeypatch):
    monkeypatch.setitem(READERS._things, "mine", reader)
    episodes = list(make([5, 3], known=1.0).episodes())
    with pytest.warns(UserWarning, match=r"the reader ('mine'|math:pi|no_such_package:thing) "):
        assert len(load(episodes)) == 2


def test_what_is_registered_is_of_the_right_kind():
    with pytest.raises(UsageError, match="the priority 'mine' is a function; expected a Priority"):
        PRIORITIES.register("mine", fails)
    assert "mine" not in PRIORITIES


@pytest.mark.parametrize("line", ["observations = 1", "extras = 5", "actions = true", "[observations]\na = 1"])
def test_a_map_whose_columns_are_no_names_is_one_line(line, tmp_path, capsys):
    (tmp_path / "log.csv").write_text("id,obs,act,r\n0,1,1,1\n0,1,1,1\n")
    (tmp_path / "map.toml").write_text(f"{line}\n")
    with pytest.raises(SystemExit) as stop:
        main(["inspect", str(tmp_path / "log.csv"), "--map", str(tmp_path / "map.toml")])
    error = capsys.readouterr().err
    assert stop.value.code == 2 and "expected a name, or several as a list" in error and error.count("\n") == 1
    for role in ("keys", "extras"):
        with pytest.raises(UsageError, match=f"{role}=5; expected a name"):
            load(tmp_path / "log.csv", **{role: 5})
