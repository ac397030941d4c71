"""Figures of a ranking, and the sets that they are measured on."""

import numpy as np
import pytest

from rewind.rebuilt.recipes import recipes
from rewind_lab.bench.ranking import definition, starts_apart
from rewind_lab.bench.ranking_figures import COLUMNS, Judged, judge, overview, summarise

TRUTHS = {name: {"return": value, "value": value / 10} for name, value in (("a", 0.0), ("b", 50.0), ("c", 100.0))}


def judged(fqe, td_error, supported="abc", truths=TRUTHS):
    estimates = {name: [value, value - 1, value + 1] for name, value in zip(truths, fqe, strict=True)}
    td_errors = dict(zip(truths, td_error, strict=True))
    return judge(
        Judged(truths, {"fqe": estimates}, {"td_error": td_errors}, {name: name in supported for name in truths})
    )


def test_a_right_order_has_no_regret_and_a_wrong_one_all_of_it():
    criteria = judged(fqe=[0.5, 4.5, 20.0], td_error=[0.1, 0.2, 0.3])["criteria"]
    assert criteria["fqe"] == {"rank_correlation": pytest.approx(1), "regret": 0.0, "policies": 3.0,
                               "value_rank_correlation": pytest.approx(1), "value_regret": 0.0,
                               "coverage": pytest.approx(2 / 3)}  # fmt: skip
    assert criteria["td_error"]["rank_correlation"] == pytest.approx(-1) and criteria["td_error"]["regret"] == 1.0


def test_a_criterion_chooses_among_the_policies_that_have_it_and_pays_for_the_others():
    criteria = judged(fqe=[0, 5, 10], td_error=[0.2, 0.1, None])["criteria"]
    assert criteria["td_error"]["policies"] == 2 and criteria["td_error"]["regret"] == 0.5


def test_regret_in_the_value_is_apart_from_regret_in_the_return():
    truths = {**TRUTHS, "a": {"return": 0.0, "value": 20.0}}  # earns early, and then no more
    figures = judged(fqe=[20, 5, 10], td_error=[1, 2, 3], truths=truths)["criteria"]["fqe"]
    assert figures["regret"] == 1.0 and figures["value_regret"] == 0.0
    assert figures["value_rank_correlation"] == pytest.approx(1) and figures["rank_correlation"] == pytest.approx(-0.5)


@pytest.mark.parametrize(("supported", "regret"), [("abc", 1.0), ("bc", 0.0), ("b", 0.5), ("", 1.0)])
def test_the_supported_choice_is_the_highest_estimate_among_supported_policies_or_all(supported, regret):
    criteria = judged(fqe=[20, 5, 10], td_error=[1, 2, 3], supported=supported)["criteria"]
    assert criteria["fqe"]["regret"] == 1.0 and criteria["fqe_supported"]["regret"] == regret


def test_truths_start_where_the_trajectories_of_the_log_do():
    starts = {recipe.name: recipe.maze.starts for recipe in recipes().values() if recipe.maze is not None}
    measured = definition()["sets"]
    mazes = {name: about.get("start", "origin") for name, about in measured.items() if name in starts}
    assert mazes == {name: starts[name] for name in mazes} and "anywhere" in mazes.values()


def test_starts_are_apart_where_the_simulators_are_not_the_logs():
    stream = np.random.default_rng(0)
    states, first = stream.normal(size=(500, 2)), 0.1 * stream.normal(size=(50, 2))
    assert starts_apart(states, first, first + 0.01) < 0.1
    cells = np.eye(46)  # of a grid: few starts are in each
    assert starts_apart(cells, cells[stream.integers(46, size=22)], cells[stream.integers(46, size=50)]) == 0.0
    assert starts_apart(states, first, first + np.array([0.0, 1.0])) == pytest.approx(1.0, abs=0.2)


def test_the_summary_is_the_mean_over_sets():
    good, bad = judged([0, 5, 10], [3, 2, 1]), judged([10, 5, 0], [3, 2, 1])
    summary = summarise([{"set": name, "truths": TRUTHS, **one} for name, one in (("x", good), ("y", bad))])
    assert summary["criteria"]["fqe"]["regret"] == 0.5 and summary["sets"] == ["x", "y"] and summary["policies"] == 6
    assert summary["coverage"] == pytest.approx((1 + 1 / 3) / 2)


def test_there_are_eight_sets_or_more_and_forty_policies_of_each():
    fixed = definition()
    assert len(fixed["sets"]) >= 8
    assert {len(runs) * len(fixed["checkpoints"]) for runs in fixed["runs"].values()} == {40}


def test_the_table_of_all_sets_has_regret_by_every_criterion_and_says_how_many_sets_are_there():
    one = {**judged(fqe=[20, 5, 10], td_error=[1, 2, 3]), "set": "rewind/x-v0"}
    one["criteria"] |= {name: one["criteria"]["td_error"] for name in COLUMNS if name not in one["criteria"]}
    assert overview([], 9).lines == []
    table = overview([one], 9)
    assert table.caption.endswith("1 of 9 sets") and len(table.columns) == len(table.lines[0].cells) + 1
    told = dict(zip(table.columns[1:], (cell.text for cell in table.lines[0].cells), strict=True))
    assert table.lines[0].head == "x-v0" and (told["FQE"], told["TD error"]) == ("1.00", "1.00")
    assert told["intervals that hold"] == "67%"
