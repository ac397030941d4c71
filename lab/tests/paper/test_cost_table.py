"""Table 5: measured once, where there is time for it."""

import pytest

pytest.importorskip("jax")

from rewind.files import write_json
from rewind_lab.bench.train import BenchTrain
from rewind_lab.paper.clock import Deadline
from rewind_lab.paper.costs import cost_done, cost_path, measure_cost
from rewind_lab.paper.definitions import load_definitions

TABLE = load_definitions().tables["5"]


@pytest.fixture
def measured(monkeypatch):
    """The measurements that were asked for, none of which is made."""
    asked = []

    def run(bench):
        asked.append(bench)
        write_json(bench.json, {"device": "gpu", "by_runs": {str(runs): {} for runs in bench.runs}})

    monkeypatch.setattr(BenchTrain, "run", run)
    return asked


def test_all_numbers_of_runs_are_measured_and_only_once(tmp_path, measured):
    assert not cost_done(TABLE, tmp_path)
    measure_cost(TABLE, tmp_path, Deadline(), "gpu NVIDIA H200")
    measure_cost(TABLE, tmp_path, Deadline(), "gpu NVIDIA H200")
    (bench,) = measured
    assert bench.runs == (1, 128) and len(bench.variants) == 5 and cost_done(TABLE, tmp_path)


def test_a_dry_run_names_what_would_be_measured(tmp_path, capsys):
    pytest.importorskip("tyro")
    from rewind.cli import main

    arguments = ["paper", "run", "--dry-run", "--tables", "5", "--out", str(tmp_path)]
    main(arguments)
    assert capsys.readouterr().out.startswith("table 5: costs")
    write_json(cost_path(tmp_path), {"device": "gpu", "by_runs": {"1": {}, "128": {}}})
    main(arguments)
    assert capsys.readouterr().out == "nothing is left\n"


def test_half_a_measurement_is_none(tmp_path, measured):
    write_json(cost_path(tmp_path), {"device": "gpu NVIDIA H200", "by_runs": {"1": {}}})
    assert not cost_done(TABLE, tmp_path)
    write_json(cost_path(tmp_path), {"device": "cpu cpu", "by_runs": {"1": {}}})
    assert cost_done(TABLE, tmp_path)  # a CPU has nothing to pack


def test_what_takes_longer_than_the_time_that_is_left_is_not_begun(tmp_path, measured, capsys):
    measure_cost(TABLE, tmp_path, Deadline(30), "gpu NVIDIA H200")
    assert not measured and "more than the time that is left" in capsys.readouterr().out
