"""Runs from rows, and which of them are compared."""

import json

import numpy as np
import pytest

from rewind.errors import DataError
from rewind.evaluation.protocol import LAST
from rewind.report.methods import Method, short
from rewind.report.runs import Protocol, Results, runs_of
from rewind_lab.paper.report.results import PaperResults, method_of, name_here, paper_sets, source

from .synthetic import rows

HOPPER = "rewind/hopper-medium-v0"


def few(**changes):
    made = rows(tables=("2",), datasets=["hopper-medium-v2"], seeds=[0, 1, 2])
    return [{**row, **changes} for row in made]


def test_a_score_is_the_mean_of_the_last_five_evaluations():
    run = runs_of(few())[0]
    own = sorted((row for row in few() if row["run"] == run.row["run"]), key=lambda row: row["step"])
    assert len(own) > LAST
    assert run.score == pytest.approx(np.mean([row["score"] for row in own[-LAST:]]))


def test_evaluations_between_the_scored_ones_do_not_count():
    """As in `rewind train`, which may evaluate more often than every 1000 steps."""
    first = few()[0]
    dense = [{**first, "step": step, "steps": 10_000, "score": float(step)} for step in range(500, 10_001, 500)]
    assert runs_of(dense)[0].score == np.mean([6000, 7000, 8000, 9000, 10_000])


def test_a_curve_ends_with_the_score():
    run = runs_of(few())[0]
    steps, scores = run.curve
    assert steps[-1] == 1_000_000 and scores[-1] == pytest.approx(run.score)
    assert len(steps) == len(set(steps.tolist())) == len(run.rows) - LAST + 1


def test_columns_of_the_papers_tables_are_samplers_with_a_beta():
    assert method_of("tr", HOPPER) == Method("tr", 1.0)
    assert method_of("sarsa", HOPPER) == Method("tr", 0.0)
    assert method_of("weighted", HOPPER) == Method("tr", 0.0)  # as the paper's appendix has it for this set
    assert method_of("weighted", "antmaze-umaze-v0") == Method("tr", 0.95)
    assert method_of("weighted", "my-own-data") is None


def test_the_papers_sets_have_the_papers_order_and_both_names():
    names = list(paper_sets())
    assert len(names) == 23 and names[:2] == ["halfcheetah-medium-v2", "hopper-medium-v2"]
    assert name_here("hopper-medium-v2", "rewind") == HOPPER
    assert name_here("pen-cloned-v1", "rewind") is None
    assert (source(HOPPER), source("hopper-medium-v2"), source("hopper-random-v2")) == ("rewind", "d4rl", None)
    assert short(HOPPER) == "hopper-medium"


def test_runs_of_the_papers_settings_are_not_mixed_with_others():
    standard = rows(tables=("reuse",), datasets=["hopper-medium-replay-v2"])
    results = PaperResults(runs_of(standard))
    assert results.protocol == Protocol()
    assert {run.protocol.reuse for run in results.runs} == {"on_finish"}
    assert {run.protocol.reuse for run in results.others} == {"epoch", "replacement"}


def test_how_plans_are_cut_matters_only_where_ranks_follow_the_critics():
    cut = [row | {"block": 37} for row in few()]
    assert {run.protocol for run in runs_of(cut)} == {Protocol()}
    dynamic = rows(tables=("planning_delay",), datasets=["antmaze-umaze-v0"])
    assert {run.protocol.block for run in runs_of(dynamic)} == {10, 100, 1000}


def test_without_the_papers_settings_the_commonest_are_taken_and_named():
    results = PaperResults(runs_of(few(steps=5000) + few(steps=7000)[:13]))
    assert results.protocol.steps in (5000, 7000)
    assert "steps" in results.protocol.against(Protocol())
    assert Protocol().against(Protocol()) == ""


def test_what_sets_runs_on_other_data_apart_is_part_of_their_method():
    own = [row | {"dataset": "mine", "run": row["run"] + "a"} for row in few()]
    swept = [row | {"run": row["run"] + "b", "settings": json.dumps({"alpha": 9})} for row in own]
    labels = [method.label for method in PaperResults(runs_of(own + swept)).methods("mine", "td3_bc")]
    assert "TR" in labels and "TR (alpha 9)" in labels


def test_the_baseline_has_no_sweeps_that_set_it_apart():
    """So that staggered sweeps are compared with it."""
    made = rows(tables=("2",), datasets=["hopper-medium-v2"], algorithms=["td3_bc"], seeds=(0, 1), steps=5000)
    for row in made:
        row["dataset"], row["stagger"] = "mine", row["sampler"] != "baseline"
    assert {run.method.variant for run in Results(runs_of(made)).runs} == {""}


def test_d4rls_data_and_rebuilt_data_are_never_one():
    both = rows(tables=("2",), datasets=["hopper-medium-v2"]) + rows(
        tables=("2",), data="d4rl", datasets=["hopper-medium-v2"], seeds=[0]
    )
    assert PaperResults(runs_of(both)).data == "rewind"
    d4rl = PaperResults(runs_of(both), "d4rl")
    assert len(d4rl.scores(d4rl.here("hopper-medium-v2"), "td3_bc", "tr")) == 1


def test_a_run_without_a_score_is_left_out_of_means():
    broken = few()
    lost = broken[0]["run"]
    broken = [row | ({"score": None, "alive": False} if row["run"] == lost else {}) for row in broken]
    results = PaperResults(runs_of(broken))
    assert len(results.scores(HOPPER, "td3_bc", broken[0]["sampler"])) == 2
    assert sum(not run.alive for run in results.runs) == 1


def test_where_nobody_weighed_there_is_no_weighted_column():
    made = rows(tables=("1",), datasets=["halfcheetah-medium-v2"], algorithms=["td3_bc"])
    results = PaperResults(runs_of(made))
    assert len(results.scores("rewind/halfcheetah-medium-v0", "td3_bc", "tr")) == 3
    assert not len(results.scores("rewind/halfcheetah-medium-v0", "td3_bc", "weighted"))


def test_nothing_is_an_error():
    with pytest.raises(DataError, match="nothing to report"):
        PaperResults([])
