"""Best on the way and the end: a method that only keeps more gains nothing on the way."""

import numpy as np
import pytest

from rewind.report.runs import runs_of
from rewind.report.stability import best
from rewind_lab.paper.report.peaks import peaks
from rewind_lab.paper.report.report import build
from rewind_lab.paper.report.results import PaperResults

from .synthetic import cells, null, rows

SETS = ("rewind/antmaze-umaze-v0", "rewind/antmaze-medium-play-v0", "rewind/hopper-medium-v0")


@pytest.fixture
def some():
    """All methods score 60 on the way; the baseline alone ends at 20, return is 10 points better throughout."""
    found = rows(null, noise=0.0, tables=("2", "td3_bc"), keep=lambda spec: spec.dataset in SETS)
    for row in found:
        end = row["step"] > 900_000
        row["score"] = 70.0 if row["sampler"] == "return" else 20.0 if end and row["sampler"] == "baseline" else 60.0
    return found


def test_what_is_learned_and_what_is_kept_stand_apart(some):
    rule, mujoco, antmaze = peaks(PaperResults(runs_of(some)))
    assert "3 evaluations in a row" in rule
    assert mujoco.caption == "Best and end, MuJoCo (1 set), TD3+BC" and "AntMaze (2 sets)" in antmaze.caption
    for table in (mujoco, antmaze):
        shown = cells(table)
        assert shown["Baseline"] == ["60.0", "", "20.0", ""]
        assert shown["TR"] == ["60.0", "+0.0 [+0.0, +0.0]", "60.0", "+40.0 [+40.0, +40.0]"]
        assert shown["Return"] == ["70.0", "+10.0 [+10.0, +10.0]", "70.0", "+50.0 [+50.0, +50.0]"]


def test_one_lucky_evaluation_is_not_the_best(some):
    for row in some:
        if row["step"] == 400_000:
            row["score"] += 30.0
    assert {round(best(run)) for run in runs_of(some) if run.method.sampler == "tr"} == {70}


def test_a_set_with_too_few_runs_is_left_out_and_the_cell_says_so(some):
    kept = [row for row in some if (row["dataset"], row["sampler"]) != (SETS[1], "return") or row["seed"] < 2]
    _, _, antmaze = peaks(PaperResults(runs_of(kept)))
    assert cells(antmaze)["Return"][0] == "70.0 (1)" and cells(antmaze)["TR"][0] == "60.0"


def test_the_baseline_counts_where_something_is_held_against_it(some):
    for row in some:
        row["score"] += 20.0 * (row["dataset"] == SETS[1])
    kept = [row for row in some if row["dataset"] != SETS[1] or row["sampler"] == "baseline"]
    _, _, antmaze = peaks(PaperResults(runs_of(kept)))
    assert "(1 set)" in antmaze.caption and cells(antmaze)["Baseline"][0] == "60.0"


def test_a_run_without_a_way_or_an_end_does_not_count(some):
    for row in some:
        if row["seed"] == 0 and row["step"] > 900_000:
            row["score"] = None
    runs = runs_of(some)
    assert sum(not np.isfinite(run.score) for run in runs)
    _, antmaze = peaks(PaperResults(runs))  # of three runs on MuJoCo two are left: too few
    assert cells(antmaze)["TR"][2] == "60.0"
    short = [row for row in some if row["step"] in (100_000, 200_000) or row["step"] > 900_000]
    assert {best(run) for run in runs_of(short)} == {-np.inf} and peaks(PaperResults(runs_of(short))) == []


def test_the_baseline_alone_makes_no_section(some):
    alone = [row for row in some if row["sampler"] == "baseline"]
    assert "peaks" not in [section.name for section in build(PaperResults(runs_of(alone))).sections]
    assert "peaks" in [section.name for section in build(PaperResults(runs_of(some))).sections]
