"""Which runs go together, and what they are thought to take."""

from itertools import pairwise

import pytest
from lab.tests.paper.small import row

from rewind.agents.settings import paper_settings
from rewind.data.catalogue import known_entry
from rewind.run_spec import RunSpec
from rewind_lab.paper.costs import CostEstimate, datasets_of, next_group, pack
from rewind_lab.paper.definitions import RunChoice, in_order, load_definitions
from rewind_lab.paper.results import Index, index_of

RUNS = in_order(load_definitions().wanted(RunChoice(tables=["2", "1", "planning_delay"], data="rewind")))
ESTIMATE = CostEstimate(Index())


def test_groups_hold_each_run_once_share_a_program_and_fit():
    groups = list(pack(RUNS, ESTIMATE, 8 * 60, 128))
    assert sorted(spec.run for group in groups for spec in group) == sorted(spec.run for spec in RUNS)
    for group in groups:
        assert len({spec.program for spec in group}) == 1
        assert ESTIMATE.seconds(group[0], len(group)) <= 8 * 60 and len(group) <= 128
    assert groups[0][0] == RUNS[0]
    # What is left of a program is only what did not fit: its next run would have been too much.
    first = groups[0]
    assert ESTIMATE.seconds(first[0], len(first) + 1) > 8 * 60 or len(first) == len(
        [spec for spec in RUNS if spec.program == first[0].program]
    )


def test_samplers_betas_and_seeds_go_together_and_other_algorithms_and_blocks_do_not():
    group = next_group(RUNS, ESTIMATE, 3600, 128)
    assert len({(spec.sampler, spec.beta) for spec in group}) >= 4 and len({spec.seed for spec in group}) == 8
    assert len({(spec.algorithm, spec.block) for spec in group}) == 1
    assert len(next_group(RUNS, ESTIMATE, 3600, 5)) == 5


def test_sets_of_one_shape_go_together_one_after_another():
    groups = list(pack(RUNS, ESTIMATE, 3600, 128))
    for group in groups:
        assert len({known_entry(spec.dataset).sizes for spec in group}) == len({spec.suite for spec in group}) == 1
        if group[0].algorithm == "edac":  # the paper's number of critics depends on the set
            assert len({paper_settings("edac", spec.dataset)["ensemble"] for spec in group}) == 1
        order = [spec.dataset for spec in group]
        assert len(datasets_of(group)) == 1 + sum(one != other for one, other in pairwise(order))
    assert any(
        {*datasets_of(group)} >= {"rewind/walker2d-medium-v0", "rewind/halfcheetah-medium-v0"} for group in groups
    )
    strangers = [RunSpec(f"{name}.npz", seed=seed) for seed in (0, 1) for name in "ab"]  # their shapes are not known
    assert [datasets_of(group) for group in pack(strangers, ESTIMATE, 3600, 128)] == [["a.npz"], ["b.npz"]]


def test_a_run_that_takes_longer_than_a_group_may_is_a_group_alone():
    assert next_group(RUNS, ESTIMATE, 10, 128) == []
    assert [len(group) for group in pack(RUNS[:3], ESTIMATE, 10, 128)] == [1, 1, 1]
    assert next_group([], ESTIMATE, 10, 128) == []


def test_estimates_learn_from_what_groups_took():
    spec = RunSpec("hopper-medium-v2")
    before = ESTIMATE.seconds(spec, 64)
    update = (62 + 7.74 * 64) / 64 / 1e6  # as benchmarked, for each run
    last = 5 * ESTIMATE.evaluation(spec, 64)  # after the last update
    rest = before - update * 64 * 1_000_000 - last
    rows = [row("a", step, runs_together=64, seconds_per_update=3 * update, group_seconds=0.0) for step in range(14)]
    rows = [{**each, "group_seconds": 3 * update * 64 * 1_000_000 + rest / 2} for each in rows]
    after = CostEstimate(index_of(rows))
    assert after.seconds(spec, 64) == pytest.approx(3 * (before - rest - last) + rest / 2 + last)
    assert CostEstimate(index_of(rows), "cpu").seconds(spec, 1) == CostEstimate(Index(), "cpu").seconds(spec, 1)
    assert after.most(spec, 480, 128) < ESTIMATE.most(spec, 480, 128)


def test_128_runs_of_td3_bc_take_what_the_issue_says():
    """About 18 minutes on an H200, evaluation apart."""
    seconds = ESTIMATE.seconds(RunSpec("hopper-medium-v2"), 128)
    assert 17 * 60 < seconds < 25 * 60


def test_estimates_of_fused_kernels_learn_from_groups_that_used_them():
    spec, plain, fused = RunSpec("hopper-medium-v2"), CostEstimate(Index()), CostEstimate(Index(), fused=True)
    assert fused.seconds(spec, 128) < 0.75 * plain.seconds(spec, 128)
    slow = {"runs_together": 128, "seconds_per_update": 20e-6, "group_seconds": 2600.0}
    index = index_of([row("a", step, versions='{"kernels": "fused"}', **slow) for step in range(14)])
    assert {group.kernels for group in index.groups.values()} == {"fused"}
    assert CostEstimate(index, fused=True).seconds(spec, 128) > 2 * fused.seconds(spec, 128)
    assert CostEstimate(index).seconds(spec, 128) < 1.2 * plain.seconds(spec, 128)
