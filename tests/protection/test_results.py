"""No result is lost, no run gets another name, and the counts of the paper's tables stay."""

import pytest

for package in ("pyarrow", "rewind_lab"):
    pytest.importorskip(package)

from tests.protection import facts


@pytest.fixture(scope="module")
def recorded():
    return facts.expected("results")


@pytest.mark.parametrize("name", ["paper", "unfused"])
def test_the_results_hold_the_same_runs_and_evaluations(recorded, name):
    assert facts.result_ids(name) == recorded["ids"][name]


def test_the_other_files_of_results_are_all_there_with_the_same_content(recorded):
    """Files may be added."""
    now = facts.other_results()
    assert {path: now.get(path) for path in recorded["files"]} == recorded["files"]


@pytest.mark.parametrize(("name", "data"), facts.STATUS)
def test_paper_status_counts_the_same_runs_in_every_table(recorded, name, data):
    pytest.importorskip("tyro")
    assert facts.paper_status(name, data) == recorded["status"][f"{name} {data}"]


@pytest.mark.parametrize("data", ["rewind", "d4rl"])
def test_the_runs_that_every_table_wants_keep_their_ids(recorded, data):
    assert facts.wanted_ids(data) == recorded["wanted"][data]
