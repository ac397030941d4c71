"""What `rewind bench tables` writes and measures."""

import json

import pytest

pa = pytest.importorskip("pyarrow")

from rewind_lab.bench.tables import BenchTables, _pieces

KEYS = [("id", "ascending"), ("t", "ascending")]


def test_a_shuffled_table_has_the_steps_of_the_sorted_one():
    ordered, shuffled = (pa.concat_tables(_pieces(150_000, 1, 1, mixed)) for mixed in (False, True))
    names = ["id", "t", "over"]
    assert shuffled.select(names) != ordered.select(names)
    assert shuffled.sort_by(KEYS).select(names) == ordered.select(names)


def test_the_figures_say_whether_rows_were_shuffled(tmp_path, capsys):
    BenchTables(rows=2_000, rounds=1, shuffled=True, json=tmp_path / "figures.json").run()
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["shuffled"] and set(figures["reading"]) == {"csv", "parquet"}
    assert "2,000 shuffled rows" in capsys.readouterr().out
