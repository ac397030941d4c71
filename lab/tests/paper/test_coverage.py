"""`rewind paper status` of the evidence: the paper's data sets and agents beside our runs, and what all would cost."""

import json
from pathlib import Path

import pytest

pytest.importorskip("tyro")

from rewind.cli import main
from rewind_lab.paper import coverage as module
from rewind_lab.paper import halves
from rewind_lab.paper.choice import KindSetting, Setting, choice_text
from rewind_lab.paper.costs import CostEstimate, pack
from rewind_lab.paper.coverage import coverage, coverage_text, full_grid
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, in_order, load_definitions
from rewind_lab.paper.results import Index, read_index

RESULTS = EVIDENCE.parents[3] / "results" / "evidence"
MAZE = "antmaze-medium-play-v0"


@pytest.fixture
def before_the_choice(monkeypatch, tmp_path):
    monkeypatch.setattr(halves, "CHOICE", tmp_path / "none.toml")
    monkeypatch.setattr(module, "CHOICE", tmp_path / "none.toml")


def wanted():
    return in_order(load_definitions(EVIDENCE).wanted(RunChoice()))


def test_every_set_of_the_paper_has_a_row_with_the_agents_that_the_paper_ran(before_the_choice):
    rows = {row["data set"]: row for row in coverage(wanted(), {})}
    assert len(rows) == 23 and rows[MAZE]["rebuilt"] == "rewind/antmaze-medium-play-v1"
    assert rows[MAZE]["td3_bc tr"] == [0, 8] and rows[MAZE]["edac tr"] is None  # the paper has no EDAC on mazes
    assert rows["hopper-medium-v2"]["edac tr"] == [0, 3]
    assert rows["antmaze-umaze-v0"]["td3_bc tr"] == [0, 0]  # held back
    assert rows["pen-cloned-v1"]["rebuilt"] == "rewind/pen-cloned-v0"


def test_once_a_setting_is_chosen_tr_is_wanted_on_every_set_and_agent_but_edac(monkeypatch, tmp_path):
    path = tmp_path / "choice.toml"
    chosen = KindSetting("tr", 0.75, bounded=True)
    path.write_text(choice_text(Setting("2026-12-01", "it won", 7, chosen, chosen)))
    monkeypatch.setattr(halves, "CHOICE", path)
    rows = coverage(wanted(), {})
    for row in rows:
        for agent in ("td3_bc", "iql"):
            assert row[f"{agent} baseline"][1] and row[f"{agent} tr"][1], row
    assert sum(bool(row["edac tr"] and row["edac tr"][1]) for row in rows) == 4


def test_only_the_papers_own_runs_count_and_each_cell_says_how_many(before_the_choice):
    specs = wanted()
    weighted = [spec for spec in specs if spec.beta != 1.0 or spec.settings]
    assert all(not any(map(sum, filter(None, list(row.values())[2:]))) for row in coverage(weighted, {}))
    finished = {spec.run: None for spec in specs if spec.dataset == "rewind/antmaze-medium-play-v1" and spec.seed < 3}
    text = coverage_text(coverage(specs, finished))
    line = next(line for line in text.splitlines() if line.startswith(MAZE))
    assert line.split() == [MAZE, "v1", "3/8", "3/8", "3/8", "3/8"]
    assert "2 of 63 pairs" in text and "waits" in text


def test_the_full_grid_costs_what_packing_it_would():
    estimate = CostEstimate(Index(), points=10)
    definitions = load_definitions()
    specs = in_order(definitions.wanted(RunChoice(["2", "td3_bc", "iql", "1", "3"], "d4rl")))
    hours = sum(estimate.seconds(group[0], len(group)) for group in pack(specs, estimate, 1500, 132)) / 3600
    grid = full_grid(estimate, 1500, 132)
    assert (grid["runs"], grid["datasets"]) == (len(specs), 23) and grid["hours"] == pytest.approx(hours, rel=0.1)


def test_status_of_the_evidence_shows_it_and_json_has_it(capsys):
    arguments = ["paper", "status", "--definitions", str(EVIDENCE), "--out", str(RESULTS), "--fused"]
    main(arguments)
    text = capsys.readouterr().out
    assert "data set of the paper" in text and "all tables of the paper (" in text and "in all" in text
    main([*arguments, "--json"])
    figures = json.loads(capsys.readouterr().out)
    row = next(row for row in figures["paper"] if row["data set"] == MAZE)
    there = [spec for spec in wanted() if spec.dataset == row["rebuilt"] and spec.algorithm == "td3_bc"]
    index = read_index(Path(RESULTS))
    uniform = [spec for spec in there if spec.sampler == "baseline" and not spec.settings]
    assert row["td3_bc baseline"] == [sum(spec.run in index.runs for spec in uniform), len(uniform)]
