"""How many critics diverge on the mazes, by kind of critic and method."""

import json
from pathlib import Path

import pytest

from rewind.report.runs import runs_of
from rewind_lab.paper.definitions import EVIDENCE
from rewind_lab.paper.report.divergence import divergence, mostly_diverged, wanted_runs
from rewind_lab.paper.report.report import build
from rewind_lab.paper.report.results import PaperResults

from .synthetic import null, rows

ROOT = Path(__file__).parents[3]
MAZES = ["rewind/antmaze-medium-play-v1", "rewind/antmaze-medium-diverse-v1", "rewind/antmaze-large-diverse-v1"]
TABLES = ("a_mazes", "a_bounded", "a_layer_norm", "b_iql", "b_rebrac")
CRITICS = ("TD3+BC", "TD3+BC, bounded", "TD3+BC, layer norm", "IQL", "ReBRAC")


@pytest.fixture(scope="module")
def made():
    """Without bounds and layer norm the critics of odd seeds diverge under TR; one run broke under uniform sampling."""
    found = rows(null, TABLES, noise=0.0, definitions=EVIDENCE, keep=lambda spec: spec.dataset in MAZES)
    for row in found:
        plain = row["algorithm"] == "td3_bc" and json.loads(row["settings"]) == {}
        lost = plain and row["sampler"] == "tr" and row["beta"] == 1.0 and row["seed"] % 2 == 1
        row["q"], row["q_excess"] = (800.0, 8.0) if lost else (-90.0, 0.04)
        if plain and (row["sampler"], row["seed"], row["dataset"]) == ("baseline", 0, MAZES[0]):
            row["alive"], row["q_excess"] = False, None
    return found


def lines(found):
    table = divergence(PaperResults(runs_of(found), "rewind"))[0]
    assert table.columns[4:] == [
        "umaze",
        "umaze-diverse",
        "medium-play",
        "medium-diverse",
        "large-play",
        "large-diverse",
    ]
    assert {cell.kind for line in table.lines for cell in (*line.cells[3:5], line.cells[7])} == {"missing"}
    return {
        (line.head, line.cells[0].text): [*line.cells[1:3], *line.cells[5:7], line.cells[8]] for line in table.lines
    }


def test_24_runs_of_each_are_wanted():
    """Seeds of the recommendation's test count too."""
    wanted = wanted_runs(MAZES)
    three = {(critic, method) for critic in CRITICS for method in ("uniform", "TR", "TR, β 0.75")}
    ranked = {("TD3+BC", f"TR by `{name}`") for name in ("avg_reward", "uqm_reward", "lower_uqm_unc")}
    normed = {("TD3+BC, layer norm", f"TR by `{name}`") for name in ("avg_reward", "uqm_reward")}
    assert wanted.keys() == three | ranked | normed
    assert {len(wanted[key]) for key in three} == {24}
    assert len(wanted_runs(["rewind/antmaze-umaze-v1"])["TD3+BC", "uniform"]) == 24


def test_critics_whose_q_is_impossible_or_whose_run_broke_diverged(made):
    found = lines(made)
    runs, lost, *mazes = found["TD3+BC", "TR"]
    assert (runs.text, lost.text) == ("24 of 48", "12 of 24")
    assert {(cell.text, cell.beside) for cell in mazes} == {("30.0 ± 0.0 (8)", "4 diverged")}
    assert found["TD3+BC", "uniform"][1].text == "1 of 24"  # broken, with a Q that nobody recorded
    assert found["TD3+BC, bounded", "TR"][1].text == found["ReBRAC", "TR, β 0.75"][1].text == "0 of 24"
    assert not any(cell.beside for cell in found["ReBRAC", "TR, β 0.75"])
    assert found["TD3+BC", "TR by `avg_reward`"][1].text == "0 of 24" and {key[0] for key in found} == {*CRITICS}


def test_sets_on_which_most_critics_of_tr_diverge_and_few_of_uniform_sampling_are_named(made):
    assert mostly_diverged(PaperResults(runs_of(made), "rewind")) == []  # half are not most
    lost = [{**row, "q_excess": 8.0} if row["sampler"] == "tr" and row["dataset"] == MAZES[1] else row for row in made]
    told = mostly_diverged(PaperResults(runs_of(lost), "rewind"))
    counts = "uniform: 0 of 8; TR: 8 of 8; TR, β 0.75: 8 of 8."
    assert told == [f"Critics of TD3+BC that diverged on antmaze-medium-diverse: {counts}"]
    every = [{**row, "q_excess": 8.0} for row in made]
    assert mostly_diverged(PaperResults(runs_of(every), "rewind")) == []


def test_what_has_run_in_part_and_not_at_all_is_said(made):
    some = [
        row for row in made
        if (row["algorithm"], row["sampler"], row["dataset"]) == ("rebrac", "baseline", MAZES[1]) and row["seed"] < 3
    ]  # fmt: skip
    some[0]["q_excess"] = None
    table, missing = divergence(PaperResults(runs_of(some), "rewind"))
    assert [cell.text for cell in table.lines[0].cells][:3] == ["uniform", "3 of 48", "0 of 3"]
    assert [cell.kind for cell in table.lines[0].cells][3:] == [*["missing"] * 3, "", *["missing"] * 2]
    assert missing == "Not run yet: TD3+BC; TD3+BC, bounded; TD3+BC, layer norm; IQL; ReBRAC (TR, TR, β 0.75)."
    unknown = [{**row, "q_excess": None} for row in some]
    assert divergence(PaperResults(runs_of(unknown), "rewind"))[0].lines[0].cells[2].text == "not recorded"


def test_the_page_of_agents_shows_it(made):
    assert "divergence" in [section.name for section in build(PaperResults(runs_of(made), "rewind")).sections]
    assert "<!-- report: divergence -->" in (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")


def test_elsewhere_layer_norm_is_compared_where_nothing_else_differs():
    cube = "rewind/ogbench-cube-single-play-task4-v0"
    found = rows(null, ("c_alpha", "c_cube"), noise=0.0, definitions=EVIDENCE, keep=lambda spec: spec.dataset == cube)
    for row in found:
        row["q"], row["q_excess"] = 800.0, 8.0
    (table,) = (block for block in divergence(PaperResults(runs_of(found), "rewind")) if hasattr(block, "lines"))
    found = {(line.head, line.cells[0].text): [cell.text for cell in line.cells[1:]] for line in table.lines}
    assert len(found) == len(table.lines) > 1
    assert found["TD3+BC", "cube-single-play-task4, alpha 0.2"][:2] == ["", ""]
    assert found["IQL", "cube-single-play-task4"] == ["4 of 4", "8 of 8", ""]
