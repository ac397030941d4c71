"""Data cards: what the pages say is what the data is, beside what is published."""

import json
from pathlib import Path

import numpy as np
import pytest

for package in ("gymnasium", "mujoco", "matplotlib"):
    pytest.importorskip(package)

from rewind.data import load
from rewind.data.catalogue import known_entry
from rewind.data.published import published
from rewind.rebuilt import orders
from rewind.rebuilt.recipes import find_recipe, recipes
from rewind.report.cards import card, write_cards
from rewind.report.figures import new_figure
from rewind.report.inspection_plot import histogram, short
from tests.rebuilt.policies import shorten, write_policies

POINT, HOPPER, ANT = "rewind/pointmaze-umaze-v0", "rewind/hopper-medium-v0", "rewind/antmaze-umaze-v0"


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setenv("REWIND_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(orders, "POLICIES", write_policies(tmp_path / "policies", "hopper", "hopper-medium"))
    write_policies(tmp_path / "policies", "ant", "ant")
    for name in (POINT, HOPPER, ANT):
        shorten(monkeypatch, name, width=4, horizon=40, size=300)
    return tmp_path / "cards"


def test_a_page_has_the_figures_of_its_data_beside_the_published_ones_and_says_that_it_is_not_d4rls(small):
    index, hopper, ant = write_cards([HOPPER, ANT], small)
    data, page = load(HOPPER), hopper.read_text()
    assert "**Rebuilt by Rewind from policies of its own. This is not D4RL's `hopper-medium-v2`**" in page
    assert "| transitions | 300 | about 1,000,000 |" in page
    assert f"| trajectories | {len(data)} | 2,187 |" in page
    assert f"| mean return | {data.returns.mean():.2f} | 1422.06 |" in page and "| 44.3 |" in page
    assert data.digest in page and "hopper-medium (`" in page and "](hopper-medium-v0.png)" in page
    assert "| mean normalised return | 0.0 | - |" in ant.read_text()  # an ant that cannot walk; nothing is published
    assert "| trajectories, ended at every terminal |" in ant.read_text()
    assert f"[{HOPPER}](hopper-medium-v0.md)" in index.read_text()
    for picture in small.glob("*.png"):
        assert picture.read_bytes()[:4] == b"\x89PNG" and picture.stat().st_size < 60_000
    assert len(list(small.glob("*.png"))) == 2


def test_the_index_keeps_what_was_written_before(small):
    write_cards([POINT], small)
    index, _ = write_cards([HOPPER], small)
    assert index.read_text().index(HOPPER) < index.read_text().index(POINT)
    assert list(json.loads((small / "cards.json").read_text())) == [HOPPER, POINT]
    assert "D4RL has no such set" in (small / "pointmaze-umaze-v0.md").read_text()


def test_published_figures_are_of_catalogued_sets_and_a_joined_mean_lies_between_its_parts():
    for name in recipes():
        known = known_entry(name)
        if known is None:
            continue
        figures = published(known.name)
        assert figures.trajectories == known.episodes
        assert (figures.mean_score is None) == (known.suite != "mujoco")
    for task in ("hopper", "halfcheetah", "walker2d"):
        medium, joined, expert = (
            published(f"{task}-{kind}-v2").mean_score for kind in ("medium", "medium-expert", "expert")
        )
        assert medium < joined < expert


def test_medians_in_pictures_have_the_digits_that_make_sense():
    found = [short(value) for value in (8.1062, 1033.48, 285.0, 158.5, 14197.3, 0.14912, 0.0, -43.25)]
    assert found == ["8.1", "1,033.5", "285", "158.5", "14,197.3", "0.15", "0", "-43.2"]
    axes = new_figure(4.0, 3.0).subplots()
    histogram(axes, np.array([0.0, 8.1062, 110.0]), np.ones(3, bool), "score", "Scores")
    assert "median 8.1" in [entry.get_text() for entry in axes.get_legend().get_texts()]


def test_the_pages_in_the_documentation_are_those_of_their_figures():
    folder = Path(__file__).parents[2] / "docs" / "data_cards"
    for name, figures in json.loads((folder / "cards.json").read_text()).items():
        page = (folder / f"{name.removeprefix('rewind/')}.md").read_text()
        assert page == card(find_recipe(name), figures)
