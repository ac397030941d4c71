"""The command itself: the commands it finds, and output that nobody reads to its end."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("tyro")

from rewind.cli import main
from rewind.cli.arguments import _answered


@pytest.mark.parametrize("asked", [["train", "--help"], ["data", "list"]])
def test_whoever_reads_no_further_gets_no_traceback(asked):
    command = subprocess.Popen(
        [sys.executable, "-m", "rewind.cli", *asked], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    command.stdout.close()  # as `| head` does
    said = command.stderr.read()
    command.stderr.close()
    assert command.wait(timeout=60) == 141
    assert said == b""


@pytest.fixture
def broken_package(tmp_path, monkeypatch):
    """A package whose command cannot be imported."""
    folder = tmp_path / "broken-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[rewind.commands]\nbroken = nowhere.at_all:Command\n")
    monkeypatch.syspath_prepend(tmp_path)


def test_a_broken_command_of_another_package_breaks_no_other(broken_package, capsys):
    main(["data", "list", "--suite", "adroit"])
    assert "pen-human" in capsys.readouterr().out


def test_a_broken_command_says_so_in_one_line(broken_package, capsys):
    with pytest.raises(SystemExit):
        main(["broken"])
    said = capsys.readouterr().err
    assert said.startswith("rewind: the command `rewind broken` (nowhere.at_all:Command) cannot be loaded")
    assert said.count("\n") == 1


def test_without_the_lab_its_commands_name_it(monkeypatch, capsys):
    monkeypatch.setattr(sys.modules["rewind.cli.main"], "entry_points", lambda group: [])
    for command in ("paper status", "bench status", "behaviour status", "data cards"):
        with pytest.raises(SystemExit):
            main(command.split())
        said = capsys.readouterr().err
        assert "pip install -e" in said and "lab" in said and said.count("\n") == 1


def test_names_that_files_bring_do_not_steer_the_terminal(tmp_path, capsys):
    path = tmp_path / "a\x1b[2Jb.npz"
    arrays = {"observations": [[0.0], [1.0]], "actions": [[0.0], [1.0]], "rewards": [0.0, 1.0], "lengths": [2]}
    np.savez(path, name="evil\x1b]0;title\x07", **arrays)
    main(["inspect", str(path)])
    with pytest.raises(SystemExit):
        main(["inspect", str(tmp_path / "none\x1b[2J.npz")])
    printed = "".join(capsys.readouterr())
    assert "\x1b" not in printed and "\x07" not in printed and "\\x1b[2J" in printed


def test_an_option_that_may_be_true_or_false_is_true_alone():
    alone = ["train", "--layer-norm", "--steps", "5", "--discrete"]
    assert _answered(alone) == ["train", "--layer-norm", "True", "--steps", "5", "--discrete", "True"]
    given = ["train", "--layer-norm", "false", "--discrete", "True"]
    assert _answered(given) == ["train", "--layer-norm", "False", "--discrete", "True"]
