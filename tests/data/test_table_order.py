"""The rows of a table come in any order: they are sorted while they are read, without a second copy of them."""

import tracemalloc

import numpy as np
import pytest
from tests.data.layouts import NAMED, steps, write
from tests.data.logs import assert_equal

pa = pytest.importorskip("pyarrow")

from rewind import load
from rewind.data import table_files
from rewind.data.table_order import in_order, sorting_order
from rewind.errors import DataError

TIMES = {
    "steps": lambda t: t - 3,
    "seconds": lambda t: 0.1 * t,
    "nanoseconds": lambda t: t * 10**15 - 10**16,
    "bytes": lambda t: (5 * t - 128).astype(np.int8),
    "dates": lambda t: np.datetime64("2024-12-31", "ns") + t.astype("m8[s]"),
}


@pytest.fixture
def small_pieces(monkeypatch):
    for name, size in {"BLOCK": 300, "PIECE": 7, "KEYS": 11}.items():
        monkeypatch.setattr(table_files, name, size)


@pytest.mark.parametrize("kind", [None, "steps", "seconds", "nanoseconds", "bytes"])
@pytest.mark.parametrize("episodes", [1, 9, 100_000])
def test_rows_are_sorted_by_episode_then_time_then_place(kind, episodes):
    rng = np.random.default_rng(episodes)
    episode = rng.integers(0, episodes, 3_000)
    time = None if kind is None else TIMES[kind](rng.integers(0, 50, 3_000))  # the same time several times
    expected = np.lexsort((episode,) if time is None else (time, episode))
    order = sorting_order(episode, time)
    np.testing.assert_array_equal(np.arange(3_000) if order is None else order, expected)
    assert in_order(episode[expected], None if time is None else time[expected])
    assert (order is None) == in_order(episode, time)


@pytest.mark.parametrize("which", ["shuffled", "last rows swapped", "interleaved"])
@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_unsorted_table_is_the_sorted_one_whatever_its_pieces(tmp_path, small_pieces, kind, time, which):
    columns = steps([9, 1, 14, 8, 20], [True, True, False, False, True])
    at = columns["t"]
    columns |= {"t": TIMES[time](at), "cost": columns["r"] + 1}
    order = {
        "shuffled": np.random.default_rng(1).permutation(len(at)),
        "last rows swapped": np.array([*range(len(at) - 2), len(at) - 1, len(at) - 2]),
        "interleaved": np.argsort(at, kind="stable"),
    }[which]
    data = load(write(tmp_path / f"log.{kind}", columns), **NAMED, extras="cost")
    mixed = load(write(tmp_path / f"mixed.{kind}", {n: c[order] for n, c in columns.items()}), **NAMED, extras="cost")
    sorted_ones = data.select(np.array(list(dict.fromkeys(columns["id"][order] - 7))))
    assert_equal(mixed, sorted_ones)
    np.testing.assert_array_equal(mixed.extras["cost"], sorted_ones.extras["cost"])
    assert "sorted" in mixed.notes and "sorted" not in data.notes


@pytest.mark.parametrize("name", ["id", "t", "obs_b", "u1"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_error_names_the_row_of_the_file_also_where_rows_are_sorted(tmp_path, small_pieces, kind, name):
    columns = steps([9, 14, 8], [True, False, False])
    order = np.random.default_rng(2).permutation(31)
    at = int(np.flatnonzero(order == 12)[0])  # inside an episode
    columns = {name: pa.array(column[order]) for name, column in columns.items()}
    columns[name] = pa.array([None if row == at else value for row, value in enumerate(columns[name].to_pylist())])
    place = f"row {at}" if kind == "parquet" else f"line {at + 2}"
    with pytest.raises(DataError, match=rf"log\.{kind}, {place}, column {name}: "):
        load(write(tmp_path / f"log.{kind}", columns), **NAMED)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_sorting_needs_no_second_copy_of_a_table(tmp_path, kind):
    columns = steps([100] * 600, [True] * 599 + [False])
    columns |= {f"obs_{at}": columns["obs_a"] for at in range(20)}
    order = np.random.default_rng(3).permutation(len(columns["t"]))
    path = write(tmp_path / f"log.{kind}", {name: column[order] for name, column in columns.items()})
    load(path, **NAMED)  # what is imported at first does not count
    tracemalloc.start()
    try:
        data = load(path, **NAMED)
        assert tracemalloc.get_traced_memory()[1] < 1.6 * data.nbytes
    finally:
        tracemalloc.stop()
