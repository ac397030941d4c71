"""Rows of arrays on the disk are those of the same arrays in memory."""

import tracemalloc

import numpy as np
import pytest
from tests.data.logs import assert_equal, flat_log
from tests.helpers import make
from tests.kinds import KINDS, data_of
from tests.memory.test_kinds import assert_batches

from rewind import DataError, TrajectoryReplay, UsageError, load
from rewind.data import from_d4rl
from rewind.data.folder import in_memory, save_folder
from rewind.data.lazy_rows import LazyRows
from rewind.data.parts import on_disk

RNG = np.random.default_rng(0)
PARTS = [RNG.normal(size=(40, 2)).astype(np.float32), RNG.integers(0, 9, 40), RNG.random((40, 2, 3)) < 0.5]
JOINED = np.concatenate([part.reshape(40, -1) for part in PARTS], axis=1).astype(np.float32)
SOME = np.array([3, 39, 0, 3, 17])
CASES = {
    "joined": (LazyRows(PARTS, shape=(9,)), JOINED),
    "chosen": (LazyRows(PARTS[2:], SOME), PARTS[2][SOME]),
    "chosen of joined": (LazyRows([LazyRows(PARTS, shape=(9,))], SOME), JOINED[SOME]),
}


@pytest.mark.parametrize(("rows", "array"), CASES.values(), ids=CASES)
def test_rows_are_indexed_like_the_array_in_memory(rows, array, monkeypatch):
    assert (rows.shape, rows.dtype, rows.ndim, rows.size, rows.nbytes, len(rows)) == (
        array.shape, array.dtype, array.ndim, array.size, array.nbytes, len(array),
    )  # fmt: skip
    grid = np.array([[0, 4], [2, 2]])
    for key in (3, -1, slice(None), slice(1, 4), slice(0, 0), slice(None, None, 2), SOME % 5, grid):
        np.testing.assert_array_equal(rows[key], array[key])
    np.testing.assert_array_equal(rows[:, 1], array[:, 1])
    np.testing.assert_array_equal(rows.take(grid, axis=0), array.take(grid, axis=0))
    np.testing.assert_array_equal(rows.take(grid + 3, axis=0, mode="clip"), array.take(grid + 3, axis=0, mode="clip"))
    np.testing.assert_array_equal(rows, array)
    monkeypatch.setattr("rewind.data.lazy_rows.ROWS_AT_A_TIME", 7)
    for name, more in (("min", {}), ("max", {}), ("mean", {"dtype": np.float64}), ("std", {"dtype": np.float64})):
        np.testing.assert_array_equal(getattr(rows, name)(0, **more), getattr(array, name)(0, **more))
    with pytest.raises(UsageError, match="axis is 1; expected 0"):
        rows.min(1)


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@pytest.mark.parametrize("kind", KINDS)
def test_trajectories_selected_on_the_disk_stay_there_and_are_those_selected_in_memory(kind, tmp_path):
    save_folder(data_of(kind), tmp_path / "data")
    chosen = np.array([4, 0, 2])
    expected, found = data_of(kind).select(chosen), load(tmp_path / "data").select(chosen)
    assert all(map(on_disk, (found.observations, found.actions, found.final_observations)))
    assert found.fingerprint == expected.fingerprint and found.nbytes == expected.nbytes
    assert found.digest == expected.digest == in_memory(found).digest and not on_disk(in_memory(found).actions)
    save_folder(found.select(np.array([1])), tmp_path / "again")  # of a selection, piece by piece
    assert load(tmp_path / "again").digest == expected.select(np.array([1])).digest
    memories = TrajectoryReplay(seed=0), TrajectoryReplay(seed=0)
    for memory, data in zip(memories, (expected, found), strict=True):
        memory.load_offline_dataset(data)
        memory.add(next(data_of(kind).episodes()))
    for _ in range(9):
        assert_batches(*(memory.sample(3) for memory in memories))


def test_a_selection_on_the_disk_needs_a_fraction_of_its_size_in_memory(tmp_path):
    data = make(np.full(40, 500), observation=256)
    save_folder(data, tmp_path / "data")
    found = load(tmp_path / "data")
    tracemalloc.start()
    try:
        half = found.select(np.arange(0, 40, 2))
        half = half.map_rewards(lambda rewards: rewards - 1, "r - 1")
        assert tracemalloc.get_traced_memory()[1] < 0.05 * half.nbytes
    finally:
        tracemalloc.stop()
    assert half.observations.shape == (10_000, 256)


def on_the_disk(log, folder, convert):
    """The same log, with observations, successors and actions in `.npy` files that are mapped."""
    for key in ("observations", "next_observations", "actions"):
        np.save(folder / f"{key}.npy", convert(log[key]))
    return log | {path.stem: np.load(path, mmap_mode="r") for path in folder.glob("*.npy")}


@pytest.mark.parametrize("rule", [{}, {"boundaries": "flags+jump"}])
@pytest.mark.parametrize("dtype", ["f8", "f2", ">f4"])
def test_mapped_arrays_of_another_precision_stay_on_the_disk(dtype, rule, tmp_path):
    log = flat_log([9, 4], [True, False])
    log |= {key: value.astype("f2") for key, value in log.items() if value.dtype == "f4"}
    expected, data = from_d4rl(log, **rule), load(on_the_disk(log, tmp_path, lambda part: part.astype(dtype)), **rule)
    assert on_disk(data.observations) and on_disk(data.actions) and data.observations.dtype == np.float32
    assert_equal(data, expected)
    assert data.digest == expected.digest and data.fingerprint == expected.fingerprint
    memories = TrajectoryReplay(seed=0), TrajectoryReplay(seed=0)
    for memory, loaded in zip(memories, (expected, data), strict=True):
        memory.load_offline_dataset(loaded)
    for _ in range(9):
        assert_batches(*(memory.sample(2) for memory in memories))


def test_columns_of_a_mapped_array_stay_on_the_disk(tmp_path):
    log = flat_log([9, 4], [True, False])
    wide = on_the_disk(log, tmp_path, lambda part: np.repeat(part, 2, axis=1))
    data = load({key: value[:, ::2] if value.ndim == 2 else value for key, value in wide.items()})
    assert on_disk(data.observations)
    assert_equal(data, from_d4rl(log))


@pytest.mark.parametrize("wrong", [np.nan, 1e300])
def test_numbers_of_mapped_doubles_are_checked(wrong, tmp_path):
    log = flat_log([9, 4], [True, False], successors=False)
    log["observations"] = log["observations"].astype(np.float64)
    log["observations"][10, 1] = wrong
    np.save(tmp_path / "x.npy", log["observations"])
    with pytest.raises(DataError, match=r"too large for float32 at row 10 \(trajectory 1\)"):
        load({**log, "observations": np.load(tmp_path / "x.npy", mmap_mode="r")})
