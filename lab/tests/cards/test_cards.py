"""Data cards: what the pages say is what the data is, beside what is published."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

for package in ("gymnasium", "mujoco", "matplotlib"):
    pytest.importorskip(package)

from tests.rebuilt.policies import shorten, write_policies

from rewind.data import from_episodes, load
from rewind.data.catalogue import known_entry
from rewind.errors import DataError, MissingExtra, UsageError
from rewind.rebuilt import orders
from rewind.rebuilt.orders import make_order
from rewind.rebuilt.recipes import find_recipe, recipes
from rewind.rebuilt.summary import summary
from rewind.report.figures import new_figure
from rewind.report.inspection_plot import histogram, short
from rewind_lab.cards import cards
from rewind_lab.cards.cards import card, contents, write_cards
from rewind_lab.cards.check import check_cards
from rewind_lab.cards.cloned import cloned_notes
from rewind_lab.cards.commands import DataCards
from rewind_lab.cards.likeness import CardFacts, likeness, read_facts
from rewind_lab.cards.published import published

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
    assert "| mean normalised return | 0.0 |  |" in ant.read_text()  # an ant that cannot walk; nothing is published
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


def test_cloning_stands_on_the_card_where_ours_or_theirs_is_known_and_by_task_on_ogbench(small):
    write_cards([HOPPER, POINT], small)
    facts = read_facts(small)
    assert "| BC |  |  |  | 52.9 |" in card(find_recipe(HOPPER), facts, small)
    assert "## Behaviour cloning" not in card(find_recipe(POINT), facts, small)
    assert "copies of a few" in cloned_notes(find_recipe("rewind/door-cloned-v0"))[0]
    assert "copies of a few" not in card(find_recipe(HOPPER), facts, small)
    score = {"BC": {"score": 4.5, "seeds": 4, "steps": 100_000}}
    cube, figures = find_recipe("rewind/ogbench-cube-single-play-v0"), facts.cards[POINT]
    tasks = {f"rewind/ogbench-cube-single-play-task{task}-v0": score for task in (1, 3)}
    page = card(cube, replace(facts, cards={cube.name: figures}, cloned=tasks), small)
    assert "| BC, task 1 | 4.5 | 4 | 100,000 |  |\n| BC, task 3 | 4.5 | 4 | 100,000 |  |\n" in page
    assert "| BC, mean of the five tasks |  |  |  | 5 |" in page  # no mean of some tasks alone
    every = {f"rewind/ogbench-cube-single-play-task{task}-v0": score for task in range(1, 6)}
    page = card(cube, replace(facts, cards={cube.name: figures}, cloned=every), small)
    assert "| BC, mean of the five tasks | 4.5 |  |  | 5 |" in page


WALKER = {"reached": 0.75, "back": 0.19, "saturated": 0.33, "steps": 300.0, "action_std": 0.8, "rows": 1_000_000}
UMAZE, REPLAY = "rewind/antmaze-umaze-v1", "rewind/hopper-medium-replay-v1"


def verdicts(name, **facts):
    facts = CardFacts(**{"cards": {}, "measured": {}, "cloned": {}, **facts})
    return {figure.name: figure.verdict for figure in likeness(find_recipe(name), facts) if figure.limit}


def ended(fragments):
    return {"fragments": fragments, "transitions": 1_000_000, "made": {"seed": 0, "recipe": {"maze": {"stop": [4, 8]}}}}


def tried(*fragments):
    more = {"met": 0.2, "rewarded_rows": 0.002, "fragments_of_other_goals": [1, 2, 3], "rows": 400_000}
    return [{"dwell": 2 * dwell, "fragments": count, **more} for dwell, count in enumerate(fragments)]


@pytest.mark.parametrize(
    ("changed", "failed"),
    [
        ({}, []),
        ({"reached": 0.829, "back": 0.253, "saturated": 0.4399}, []),
        ({"reached": 0.831}, ["episodes that reach their own goal"]),
        ({"back": 0.126}, ["rows on the back"]),
        ({"saturated": 0.441}, ["saturated actions"]),
    ],
)
def test_a_walker_is_like_the_published_one_within_8_points_and_a_third(changed, failed):
    measured = {UMAZE: {"walker": WALKER | changed, "endings": tried(9_000)}}
    found = verdicts(UMAZE, cards={UMAZE: ended(10_154)}, measured=measured)
    assert [name for name, verdict in found.items() if verdict != "within"] == failed and len(found) == 4


def test_fragments_outside_a_factor_of_2_fail_unless_no_ending_matches():
    measured = {UMAZE: {"walker": WALKER, "endings": tried(4_000, 9_000, 5, 5, 4_000)}}
    counts = {5_077: "within", 20_308: "within", 5_076: "OUTSIDE", 20_309: "OUTSIDE"}
    for count, verdict in counts.items():
        assert verdicts(UMAZE, cards={UMAZE: ended(count)}, measured=measured)["fragments"] == verdict
    for endings, verdict in {
        (4_000, 30_000, 5, 5, 4_000): "unmatched",
        (4_300, 30_000, 5, 5, 4_000): "unmatched",  # hardly nearer
        (4_500, 30_000, 5, 5, 4_000): "OUTSIDE",  # take the nearest
        (4_000, 30_000): "OUTSIDE",  # the chosen one was not tried
        (4_000, 9_000, 5, 5, 4_000): "OUTSIDE",  # another ending matches
    }.items():
        measured[UMAZE]["endings"] = tried(*endings)
        assert verdicts(UMAZE, cards={UMAZE: ended(5_076)}, measured=measured)["fragments"] == verdict
    measured[UMAZE]["endings"] = tried(4_000, 30_000, 5, 5, 4_000)  # unmatched, and yet:
    assert verdicts(UMAZE, cards={UMAZE: ended(50_000)}, measured=measured)["fragments"] == "OUTSIDE"  # not as tried
    assert set(verdicts(UMAZE).values()) == {"NOT MEASURED"}


def test_a_set_whose_episodes_stop_at_their_goal_shows_its_walkers_itself():
    name = "rewind/antmaze-medium-play-v1"
    figures = ended(10_000) | {"reached_own_goal": 0.5, "rows_on_the_back": 0.29, "saturated_actions": 0.31}
    figures["made"]["recipe"]["maze"]["stop"] = True
    found = verdicts(name, cards={name: figures}, measured={name: {"walker": WALKER | {"reached": 0.65}}})
    assert found["episodes that reach their own goal"] == "OUTSIDE" and found["rows on the back"] == "within"


def test_figures_of_fewer_rows_than_the_recipe_has_pass_no_limit():
    few = dict.fromkeys(verdicts(UMAZE), "TOO FEW ROWS")
    facts = {"cards": {UMAZE: ended(10_154)}, "measured": {UMAZE: {"walker": WALKER, "endings": tried(9_000)}}}
    assert set(verdicts(UMAZE, **facts).values()) == {"within"}
    assert verdicts(UMAZE, **facts | {"cards": {UMAZE: ended(10_154) | {"transitions": 1_000}}}) == few
    walker = {UMAZE: {"walker": WALKER | {"rows": 42_713}, "endings": tried(9_000)}}
    assert verdicts(UMAZE, **facts | {"measured": walker}) == few


def test_a_replay_is_within_4_points_of_the_mean_and_its_best_episode_within_10_of_the_medium_sets():
    def scored(mean, best):
        spreads = {"normalised score": {"largest": best}}
        return {"behaviour_score": mean, "trajectories": 9, "transitions": 1_000_000, "spreads": spreads}

    medium = "rewind/hopper-medium-v1"
    for mean, best, expected in (
        (18.9, 95.0, ["within"] * 2),
        (19.1, 94.0, ["OUTSIDE"] * 2),
        (15.0, 120.0, ["within", "OUTSIDE"]),
    ):
        found = verdicts(REPLAY, cards={REPLAY: scored(mean, best), medium: scored(44.0, 104.5)})
        assert list(found.values()) == expected
    assert verdicts(medium, cards={medium: scored(47.2, 100.0)}) == {"mean score": "within"}
    assert verdicts(medium, cards={medium: scored(47.4, 100.0)}) == {"mean score": "OUTSIDE"}
    assert list(verdicts(REPLAY, cards={REPLAY: scored(15.0, 100.0)}).values()) == ["within", "NOT MEASURED"]


def test_the_check_looks_at_what_is_built_and_fails_where_a_figure_is_outside(small, monkeypatch, capsys):
    shorten(monkeypatch, UMAZE, width=4, horizon=40, size=300)
    write_policies(small.parent / "policies", "ant", "v1/ant-fast", "v1/ant-slow")
    with pytest.raises(UsageError, match="pointmaze-umaze-v0 is held to no limits"):
        check_cards([POINT], small)
    assert len(check_cards([UMAZE], small).failed) == 4  # nothing is built or measured
    assert check_cards(["rewind/pen-expert-v1"], small).failed == ["pen-expert-v1, no data set"]  # and no limits
    assert "not built here" in capsys.readouterr().out
    small.mkdir()
    measured = {"walker": WALKER, "goal": [0.5, 8.5], "endings": tried(9, 8, 7, 6, 9)}
    (small / "likeness.json").write_text(json.dumps({"sets": {UMAZE: measured}}))
    cloned = {UMAZE: {"BC": {"score": 51.25, "seeds": 4, "steps": 1_000_000}}}
    (small / "cloned.json").write_text(json.dumps(cloned))
    _, page = write_cards([UMAZE], small)
    fragments = summary(load(UMAZE))["fragments"]
    assert "fragments" not in summary(load(HOPPER))
    checked = check_cards([UMAZE], small)  # no ending gives as many fragments: unmatched, which is no failure
    assert (checked.failed, checked.unmatched) == ([], ["antmaze-umaze-v1, fragments"])
    printed = capsys.readouterr().out
    assert "unmatched" in printed and "1,000,000 rows of episodes that stop" in printed and "(built here)" in printed
    assert f"| fragments | {fragments} | 10,154 | a factor of 2 | unmatched |" in page.read_text()
    assert "An episode ends 8 steps after it reached its own goal." in page.read_text()
    assert "| 2 steps | 8 | 1 | 2 | 3 |" in page.read_text()
    DataCards((UMAZE,), small, check=True).run()
    assert "limit; 1 unmatched: antmaze-umaze-v1, fragments\n" in capsys.readouterr().out
    assert (
        "| BC | 51.2 | 4 | 1,000,000 | 54.6 |" in page.read_text() and "| 10% BC |  |  |  | 62.8 |" in page.read_text()
    )
    (small / "likeness.json").write_text(json.dumps({"sets": {UMAZE: measured | {"walker": WALKER | {"back": 0.1}}}}))
    assert check_cards([UMAZE], small).failed == ["antmaze-umaze-v1, rows on the back"]
    with pytest.raises(DataError, match=r"1 figure of -v1 data sets outside .*: antmaze-umaze-v1, rows on the back"):
        DataCards((UMAZE,), small, check=True).run()
    DataCards((UMAZE,), small, pages_only=True).run()
    assert "| rows on the back | 10.0% | 19.0% | a third | OUTSIDE |" in page.read_text()


FOLDER = Path(__file__).parents[3] / "docs" / "data_cards"


def shipped_card(name):
    return card(find_recipe(name), read_facts(FOLDER), FOLDER)


def test_a_card_says_why_its_episodes_end_where_they_do():
    assert "(10,530 in this set against 1,154), so the nearest was taken" in shipped_card(
        "rewind/antmaze-umaze-diverse-v1"
    )
    umaze = shipped_card(UMAZE)
    assert "within a factor of 1.7, otherwise" in umaze and 'The nearest ending, "8 steps", gives 10,241' in umaze
    assert "No ending comes near" not in umaze and "| 1 step |" in umaze


def test_a_card_sends_the_reader_of_an_earlier_version_to_the_later_one():
    for name in recipes():
        page = shipped_card(name)
        later = name.replace("-v0", "-v1")
        assert (f"**Use [{later}]" in page) == (later != name and later in recipes())


def test_a_card_without_limits_says_so_and_is_not_checked():
    for name in ("rewind/hopper-medium-expert-v1", "rewind/pen-expert-v1"):
        assert "No figure of this set has a limit." in shipped_card(name) and "--check" not in shipped_card(name)
    assert "No figure" not in shipped_card("rewind/hopper-medium-v1")


def test_scores_of_episodes_that_are_longer_than_an_evaluation_are_marked():
    index = contents(read_facts(FOLDER))
    for name in ("rewind/pen-demos-v0", "rewind/pen-cloned-v0"):
        assert "episodes have 200 steps. The score's scale is for evaluations of 100 steps" in shipped_card(name)
    assert "| 242.2 * |" in index and "| 106.0 * |" in index and "| 99.9 |" in index
    assert "score's scale" not in shipped_card("rewind/pen-expert-v1")


def test_published_figures_are_of_catalogued_sets_and_a_joined_mean_lies_between_its_parts():
    for name in recipes():
        known = known_entry(name)
        if known is None:
            continue
        figures = published(known.name)
        assert figures.trajectories == known.episodes
        assert (figures.mean_score is None) == (known.suite != "mujoco" and known.name != "door-human-v1")
    for task in ("hopper", "halfcheetah", "walker2d"):
        medium, joined, expert = (
            published(f"{task}-{kind}-v2").mean_score for kind in ("medium", "medium-expert", "expert")
        )
        assert medium < joined < expert


def test_the_card_of_an_ogbench_set_names_its_policy_and_each_tasks_share_of_solved_rows(tmp_path, monkeypatch):
    """And without Matplotlib it has no picture."""
    recipe = find_recipe("rewind/ogbench-cube-single-play-v0")
    made = {**make_order(recipe.name).notes(), "episodes": 2, "versions": {}}
    solved = np.arange(20) % 10 == 4

    def data(name):
        episodes = [
            {"observations": np.zeros((11, 28)), "actions": np.zeros((10, 5)), "rewards": -1.0 * ~part,
             "terminated": False, "inner_terminals": part} for part in np.split(solved, 2)
        ]  # fmt: skip
        return replace(from_episodes(episodes, name), notes={"made": made})

    def no_picture(*_):
        raise MissingExtra("no Matplotlib")

    monkeypatch.setattr(cards, "load_rebuilt", data)
    monkeypatch.setattr(cards, "draw_card", no_picture)
    _, page = write_cards([recipe.name], tmp_path)
    text = page.read_text()
    assert "OGBench's own environment and oracles" in text and "png" not in text
    assert "| rows with the goal of task 5 | 10.00% |" in text and "| trajectories | 2 | 1,000 |" in text


def test_medians_in_pictures_have_the_digits_that_make_sense():
    found = [short(value) for value in (8.1062, 1033.48, 285.0, 158.5, 14197.3, 0.14912, 0.0, -43.25)]
    assert found == ["8.1", "1,033.5", "285", "158.5", "14,197.3", "0.15", "0", "-43.2"]
    axes = new_figure(4.0, 3.0).subplots()
    histogram(axes, np.array([0.0, 8.1062, 110.0]), np.ones(3, bool), "score", "Scores")
    assert "median 8.1" in [entry.get_text() for entry in axes.get_legend().get_texts()]


def test_the_pages_in_the_documentation_are_those_of_their_figures():
    facts = read_facts(FOLDER)
    for name in facts.cards:
        page = (FOLDER / f"{name.removeprefix('rewind/')}.md").read_text()
        assert page == card(find_recipe(name), facts, FOLDER)
    assert (FOLDER / "README.md").read_text() == contents(facts)


def test_a_check_without_the_figures_says_where_they_are(tmp_path):
    with pytest.raises(DataError, match=r"cards\.json is missing: call this in a checkout"):
        DataCards(out=tmp_path, check=True).run()
