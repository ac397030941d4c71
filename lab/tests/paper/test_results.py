"""The table of results: each run once, whatever happens."""

import json
import subprocess
import sys

import pytest
from lab.tests.paper.small import row

from rewind import DataError
from rewind.errors import MissingExtra
from rewind.evaluation.rows import COLUMNS, write_jsonl
from rewind.run_spec import OLD_NAMES
from rewind_lab.paper import results as collecting
from rewind_lab.paper.results import collect, gather, group_files, read_index, read_rows, set_aside, write_parquet

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture
def folder(tmp_path):
    write_jsonl(tmp_path / "groups/g.jsonl", [row("a", 1), row("a", 2), row("b", 1, score=None)])
    write_jsonl(
        tmp_path / "groups/h.jsonl", [row("a", 1, "h", "2026-01-02", score=1.0), row("c", 1, "h", "2026-01-02")]
    )
    return tmp_path


def test_the_group_that_finished_first_has_the_run(folder):
    rows = read_rows(folder)
    assert [(each["run"], each["step"], each["group"]) for each in rows] == [
        ("a", 1, "g"), ("a", 2, "g"), ("b", 1, "g"), ("c", 1, "h"),
    ]  # fmt: skip
    assert all(list(each) == list(COLUMNS) for each in rows)


def test_collecting_changes_no_row_and_twice_is_as_good_as_once(folder):
    before = read_rows(folder)
    assert collect(folder) == collect(folder) == read_rows(folder) == before
    assert not group_files(folder)
    write_jsonl(folder / "groups/again.jsonl", before)  # a file that came twice
    assert collect(folder) == before
    write_jsonl(folder / "groups/new.jsonl", [row("d", 1, "new", "2026-01-03")])
    assert len(read_rows(folder)) == len(collect(folder)) == 5
    schema = pyarrow.parquet.read_schema(folder / "results.parquet")
    assert schema.names == list(COLUMNS) and schema.field("evaluation_seed").type == pyarrow.int64()


@pytest.mark.parametrize("moment", ["write_parquet", "write_index"])
def test_collecting_that_is_stopped_loses_nothing_and_counts_nothing_twice(folder, monkeypatch, moment):
    before = read_rows(folder)
    real = getattr(collecting, moment)

    def stopped(*arguments):
        real(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(collecting, moment, stopped)
    with pytest.raises(KeyboardInterrupt):
        collect(folder)
    assert read_rows(folder) == before and set(read_index(folder).runs) == {"a", "b", "c"}
    monkeypatch.undo()
    assert collect(folder) == before


def test_the_index_is_the_same_without_pyarrow(folder, monkeypatch):
    index = read_index(folder)
    collect(folder)
    write_jsonl(folder / "groups/new.jsonl", [row("d", 1, "new", "2026-01-03", group_seconds=15.0)])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    without = read_index(folder)
    assert without.runs == {**index.runs, "d": "new"} and without.seconds(accelerators=True) == 30.0 + 30.0 + 15.0
    assert without.groups["g"] == index.groups["g"] and index.groups["g"].evaluations == 2
    with pytest.raises(MissingExtra, match=r"pip install .*lab"):
        read_rows(folder)
    assert len(gather(folder, folder / "home.jsonl")) == 1  # what is new here, for a machine that can fold it


def test_an_index_from_when_groups_had_one_data_set_is_read(folder):
    collect(folder)
    index, path = read_index(folder), folder / "finished.json"
    saved = json.loads(path.read_text())
    for group in saved["groups"].values():
        ((group["dataset"], group["data_fingerprint"]),) = group.pop("data").items()
    path.write_text(json.dumps(saved))
    assert read_index(folder) == index


def test_files_from_another_machine_are_folded_in(folder, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    rows = gather(folder, home / "lease.jsonl")
    assert collect(home / "results", [home / "lease.jsonl"]) == rows == read_rows(folder)


def test_damage_is_told_with_its_place(folder):
    path = folder / "groups/bad.jsonl"
    path.write_text(json.dumps(row("x")) + "\n" + json.dumps(row("y"))[:50] + "\n")
    with pytest.raises(DataError, match=r"bad.jsonl, line 2, .* was the file cut"):
        read_rows(folder)
    path.write_text(json.dumps({**row("x"), "scores": 1}))
    with pytest.raises(DataError, match=r"line 1: .* unknown \['scores'\]"):
        read_rows(folder)
    path.write_text(json.dumps(row("x", seed="0")))
    with pytest.raises(DataError, match="column seed holds '0'; expected int"):
        read_rows(folder)
    path.unlink()
    collect(folder)
    (folder / "finished.json").write_text("{")
    with pytest.raises(DataError, match="collect` writes it again"):
        read_index(folder)
    collect(folder)
    assert len(read_index(folder).runs) == 3
    (folder / "results.parquet").write_bytes(b"nothing")
    with pytest.raises(DataError, match="cannot be read"):
        read_rows(folder)


def test_rows_from_before_a_column_was_added_are_read(folder):
    path = group_files(folder)[0]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["q"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert all(row["q"] is None for row in read_rows(folder) if row["group"] == lines[0]["group"])


def test_an_empty_folder_has_no_results(tmp_path):
    assert read_rows(tmp_path) == [] and read_index(tmp_path).runs == {}
    with pytest.raises(DataError, match="nothing to collect"):
        collect(tmp_path)


def test_status_and_collecting_need_neither_jax_nor_simulators(folder):
    pytest.importorskip("tyro")
    blocked = ("jax", "equinox", "optax", "gymnasium", "mujoco", "ray")
    program = f"""
import sys; sys.modules.update(dict.fromkeys({blocked!r}))
from rewind.cli import main
main(["paper", "status", "--json", "--out", {str(folder)!r}])
main(["paper", "collect", "--out", {str(folder)!r}])
main(["paper", "run", "--dry-run", "--tables", "2", "--out", {str(folder)!r}])
"""
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert '"hours_left"' in printed and "3 runs, 4 evaluations" in printed and "rewind/antmaze-umaze-v0" in printed


def test_runs_that_are_set_aside_are_in_the_other_folder_and_can_be_trained_anew(folder, tmp_path_factory):
    other, before = tmp_path_factory.mktemp("aside"), read_rows(folder)
    moved = set_aside(folder, other, lambda row: row["run"] == "a")
    assert [row["run"] for row in moved] == ["a", "a"] and read_rows(other) == moved
    assert {row["run"] for row in read_rows(folder)} == set(read_index(folder).runs) == {"b", "c"}
    with pytest.raises(DataError, match="none of these runs"):
        set_aside(folder, other, lambda row: row["run"] == "a")
    set_aside(folder, other, lambda row: True)
    assert read_rows(other) == before and read_rows(folder) == []


def test_setting_aside_that_is_stopped_loses_nothing(folder, tmp_path_factory, monkeypatch):
    other, before, calls = tmp_path_factory.mktemp("aside"), read_rows(folder), []
    real = collecting.write_parquet

    def stopped(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(collecting, "write_parquet", stopped)
    with pytest.raises(KeyboardInterrupt):
        set_aside(folder, other, lambda row: row["run"] == "a")
    assert read_rows(folder) == before and [row["run"] for row in read_rows(other)] == ["a", "a"]


def test_rows_of_the_first_edition_are_read_with_the_names_of_today(tmp_path):
    old = {OLD_NAMES.get(name, name): value for name, value in row("a", 1, rank_exponent=2.0).items()}
    assert "exponent" in old
    (tmp_path / "groups").mkdir()
    (tmp_path / "groups" / "old.jsonl").write_text(json.dumps(old))
    (read,) = read_rows(tmp_path)
    assert read["rank_exponent"] == 2.0 and "exponent" not in read


def test_the_table_is_verified_when_it_is_read(folder):
    collect(folder)
    path, index = folder / "results.parquet", folder / "finished.json"
    whole, rows = path.read_bytes(), read_rows(folder)
    half = len(whole) // 2
    for place in (100, half, half + 1):  # inside the pages
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DataError, match=r"results\.parquet"):
            read_rows(folder)
    for kept in (rows[:-1], rows[1:]):  # a run fewer, a row fewer
        write_parquet(folder, kept)
        with pytest.raises(DataError, match=r"parquet is not whole: [01] of 3 runs in finished\.json are missing"):
            read_rows(folder)
    path.write_bytes(whole)
    index.write_text("{}")
    with pytest.raises(DataError, match=r"finished\.json is damaged \(no runs and groups\)"):
        read_index(folder)
    assert collect(folder) == rows and len(read_index(folder).runs) == 3
