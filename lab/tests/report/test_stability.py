"""Runs that collapsed are counted, with their Q where it was recorded; those that were never good are not."""

import numpy as np
import pytest

from rewind.report import training_page
from rewind.report.runs import Results, runs_of
from rewind.report.stability import best, collapsed, stability
from rewind_lab.paper.report.report import build
from rewind_lab.paper.report.results import PaperResults

from .synthetic import null, rows

SETS = ("rewind/antmaze-umaze-v0", "rewind/hopper-medium-v0")


@pytest.fixture
def some():
    """One run of the baseline on AntMaze falls late, with a Q that says so."""
    found = rows(null, noise=0.5, keep=lambda spec: spec.dataset in SETS)
    for row in found:
        if (row["dataset"], row["sampler"], row["seed"]) == (SETS[0], "baseline", 3) and row["step"] > 800_000:
            row["score"] = 2.0
        if row["dataset"] == SETS[0]:
            row |= q(40_000.0 if row["score"] == 2.0 else -60.0)
    return found


def q(value):
    """A Q where rewards add up to between -100 and 0."""
    return {"q": value, "q_excess": max(0.0, value, -100 - value) / 100}


def cells(table):
    return {line.head: [cell.text for cell in line.cells] for line in table.lines}


def test_a_run_that_ends_below_half_of_its_best_fell(some):
    for row in some:
        if (row["dataset"], row["sampler"], row["beta"], row["seed"]) == (SETS[0], "tr", 1.0, 2):
            row |= {"score": 1.0, **q(7.0)}  # never good, so that it did not collapse; its critic diverged all the same
    runs = runs_of(some)
    assert [(run.dataset, run.method.sampler, run.row["seed"]) for run in runs if collapsed(run)] == [
        (SETS[0], "baseline", 3)
    ]
    rule, counts, by_method, critics = stability(PaperResults(runs))
    assert "50%" in rule and counts.columns == ["Method", "antmaze-umaze"]
    shown = cells(counts)
    assert shown["Baseline"] == ["1 of 8"] and shown["TR"] == shown["Weighted"] == shown["TR, β 0.75"] == ["–"]
    counted = len([run for run in runs if run.dataset == SETS[0]])
    shown = [str(count) for count in (counted, 2, 2, counted - 2, 0)]
    assert cells(by_method)["TR"] == cells(by_method)["Baseline"] == ["1 of 8"] and cells(by_method)["SARSA"] == ["–"]
    assert cells(critics) == {"antmaze-umaze": [*shown, "-60 (-60 to -60)"]}


def test_one_lucky_evaluation_is_not_the_best_and_a_short_way_has_none():
    found = rows(null, noise=0.0, tables=("2",), keep=lambda spec: spec.dataset in SETS)
    for row in found:
        row["score"] = 90.0 if row["step"] == 400_000 else 60.0
    assert {round(best(run)) for run in runs_of(found)} == {70}
    short = [row for row in found if row["step"] in (100_000, 200_000) or row["step"] > 900_000]
    assert {best(run) for run in runs_of(short)} == {-np.inf}


def test_a_run_that_broke_before_it_was_good_fell_too(some):
    for row in some:
        if (row["dataset"], row["sampler"], row["seed"]) == (SETS[1], "return", 1):
            row |= {"score": 3.0, "q": None, "q_excess": None, "alive": row["step"] < 400_000}
        elif row["dataset"] == SETS[1]:
            row |= {"q": 300.0, "q_excess": 0.0}
    rule, counts, by_method, critics = stability(PaperResults(runs_of(some)))
    assert "stopped being finite" in rule and counts.columns == ["Method", "hopper-medium", "antmaze-umaze"]
    assert cells(counts)["Return"] == ["1 of 3", "–"]
    hopper, antmaze = critics.lines
    assert by_method.columns == ["Method", "hopper-medium", "antmaze-umaze"]
    assert cells(by_method)["Return"] == ["1 of 3", "–"] and cells(by_method)["Baseline"] == ["–", "1 of 8"]
    assert [cell.text for cell in hopper.cells][1:3] == ["1", "1"] and hopper.cells[-1].text == "300 (300 to 300)"
    assert [cell.text for cell in antmaze.cells][1:3] == ["1", "1"]


def test_a_critic_at_zero_has_not_diverged_and_a_policy_may_be_good_without_one(some):
    for row in some:
        if row["score"] == 2.0:
            row |= {"score": 60.0}  # it stays good, whatever its critic says
        elif row["dataset"] == SETS[0]:
            row |= q(0.0)
        if (row["dataset"], row["sampler"], row["seed"]) == (SETS[0], "return", 1) and row["step"] > 800_000:
            row["score"] = 0.0
    _, _, _, critics = stability(PaperResults(runs_of(some)))
    counted = int(critics.lines[0].cells[0].text)
    assert [cell.text for cell in critics.lines[0].cells] == [
        str(counted), "1", "0", str(counted - 1), "1", "0 (0 to 0)",
    ]  # fmt: skip


def test_a_little_beyond_is_an_error_of_estimation(some):
    for row in some:
        if row["dataset"] == SETS[1]:
            row |= {"q": 300.0, "q_excess": 0.04 if row["seed"] else 0.06}
    _, _, by_method, critics = stability(PaperResults(runs_of(some)))
    assert by_method.columns == ["Method", "hopper-medium", "antmaze-umaze"]
    assert cells(by_method)["Return"] == ["1 of 3", "–"] and len(critics.lines) == 2


def test_critics_are_counted_where_no_run_fell(some):
    """A run that was never good has nothing to lose."""
    for row in some:
        row["score"] = 1.0 if row["dataset"] == SETS[0] else 50.0
    _, none, _, critics = stability(PaperResults(runs_of(some)))
    assert none == "No run collapsed." and critics.lines[0].cells[1].text == "1"
    assert "stability" in _sections(some, False)


def test_runs_without_a_q_are_not_among_those_counted(some):
    for row in some:
        if row["sampler"] == "baseline" and row["seed"] > 4:
            row |= {"q": None, "q_excess": None}
    _, counts, by_method, _ = stability(PaperResults(runs_of(some)))
    assert cells(counts)["Baseline"] == ["1 of 8"] and cells(by_method)["Baseline"] == ["1 of 5"]


def test_one_that_was_never_good_did_not_fall_by_noise(some):
    for row in some:
        row |= {"score": row["score"] / 10, **q(-60.0)}  # 3 points at best
    assert not any(collapsed(run) for run in runs_of(some))
    assert stability(PaperResults(runs_of(some)))[1:] == ["No run collapsed."]


def test_a_report_of_ones_own_runs_has_the_section_where_it_says_something(some):
    assert "stability" in _sections(some, True) and "stability" in _sections(some, False)
    for row in some:
        row |= {"score": 50.0, **q(-60.0)}
    assert "stability" in _sections(some, True) and "stability" not in _sections(some, False)


def _sections(rows, compared):
    runs = runs_of(rows)
    document = build(PaperResults(runs)) if compared else training_page.build(Results(runs))
    return [section.name for section in document.sections]


def test_one_lucky_evaluation_is_no_height_to_fall_from(some):
    for row in some:
        row["score"] = 100.0 if row["step"] == 500_000 else 40.0
    assert not any(collapsed(run) for run in runs_of(some))


def test_where_nobody_weighed_there_is_no_weighted_line(some):
    for row in some:
        row["algorithm"] = "iql"
    rows_left = [row for row in some if row["sampler"] != "tr" or row["beta"] in (0.0, 1.0)]
    _, counts, *_ = stability(PaperResults(runs_of(rows_left)))
    assert "TR" in cells(counts) and "Weighted" not in cells(counts)


def test_a_run_without_a_score_at_its_end_fell(some):
    for row in some:
        if row["score"] == 2.0:
            row["score"] = None
    assert sum(collapsed(run) for run in runs_of(some)) == 1


def test_results_from_before_it_was_recorded_have_no_table_of_it(some):
    for row in some:
        row.pop("q_excess", None)
    assert len(stability(PaperResults(runs_of(some)))) == 2
