"""docs/reproduction.md: short, and without a number that no command wrote."""

import re
from pathlib import Path

import pytest

pytest.importorskip("tyro")

from rewind.cli import main
from rewind.report.output import MARKED

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reproduction.md"
NAMES = ("TD3+BC", "D4RL", "-v0", "-v1", "scores_v1.md")  # that have a digit and are no numbers


def typed(text):
    """What a person wrote, without names."""
    rest = MARKED.sub("", text)
    for name in NAMES:
        rest = rest.replace(name, "")
    return rest


def test_the_page_has_at_most_1500_words():
    # An interval, whose parts no line may break, is one number.
    words = [word for word in re.split(r"[ \n]+", PAGE.read_text(encoding="utf-8")) if re.search(r"\w", word)]
    assert len(words) <= 1500, len(words)


def test_no_number_on_the_page_was_typed_by_a_person():
    numbers = re.findall(r"\S*\d\S*", typed(PAGE.read_text(encoding="utf-8")))
    assert not numbers, f"between no marks: {numbers}"
    assert re.findall(r"\d", typed("The gain is 12 points."))  # the check can fail
    spelt = r"\b(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b (points|runs|seeds|sets|mazes)"
    assert not re.findall(spelt, typed(PAGE.read_text(encoding="utf-8")))


def test_every_file_that_the_page_names_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text(encoding="utf-8"))
    assert links and all((PAGE.parent / link).is_file() for link in links)
    assert not (PAGE.parent / "tables.md").exists()


@pytest.mark.long
def test_the_pages_are_what_the_results_say(tmp_path, monkeypatch):
    """`make reproduction` changes nothing."""
    monkeypatch.chdir(ROOT)
    pages = [PAGE, ROOT / "docs" / "agents.md", ROOT / "README.md", ROOT / "docs" / "index.md"]
    copies = [tmp_path / page.name for page in pages]
    for page, copy in zip(pages, copies, strict=True):
        copy.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
    costs = [f"lab/results/bench/td3_bc_{runs}.json" for runs in (1, 128)]
    sources = ["lab/results/evidence", "--first", "lab/results/paper", "--cost", *costs]
    main(["paper", "report", *sources, "--out", str(tmp_path / "report.html"), "--into", *map(str, copies)])
    for page, copy in zip(pages, copies, strict=True):
        assert copy.read_text(encoding="utf-8") == page.read_text(encoding="utf-8")
