"""`rewind report`: the page of trainings, and what is said where there is none to make."""

import pytest

pytest.importorskip("tyro")

from tests.report.train_folder import write_train_folder

from rewind.cli import main


def report(folder):
    """The Markdown."""
    main(["report", str(folder), "--markdown", str(folder / "report.md")])
    return (folder / "report.md").read_text(encoding="utf-8")


def fails(capsys, folder):
    with pytest.raises(SystemExit) as stop:
        report(folder)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("rewind: ") and error.count("\n") == 1, error
    return error


def test_folders_of_train_make_a_report_of_scores_and_curves(tmp_path):
    write_train_folder(tmp_path / "run")
    told = report(tmp_path)
    assert "| TR, β 0.5 | 40.0 ± 14.1 | [-87.1, 167.1] | 40.0 | 1.00 | 2 | 0 |" in told
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Training report" in page and 'id="curves"' in page and 'id="claims"' not in page


@pytest.mark.parametrize("name", ["hopper-medium-v2", "mine"])
@pytest.mark.parametrize("other", [{"alpha": 9.0}, {"bounded": 1.0}], ids=["another number", "a bound"])
def test_folders_of_other_settings_are_other_methods(tmp_path, other, name):
    """Two trainings that differ in a number are not four seeds of one, on whatever data."""
    write_train_folder(tmp_path / "first", name, critic_rate=1e-4)
    write_train_folder(tmp_path / "second", name, critic_rate=1e-4, **other)
    lines = [line for line in report(tmp_path).splitlines() if line.startswith("| TR, β 0.5")]
    ((setting, value),) = other.items()
    assert len(lines) == 2 and all("| 2 | 0 |" in line for line in lines)
    assert lines[0].startswith("| TR, β 0.5 |") and lines[1].startswith(f"| TR, β 0.5 ({setting} {value}) |")


def test_several_folders_are_compared_on_one_page(tmp_path, monkeypatch):
    write_train_folder(tmp_path / "a", critic_rate=1e-4)
    write_train_folder(tmp_path / "b", critic_rate=1e-4, alpha=9.0)
    write_train_folder(tmp_path / "c", critic_rate=1e-4, alpha=8.0)
    monkeypatch.chdir(tmp_path)
    main(["report", "a", "b", "--markdown", "report.md"])
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| TR, β 0.5 |" in text and "| TR, β 0.5 (alpha 9.0) |" in text and "alpha 8.0" not in text
    assert (tmp_path / "report.html").exists()


def test_a_run_that_two_folders_hold_counts_once(tmp_path):
    for name in ("first", "second"):
        write_train_folder(tmp_path / name)
    assert "- Runs: 4\n" in report(tmp_path)


def test_a_folder_without_results_is_left_out_where_others_have_some(tmp_path, capsys):
    write_train_folder(tmp_path / "run")
    (tmp_path / "old").mkdir()
    for name in ("config.json", "results.json"):
        (tmp_path / "old" / name).write_text("{}")
    assert "- Runs: 4\n" in report(tmp_path)
    error = capsys.readouterr().err
    assert error.startswith(f"rewind: left out: {tmp_path / 'old'} has no rows.jsonl") and error.count("\n") == 1


def test_what_cannot_be_reported_is_one_line_that_says_what_to_do(tmp_path, capsys):
    assert "no folder" in fails(capsys, tmp_path / "nowhere")
    assert "nothing to report" in fails(capsys, tmp_path)
    (tmp_path / "paper" / "groups").mkdir(parents=True)
    assert f"rewind paper report {tmp_path / 'paper'}" in fails(capsys, tmp_path / "paper")
    (tmp_path / "old").mkdir()
    for name in ("config.json", "results.json"):
        (tmp_path / "old" / name).write_text("{}")
    assert "has no rows.jsonl. If it was trained in Python: only `rewind train` writes one" in fails(
        capsys, tmp_path / "old"
    )
    write_train_folder(tmp_path / "cut")
    rows = tmp_path / "cut" / "rows.jsonl"
    rows.write_text(rows.read_text()[:-9])
    assert "line 8, is not a row of results" in fails(capsys, tmp_path / "cut")
