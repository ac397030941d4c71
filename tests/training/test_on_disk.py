"""Data that stays on the disk trains like data in memory."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("equinox")

from rewind.arrays import on_disk
from rewind.data import load
from rewind.data.folder import save_folder
from rewind.training import View, make_runs, reading, train
from rewind.training.device_table import make_normaliser
from tests.helpers import make
from tests.training.small import DATA, QUIET, SMALL


def saved(data, folder):
    save_folder(data, folder)
    found = load(folder)
    assert on_disk(found.observations) and on_disk(found.actions) and found.fingerprint == data.fingerprint
    return found


def trained(data, runs, **options):
    return train(data, runs, **{"steps": 60, "block": 20, "log_every": 20, **QUIET, **options})


def weights(run):
    import jax

    return [np.asarray(leaf) for leaf in jax.tree.leaves(run.policy)]


CASES = {
    "td3_bc": ("td3_bc", {}),
    "windows": ("td3_bc", {"window": 3}),
    "next actions": ("rebrac", {}),
}


@pytest.mark.parametrize(("algorithm", "settings"), CASES.values(), ids=CASES)
def test_training_from_the_disk_is_training_in_memory_bit_for_bit(algorithm, settings, tmp_path):
    data = saved(DATA, tmp_path / "data")
    samplers = ["baseline", "tr", "lower_mean_unc"]
    view = View(normalise_states=True)
    runs = make_runs(DATA, algorithm, samplers=samplers, betas=[0.5], view=view, **SMALL, **settings)
    for one, other in zip(trained(DATA, runs), trained(data, runs), strict=True):
        assert all(map(np.array_equal, weights(one), weights(other)))
        assert one.records == other.records


def test_runs_on_several_data_sets_read_their_own(tmp_path):
    more = make([9, 12, 7, 30], seed=1, known=1.0)
    disk = saved(DATA, tmp_path / "one"), saved(more, tmp_path / "two")
    results = []
    for one, two in ((DATA, more), disk):
        first, second = make_runs(DATA, "td3_bc", samplers=["tr", "baseline"], **SMALL)
        results.append(trained(one, [first, replace(second, data=two)]))
    for one, other in zip(*results, strict=True):
        assert all(map(np.array_equal, weights(one), weights(other)))


def test_a_resumed_training_continues_as_if_nothing_had_happened(tmp_path):
    data = saved(DATA, tmp_path / "data")
    runs = make_runs(DATA, "td3_bc", samplers=["tr"], **SMALL)
    (whole,) = trained(data, runs)
    trained(data, runs, steps=20, out=tmp_path / "run")
    (resumed,) = trained(data, runs, out=tmp_path / "run", resume=True)
    assert all(map(np.array_equal, weights(whole), weights(resumed)))


def test_blocks_of_large_rows_are_shorter(tmp_path, monkeypatch):
    data = saved(DATA, tmp_path / "data")
    monkeypatch.setattr(reading, "LARGEST", 7 * 4 * 8 * 10)
    runs = make_runs(DATA, "td3_bc", samplers=["tr"], **SMALL)
    (short,), (long,) = trained(data, runs, block=None), trained(DATA, runs, block=None)
    assert all(map(np.array_equal, weights(short), weights(long)))


def test_states_are_normalised_by_the_same_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("rewind.training.device_table.ROWS_AT_A_TIME", 50)
    for one, other in zip(make_normaliser(DATA, True), make_normaliser(saved(DATA, tmp_path / "x"), True), strict=True):
        np.testing.assert_array_equal(one, other)
