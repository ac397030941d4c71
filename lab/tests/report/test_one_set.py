"""A mean difference again without one of its data sets: what one set alone makes comes out."""

import pytest

from rewind.report.document import Fold
from rewind.report.runs import runs_of
from rewind_lab.paper.report.one_set import one_set
from rewind_lab.paper.report.report import build
from rewind_lab.paper.report.results import PaperResults

from .synthetic import cells, rows

SETS = ["antmaze-umaze-v0", "antmaze-medium-play-v0", "antmaze-large-play-v0", "hopper-medium-v2"]


def effect(spec):
    """TR gains 30 points on one maze and loses 6 on another."""
    tr = (spec.sampler, spec.beta) == ("tr", 1.0)
    return tr * (30.0 if "umaze" in spec.dataset else -6.0 if "large" in spec.dataset else 0.0)


@pytest.fixture(scope="module")
def found():
    return rows(effect, noise=0.0, datasets=SETS)


def lines(found):
    (fold,) = one_set(PaperResults(runs_of(found), "rewind"))
    rule, table = fold.blocks  # one set of MuJoCo is too few
    assert isinstance(fold, Fold) and "left out" in rule and "AntMaze, TD3+BC" in table.caption
    return cells(table)


def test_the_gain_of_one_set_is_gone_without_it(found):
    assert lines(found)["TR"] == [
        "3", "+8.0 [+8.0, +8.0]", "−3.0 [−3.0, −3.0]", "antmaze-umaze", "+15.0 [+15.0, +15.0]", "antmaze-large-play",
    ]  # fmt: skip


def test_a_method_on_fewer_than_three_sets_is_left_out(found):
    fewer = [row for row in found if (row["sampler"], row["dataset"]) != ("return", "rewind/antmaze-umaze-v0")]
    few_runs = [
        row for row in fewer if row["sampler"] != "max_reward" or "umaze" not in row["dataset"] or row["seed"] < 2
    ]
    assert {"Return", "Max reward"} <= {*lines(found)} and not {"Return", "Max reward"} & {*lines(few_runs)}


def test_it_is_part_of_what_methods_gain(found):
    (section,) = [each for each in build(PaperResults(runs_of(found), "rewind")).sections if each.name == "gains"]
    assert isinstance(section.blocks[-1], Fold)
    two = [row for row in found if "large" not in row["dataset"]]
    assert one_set(PaperResults(runs_of(two), "rewind")) == []
