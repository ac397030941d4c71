"""Scores on OGBench beside published means over its five tasks."""

import pytest
from lab.tests.report import synthetic

from rewind.report.runs import runs_of
from rewind_lab.cards.published import ogbench_means
from rewind_lab.paper.definitions import EVIDENCE
from rewind_lab.paper.report.beside_ogbench import beside_ogbench
from rewind_lab.paper.report.commands import PaperBeside
from rewind_lab.paper.report.results import PaperResults

TABLES = ("ogbench", "rebrac_cube")


def made(tables=TABLES, keep=lambda spec: True):
    """Task n scores 50 + n, ReBRAC 40 more; staggered TR and another alpha 30 less."""

    def effect(spec):
        task = int(spec.dataset.rpartition("-task")[2][0])
        other = spec.sampler != "baseline" or "alpha" in dict(spec.settings)
        return task + 40 * (spec.algorithm == "rebrac") - 30 * other

    return synthetic.rows(effect, tables, noise=0.0, definitions=EVIDENCE, datasets=["ogbench"], keep=keep)


def lines(rows, tables=TABLES):
    page = beside_ogbench(PaperResults(runs_of(rows), "rewind"), tables, EVIDENCE)
    cells = [line.strip("| ").split(" | ") for line in page.splitlines() if "-play | " in line]
    return {(row[0], row[1]): row[2:] for row in cells}


def test_five_tasks_their_mean_and_the_published_mean_stand_side_by_side():
    found = lines(made())
    by_task = ["51.0", "52.0", "53.0", "54.0", "55.0"]
    assert found["cube-single-play", "TD3+BC"] == [*by_task, "**53.0 [53.0, 53.0]**", "4", "-", "-", "-"]
    assert found["cube-single-play", "IQL"][-2:] == ["83", "-30.0, far"]
    assert found["cube-single-play", "ReBRAC"][5:] == ["**93.0 [93.0, 93.0]**", "4", "-", "91", "+2.0"]
    assert {agent for name, agent in found if name == "cube-single-play"} == {"BC", "TD3+BC", "IQL", "ReBRAC"}
    assert {agent for name, agent in found if name == "scene-play"} == {"TD3+BC", "IQL"}  # BC is on its card


def test_td3_bc_with_its_own_numbers_has_a_line_of_its_own_and_tr_has_none():
    found = lines(made((*TABLES, "c_cube")), (*TABLES, "c_cube"))
    assert found["cube-single-play", "TD3+BC"][:2] == ["51.0", "52.0"]
    assert found["cube-single-play", "TD3+BC, alpha 0.2"][:2] == ["21.0", "22.0"]  # uniform sampling has 30 less there
    assert len(found) == 7


def test_the_interval_of_a_success_rate_stays_between_0_and_100():
    rows = [
        row | {"score": 100.0 if row["seed"] else 99.0 * ("task1" not in row["dataset"])}
        for row in made()
        if row["algorithm"] == "iql"
    ]
    assert lines(rows)["cube-single-play", "IQL"][5].endswith(", 100.0]**")


def test_runs_of_other_samplers_and_settings_do_not_count_and_more_seeds_are_said():
    found = lines(made((*TABLES, "c_cube", "e_targets", "e_alpha")))
    assert found["cube-single-play", "TD3+BC"][5:7] == ["**53.0 [53.0, 53.0]**", "4"]
    more = [
        row | {"seed": 9, "run": "another", "group": "another"}
        for row in made()
        if "cube-single-play-task4" in row["dataset"]
    ]
    chosen = [row for row in more if row["algorithm"] == "td3_bc" and row["seed"] == 9]
    assert lines([*made(), *chosen])["cube-single-play", "TD3+BC"][6] == "4 to 5"


def test_critics_that_diverged_are_counted_of_those_whose_q_was_recorded():
    rows = made(keep=lambda spec: spec.algorithm == "iql" and "cube" in spec.dataset)
    known = [row | {"q_excess": 1.0 if row["seed"] == 0 else 0.0} for row in rows if "task5" not in row["dataset"]]
    others = [row for row in rows if "task5" in row["dataset"]]
    assert lines([*known, *others])["cube-single-play", "IQL"][7] == "4 of 16"


def test_without_runs_of_all_tasks_there_is_no_mean():
    some = made(keep=lambda spec: spec.algorithm == "iql" and "task3" not in spec.dataset)
    assert lines(some)["cube-single-play", "IQL"] == [
        "51.0",
        "52.0",
        "-",
        "54.0",
        "55.0",
        "not run yet",
        "0 to 4",
        "-",
        "83",
        "-",
    ]


def test_runs_with_another_temperature_have_a_line_of_their_own():
    rows = made(("iql_temperature",))
    page = beside_ogbench(PaperResults(runs_of(rows), "rewind"), (*TABLES, "iql_temperature"), EVIDENCE)
    found = [line.strip("| ").split(" | ")[:3] for line in page.splitlines() if "cube-single-play | IQL" in line]
    assert found == [["cube-single-play", "IQL", "-"], ["cube-single-play", "IQL, temperature 10", "51.0"]]


def test_published_means_say_where_they_are_from_and_whether_somebody_has_looked_them_up():
    assert ogbench_means().of("cube-single-play", "rebrac") == 91 and ogbench_means().of("x", "iql") is None
    page = beside_ogbench(PaperResults(runs_of(made()), "rewind"), TABLES, EVIDENCE)
    assert "Flow Q-Learning (Park et al., 2025)" in page
    assert ("look them up" in page) == (not ogbench_means().checked)


def test_the_command_adds_the_section_to_the_page_of_scores(tmp_path):
    pytest.importorskip("pyarrow")
    out = tmp_path / "scores.md"
    tables = {"table": "uniform", "ogbench": TABLES, "definitions": EVIDENCE}
    PaperBeside(EVIDENCE.parents[3] / "results" / "evidence", tmp_path / "none.json", out, **tables).run()
    page = out.read_text(encoding="utf-8")
    assert page.index("antmaze-umaze-v1") < page.index("## OGBench") < page.index("| cube-single-play | ReBRAC |")
