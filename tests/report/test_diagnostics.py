"""The page for training without a simulator: figures against the data, curves, and no score."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tyro")

from tests.report.browser import fits_the_screen
from tests.report.train_folder import write_train_folder

from rewind.cli import main
from rewind.evaluation import Diagnostics
from rewind.files import file_digest, write_json
from rewind.report import decision
from rewind.report.diagnostics import FIGURES, NO_SCORE
from rewind.report.train_folder import POINTS, read_metrics


def write_unplayed(path, name="mine", critic=True, steps=(10, 20), more=({}, {}, {}, {}), **folder):
    """A folder of `rewind train --env none`: two methods, two seeds, TD errors 0.1, 0.2 and 0.3, 0.4 at the end.

    more: figures of each run
    """
    figures, lines = [], []
    for number in range(4):
        ends = dict.fromkeys(FIGURES, 0.1 * (number + 1)) if critic else {"action_distance": 0.5}
        figures.append(dict.fromkeys(FIGURES) | ends | more[number])
        for step in steps:
            at = {"run": number, "name": str(number), "step": step}
            lines.append(at | {key: figures[-1][key] and figures[-1][key] * steps[-1] / step for key in FIGURES})
            lines.append(at | {"alive": True, "planning_delay": 0.0, "actor_loss": 1.0})
            lines[-1] |= {"critic_loss": 2e-5, "q": 5e6} if critic else {}
    write_train_folder(path, name, figures=figures, **folder)
    (path / "group-0").mkdir(exist_ok=True)
    (path / "group-0" / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def report(folder, *arguments):
    """The Markdown and what the page's charts are drawn from."""
    main(["report", str(folder), "--markdown", str(folder / "report.md"), *map(str, arguments)])
    page = (folder / "report.html").read_text(encoding="utf-8")
    return (folder / "report.md").read_text(encoding="utf-8"), json.loads(
        re.search(r'id="data">(.*?)</script>', page)[1]
    )


def test_every_diagnostic_has_its_words():
    assert set(FIGURES) == {name for name in Diagnostics.__annotations__ if not name.endswith("rows")}


def test_figures_are_means_of_the_seeds_with_their_interval_and_no_score_is_given(tmp_path):
    told, _ = report(write_unplayed(tmp_path))
    assert NO_SCORE in told and "mine, TD3+BC" in told and "Learning curves" not in told
    assert "| Baseline | 0.15 [-0.4853, 0.7853] | 0.15 [-0.4853, 0.7853] |" in told
    assert "| TR, β 0.5 | 0.35 [-0.2853, 0.9853] |" in told and "TD error (small is good)" in told


def test_critics_that_diverged_are_named_first(tmp_path):
    told, _ = report(write_unplayed(tmp_path))
    assert "diverged (" not in told and "| 2 | 0 | – |" in told  # nothing is known of older ones
    small = {"q": 5.0, "q_excess": 0.04}  # an error of estimation
    told, _ = report(
        write_unplayed(tmp_path, more=({"q": 5.0, "q_excess": 0.0}, {}, {"q": 5e6, "q_excess": 40.0}, small))
    )
    notice = "1 of 4 critics diverged (mine, TD3+BC: TR, β 0.5): their Q is outside the returns that"
    assert told.index(notice) < told.index(NO_SCORE)
    assert "| 2 | 0 | 1 |" in told and "| 2 | 0 | 0 |" in told
    told, _ = report(write_unplayed(tmp_path, algorithm="bc", alive=False))
    assert "critics diverged (" not in told  # it has none


def test_curves_have_every_figure_that_was_logged(tmp_path):
    _, data = report(write_unplayed(tmp_path))
    assert list(data["diagnostics"]) == [figure.label for figure in FIGURES.values()]
    assert list(data["training"]) == ["critic loss", "q", "actor loss"]
    baseline, tr = data["diagnostics"]["TD error"]["mine, TD3+BC"]
    assert (baseline["label"], baseline["x"], baseline["y"], baseline["runs"]) == ("Baseline", [10, 20], [0.3, 0.15], 2)
    assert tr["label"] == "TR, β 0.5" and tr["low"] == [None, None]
    assert data["training"]["critic loss"]["mine, TD3+BC"][0]["y"] == [2e-5, 2e-5]  # small numbers stay numbers


def test_agents_without_a_critic_have_dashes_and_no_curves_of_it(tmp_path):
    told, data = report(write_unplayed(tmp_path, critic=False))
    assert "| Baseline | – | – | – | – | – | 0.5 [0.5, 0.5] | 2 | 0 | – |" in told
    assert list(data["diagnostics"]) == ["Distance to actions"] and list(data["training"]) == ["actor loss"]


def test_folders_side_by_side_are_told_apart_even_on_the_papers_data_sets(tmp_path):
    write_unplayed(tmp_path / "a")
    write_unplayed(tmp_path / "b", name="hopper-medium-v2")
    told, data = report(tmp_path)
    assert "**mine, TD3+BC**" in told and "**hopper-medium-v2, TD3+BC**" in told and "claims" not in told
    assert list(data["diagnostics"]["TD bias"]) == ["mine, TD3+BC", "hopper-medium-v2, TD3+BC"]


def test_what_was_played_is_scored_and_the_rest_is_named(tmp_path, capsys):
    write_train_folder(tmp_path / "played")
    write_unplayed(tmp_path / "unplayed", environment="none")
    told, data = report(tmp_path)
    assert "| Score |" in told and "diagnostics" not in data
    assert f"left out, trained without a simulator: {tmp_path / 'unplayed'}" in capsys.readouterr().err


def test_without_its_metrics_a_folder_still_has_its_table(tmp_path):
    (write_unplayed(tmp_path) / "group-0" / "metrics.jsonl").unlink()
    told, data = report(tmp_path)
    assert "| Baseline | 0.15 [-0.4853, 0.7853] |" in told and data["diagnostics"] == data["training"] == {}


def test_long_trainings_are_thinned_and_end_where_they_ended(tmp_path):
    write_unplayed(tmp_path, steps=range(10, 10_010, 10))
    steps, values = read_metrics(tmp_path)[0]["td_error"]
    assert len(steps) == POINTS and steps[-1] == 10_000 and values[-1] == pytest.approx(0.1)
    assert (np.diff(steps) == 50).all()


def test_metrics_that_were_cut_are_named_with_their_line(tmp_path, capsys):
    path = write_unplayed(tmp_path) / "group-0" / "metrics.jsonl"
    path.write_text(path.read_text()[:-9])
    with pytest.raises(SystemExit):
        main(["report", str(tmp_path)])
    assert f"{path}, line 16 of 16, is damaged or cut off" in capsys.readouterr().err


def test_sections_go_into_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- report: diagnostics -->\n<!-- end of report -->\n")
    report(write_unplayed(tmp_path / "run"), "--into", page)
    assert "| TR, β 0.5 | 0.35 [-0.2853, 0.9853] |" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("write", [write_train_folder, write_unplayed], ids=["scored", "without a simulator"])
def test_the_marks_that_help_and_docs_show_are_on_every_report(write, tmp_path, capsys):
    main(["report", "--help-all"])
    told = " ".join(capsys.readouterr().out.split())
    docs = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    shown = {*re.findall(r"<!-- report: (\w+) -->", docs + told), "facts", "origin"}
    shown |= {"scores", "curves"} if write is write_train_folder else {"diagnostics", "training"}
    assert all(re.search(rf"\b{name}\b", told.partition("--into")[2]) for name in shown)
    page = tmp_path / "page.md"
    page.write_text("".join(f"<!-- report: {name} -->\n<!-- end of report -->\n" for name in shown))
    write(tmp_path / "run")
    report(tmp_path / "run", "--into", page)
    assert "<!-- report: facts -->\n\n" in page.read_text(encoding="utf-8")


def test_in_a_browser_figures_are_chosen_and_read_and_a_phone_is_wide_enough(visit, tmp_path):
    report(write_unplayed(tmp_path))
    for width in (390, 1280):
        page = visit(tmp_path / "report.html", width=width, height=800, dark=width == 390, touch=width == 390)
        assert fits_the_screen(page)
        assert page.locator("path.series").count() == 4  # two methods in each of two charts
    chart, training = (page.locator(f".panel[data-name={name}]") for name in ("diagnostics", "training"))
    chart.locator("[data-role=first]").select_option("Q minus returns")
    text = chart.text_content()
    assert "Against the data: Q minus returns, mine, TD3+BC" in text and "Baseline 0.15 (2 runs)" in text
    assert "Baseline 0.00002" in training.locator(".legend").text_content()


def test_a_page_says_how_well_such_rankings_did_and_where_another_criterion_did_better(tmp_path, monkeypatch):
    def evidence(fqe, td_error):
        regrets = {"fqe": fqe, "td_error": td_error}
        criteria = {name: {"rank_correlation": 0.5, "regret": regret} for name, regret in regrets.items()}
        return lambda: {"sets": ["one", "two"], "policies": 80, "coverage": 0.875, "criteria": criteria}

    monkeypatch.setattr(decision, "ranking_evidence", evidence(0.1, 0.4))
    told, _ = report(write_unplayed(tmp_path))
    assert "| Fitted Q evaluation | 0.50 | 10% |" in told and "held the true value for 88% of the policies" in told
    assert "had the smallest regret" not in told
    monkeypatch.setattr(decision, "ranking_evidence", evidence(0.4, 0.1))
    told, _ = report(tmp_path)
    assert "TD error (smallest) had the smallest regret." in told
    sets = {
        "rewind/a-v0": {"coverage": 0.9, "value_regret": 0.1},
        "rewind/b-v0": {"coverage": 0.05, "value_regret": 1.0},
    }
    whole = evidence(0.4, 0.1)() | {"fqe_by_set": sets}
    monkeypatch.setattr(decision, "ranking_evidence", lambda: whole)
    told, _ = report(tmp_path)
    assert "88% of the policies, on b for 5%; on b its first choice lost 100% of the spread." in told


def test_rows_that_are_not_those_of_results_json_are_refused(tmp_path, capsys):
    write_unplayed(tmp_path)
    rows = tmp_path / "rows.jsonl"
    write_json(tmp_path / "results.json", {"rows": file_digest(rows)})
    report(tmp_path)
    rows.write_text(rows.read_text().replace('"seed": 0', '"seed": 7'))
    with pytest.raises(SystemExit):
        report(tmp_path)
    assert "rows.jsonl and results.json beside it are not of one training" in capsys.readouterr().err
