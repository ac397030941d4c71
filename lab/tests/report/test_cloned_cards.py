"""From runs of behaviour cloning to the data cards, by the commands of `make reproduction`."""

import json
import shutil
from pathlib import Path

import pytest

from rewind.evaluation.rows import write_jsonl
from rewind_lab.cards.commands import DataCards
from rewind_lab.paper.definitions import EVIDENCE
from rewind_lab.paper.report.commands import PaperCloned

from .synthetic import null, rows

CARDS = Path(__file__).parents[3] / "docs" / "data_cards"


@pytest.fixture
def folder(tmp_path):
    """The figures of the cards, without scores of cloning."""
    (tmp_path / "cards").mkdir()
    for name in ("cards.json", "likeness.json"):
        shutil.copy(CARDS / name, tmp_path / "cards")
    return tmp_path


def collected(folder, made):
    """A folder of results with these rows, as the runner writes them."""
    whole = [{"q": None, "q_excess": None, "diagnostics": None, **row} for row in made]
    (folder / "results" / "groups").mkdir(parents=True)
    write_jsonl(folder / "results" / "groups" / "one.jsonl", whole)
    return folder / "results"


def test_runs_of_cloning_reach_every_v1_card(folder, capsys):
    made = rows(lambda spec: 5.0 * len(spec.settings), ("cloned",), noise=0.0, definitions=EVIDENCE)
    PaperCloned(collected(folder, made), folder / "cards" / "cloned.json").run()
    assert "15 data sets" in capsys.readouterr().out
    DataCards(out=folder / "cards", pages_only=True).run()
    umaze = (folder / "cards" / "antmaze-umaze-v1.md").read_text(encoding="utf-8")
    hopper = (folder / "cards" / "hopper-medium-v1.md").read_text(encoding="utf-8")
    assert "| BC | 30.0 | 4 | 1,000,000 | 54.6 |" in umaze and "| 10% BC | 35.0 | 4 | 1,000,000 | 62.8 |" in umaze
    assert "| BC | 65.0 | 4 | 1,000,000 | 52.9 |" in hopper and "| 10% BC | 70.0 | 4 | 1,000,000 | 56.9 |" in hopper
    cloned = json.loads((folder / "cards" / "cloned.json").read_text())
    assert all(set(kinds) == {"BC", "10% BC"} for kinds in cloned.values())


def test_without_such_runs_nothing_is_written_and_the_pages_stay_as_they_are(folder, capsys):
    made = rows(null, ("uniform",), noise=0.0, definitions=EVIDENCE, datasets=["mujoco"], seeds=(0,))
    PaperCloned(collected(folder, made), folder / "cards" / "cloned.json").run()
    assert "nothing is written" in capsys.readouterr().out and not (folder / "cards" / "cloned.json").exists()
    DataCards(out=folder / "cards", pages_only=True).run()
    assert "| BC |  |  |  | 54.6 |" in (folder / "cards" / "antmaze-umaze-v1.md").read_text(encoding="utf-8")
