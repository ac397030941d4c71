"""Figures of a ranking, and the sets that they are measured on."""

import pytest

from rewind_lab.bench.ranking import definition
from rewind_lab.bench.ranking_figures import Judged, average_ranks, judge, summarise

TRUTHS = {name: {"return": value, "value": value / 10} for name, value in (("a", 0.0), ("b", 50.0), ("c", 100.0))}


def judged(fqe, td_error):
    estimates = {name: [value, value - 1, value + 1] for name, value in zip(TRUTHS, fqe, strict=True)}
    return judge(Judged(TRUTHS, {"fqe": estimates}, {"td_error": dict(zip(TRUTHS, td_error, strict=True))}))


def test_a_right_order_has_no_regret_and_a_wrong_one_all_of_it():
    criteria = judged(fqe=[0.5, 4.5, 20.0], td_error=[0.1, 0.2, 0.3])["criteria"]
    assert criteria["fqe"] == {"rank_correlation": pytest.approx(1), "regret": 0.0, "policies": 3.0,
                               "coverage": pytest.approx(2 / 3)}  # fmt: skip
    assert criteria["td_error"]["rank_correlation"] == pytest.approx(-1) and criteria["td_error"]["regret"] == 1.0


def test_a_criterion_chooses_among_the_policies_that_have_it_and_pays_for_the_others():
    criteria = judged(fqe=[0, 5, 10], td_error=[0.2, 0.1, None])["criteria"]
    assert criteria["td_error"]["policies"] == 2 and criteria["td_error"]["regret"] == 0.5


def test_the_summary_is_the_mean_over_sets():
    good, bad = judged([0, 5, 10], [3, 2, 1]), judged([10, 5, 0], [3, 2, 1])
    summary = summarise([{"set": name, "truths": TRUTHS, **one} for name, one in (("x", good), ("y", bad))])
    assert summary["criteria"]["fqe"]["regret"] == 0.5 and summary["sets"] == ["x", "y"] and summary["policies"] == 6
    assert summary["coverage"] == pytest.approx((1 + 1 / 3) / 2)


def test_ties_share_their_mean_rank():
    assert average_ranks([3.0, 1.0, 3.0]).tolist() == [2.5, 1.0, 2.5]


def test_there_are_eight_sets_or_more_and_forty_policies_of_each():
    fixed = definition()
    assert len(fixed["sets"]) >= 8
    assert {len(runs) * len(fixed["checkpoints"]) for runs in fixed["runs"].values()} == {40}
