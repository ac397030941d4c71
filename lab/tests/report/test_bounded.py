"""A method against the baseline, as they are and with bounds on both sides."""

import json

import pytest

from rewind.report.runs import runs_of
from rewind_lab.paper.report.bounded import bounded_tables
from rewind_lab.paper.report.report import build
from rewind_lab.paper.report.results import PaperResults

from .synthetic import cells, null, rows

SETS = ["antmaze-medium-play-v0", "antmaze-large-play-v0"]


@pytest.fixture
def some():
    """TR loses 30 points without bounds, with half of its critics, and has 10 more than the baseline with them."""
    found = rows(null, noise=0.0, tables=("bounded", "together"), datasets=SETS)
    for row in found:
        bounded, tr = row["settings"] != "{}", row["sampler"] == "tr"
        row["score"] = 50.0 + (tr * 10.0 if bounded else tr * -30.0)
        lost = tr and not bounded and row["seed"] % 2 == 1
        row["q"], row["q_excess"] = (200.0, 2.0) if lost else (-50.0, 0.0)
    return found


def tables(found):
    return bounded_tables(PaperResults(runs_of(found), "rewind"))


def shown(found):
    """By method, the cells of the one table there is."""
    (table,) = tables(found)
    return cells(table)


def changed(found, of, **values):
    """The rows again, with other values and so another run."""
    return [{**row, **values, "run": f"{row['run']} again"} for row in found if of(row)]


def is_bounded(row):
    return row["settings"] != "{}"


def test_what_bounds_add_and_what_a_method_adds_to_them(some):
    lines = shown(some)
    assert lines["Baseline"] == ["50.0", "", "50.0", "", "+0.0 [+0.0, +0.0]", "0 of 16", "0 of 16"]
    assert lines["TR"] == [
        "20.0", "−30.0 [−30.0, −30.0]", "60.0", "+10.0 [+10.0, +10.0]", "+40.0 [+40.0, +40.0]", "8 of 16", "0 of 16",
    ]  # fmt: skip


@pytest.mark.parametrize("bounded", [True, False])
def test_only_sets_with_three_runs_both_ways_count(some, bounded):
    def few(row, betas):
        return (
            "large-play" in row["dataset"]
            and is_bounded(row) == bounded
            and row["sampler"] == "tr"
            and row["beta"] in betas
        )

    lines = shown([row for row in some if not few(row, [1.0]) or row["seed"] < 2])
    assert (lines["TR"][0], lines["Weighted"][0], lines["Baseline"][-1]) == ("20.0 (1)", "20.0", "0 of 16")
    lines = shown([row for row in some if not few(row, [1.0, 0.75]) or row["seed"] < 2])
    assert (lines["TR"][0], lines["Weighted"][0], lines["Baseline"][-1]) == ("20.0", "20.0", "0 of 8")


@pytest.mark.parametrize("more", [
    {"stagger": True}, {"reuse": "epoch"}, {"settings": '{"alpha": 9.0, "target_high": 0.0, "target_low": -100.0}'},
    {"settings": '{"target_high": Infinity}'},
])  # fmt: skip
def test_what_is_set_apart_by_more_than_bounds_is_not_taken(some, more):
    others = changed(some, is_bounded, score=0.0, **more)
    assert others and shown(others + some) == shown(some)


def test_of_several_bounds_on_a_set_those_of_most_runs_are_taken(some):
    others = changed(some, lambda row: is_bounded(row) and row["seed"] < 3, score=0.0, settings='{"target_high": 50.0}')
    assert others and shown(some + others) == shown(some)


def test_each_suite_and_algorithm_has_its_own_table_however_bounds_are_named(some):
    walker = rows(null, noise=0.0, tables=("bounded",), datasets=["walker2d-medium-expert-v2"])
    assert {"bounded"} == {name for row in walker for name in json.loads(row["settings"])}
    iql = changed(some, lambda row: True, algorithm="iql")
    captions = [table.caption for table in tables(some + walker + iql)]
    assert captions == [
        f"Over the baseline with bounded targets, {where}"
        for where in ("MuJoCo, TD3+BC", "AntMaze, TD3+BC", "AntMaze, IQL")
    ]


def test_critics_count_where_q_was_recorded(some):
    for row in some:
        if row["dataset"].endswith("large-play-v0") and not is_bounded(row):
            row["q"] = row["q_excess"] = None
    assert shown(some)["TR"][-2:] == ["4 of 8", "0 of 16"]
    for row in some:
        row["q"] = row["q_excess"] = None
    assert shown(some)["TR"][-2:] == ["", ""]


def test_the_baseline_alone_is_no_table(some):
    assert tables([row for row in some if row["sampler"] == "baseline"]) == []
    assert tables([row for row in some if row["sampler"] == "baseline" or not is_bounded(row)]) == []


def test_without_bounded_runs_there_is_no_table(some):
    assert tables([row for row in some if not is_bounded(row)]) == []


def test_the_table_is_part_of_the_report(some):
    captions = [block.caption for section in build(PaperResults(runs_of(some), "rewind")).sections
                for block in section.blocks if hasattr(block, "caption")]  # fmt: skip
    assert "Over the baseline with bounded targets, AntMaze, TD3+BC" in captions
