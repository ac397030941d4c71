"""Data that stays on the disk trains like data in memory."""

from dataclasses import replace

import jax
import numpy as np
import pytest

pytest.importorskip("equinox")

from rewind.data import load
from rewind.data.folder import save_folder
from rewind.data.lazy_rows import LazyRows
from rewind.data.parts import lazy, on_disk
from rewind.guard import support_of
from rewind.training import View, make_runs, reading, train, view
from rewind.training.group import sources_of
from rewind.training.planner import Planner
from rewind.training.view import DeviceTable, make_normaliser, make_table
from tests.helpers import make
from tests.training.small import DATA, QUIET, SMALL


def saved(data, folder):
    save_folder(data, folder)
    found = load(folder)
    assert on_disk(found.observations) and on_disk(found.actions) and found.fingerprint == data.fingerprint
    return found


CASES = {
    "one step": ("td3_bc", {}),
    "windows": ("td3_bc", {"window": 3}),
    "next actions": ("rebrac", {}),
    "next actions of windows": ("rebrac", {"window": 3}),
}


@pytest.mark.parametrize(("algorithm", "settings"), CASES.values(), ids=CASES)
def test_batches_of_a_blocks_own_table_are_those_of_the_table_of_all_rows(algorithm, settings, tmp_path):
    """Of runs on two data sets, one after the other in the table of all rows."""
    more = make([9, 1, 12, 7, 30], seed=1)
    runs = make_runs(
        DATA, algorithm, samplers=["tr", "baseline"], view=View(normalise_states=True), **SMALL, **settings
    )
    first, second = saved(DATA, tmp_path / "one"), saved(more, tmp_path / "two")
    sources = sources_of(first, [runs[0], replace(runs[1], data=second)], 8)
    whole, agent = make_table(sources), runs[0].agent
    planner, reader = Planner([source.data for source in sources], runs, 8), reading.BlockReader(sources, agent, 8)
    for steps in (6, 4, 6):
        planned = planner.plan(steps)
        reader.start(planned)
        places, fresh, rows = planned.ready()
        for run, source in enumerate(sources):
            expected = whole.batch(jax.numpy.asarray(planned.indices[run] + source.first), fresh[run], agent)
            found = DeviceTable(jax.numpy.asarray(rows)).batch(jax.numpy.asarray(places[run]), fresh[run], agent)
            for one, other in zip(looked_at(expected), looked_at(found), strict=True):
                np.testing.assert_array_equal(one, other)
    planner.close()
    reader.close()


def looked_at(batch):
    """The arrays of a batch without what agents mask: rows of a window beyond a tail, actions that are not known."""
    parts = {name: np.asarray(part) for name, part in batch._asdict().items() if part is not None and name != "window"}
    if batch.window is not None:
        tails = np.asarray(batch.window.tails).astype(int)
        own = np.cumsum(tails, -1) - tails == 0
        parts |= {str(i): np.asarray(part)[own] for i, part in enumerate(batch.window)}
        parts |= {name: parts[name][own] for name in ("next_actions", "next_known") if name in parts}
    if "next_actions" in parts:
        parts["next_actions"] = parts["next_actions"][parts["next_known"]]
    return list(parts.values())


def test_a_compiled_pass_fills_the_table_that_numpy_fills(monkeypatch):
    (run,) = make_runs(DATA, "td3_bc", samplers=["tr"], view=View(normalise_states=True), **SMALL)
    sources = sources_of(DATA, [run], 8)
    tables = []
    for numba in (view.HAVE_NUMBA, False):
        monkeypatch.setattr(view, "HAVE_NUMBA", numba)
        tables.append(np.asarray(make_table(sources).rows))
    np.testing.assert_array_equal(*tables)


def trained(data, runs, **options):
    return train(data, runs, **{"steps": 20, "block": 10, "log_every": 10, **QUIET, **options})


def weights(run):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(run.policy)]


def test_training_from_the_disk_is_training_in_memory_bit_for_bit(tmp_path):
    data = saved(DATA, tmp_path / "data")
    runs = make_runs(DATA, "bc", samplers=["tr"], view=View(normalise_states=True), **SMALL)
    for one, other in zip(trained(DATA, runs), trained(data, runs), strict=True):
        assert all(map(np.array_equal, weights(one), weights(other)))
        assert one.records == other.records


@pytest.fixture
def never_whole(monkeypatch):
    """Reading all rows of arrays on the disk at once is an error."""

    def fail(*_, **__):
        raise AssertionError("all rows were read")

    monkeypatch.setattr(LazyRows, "__array__", fail)


def test_trajectories_are_held_out_on_the_disk_as_in_memory_without_a_copy(tmp_path, never_whole):
    data = saved(DATA, tmp_path / "data")
    view = View("return_range", normalise_states=True, top=0.5, hold_out=0.3)
    runs = make_runs(DATA, "td3_bc", samplers=["tr"], view=view, **SMALL)
    for one, other in zip(trained(DATA, runs), trained(data, runs), strict=True):
        assert all(map(np.array_equal, weights(one), weights(other)))
        assert one.records == other.records and on_disk(other.data.observations) and on_disk(other.data.actions)
        assert one.data.fingerprint == other.data.fingerprint
        supports = (support_of(lazy(of.data.observations), lazy(of.data.actions)) for of in (one, other))
        assert len({str(vars(support)) for support in supports}) == 1


def in_parts(data):
    """The same observations as a dict, with a key of its own for the first column, and whole numbers."""

    def parts(array):
        return {"speed": array[:, 0], "level": np.arange(2 * len(array)).reshape(-1, 2) % 7, "rest": array[:, 1:]}

    return replace(data, observations=parts(data.observations), final_observations=parts(data.final_observations))


@pytest.mark.parametrize("hold_out", [0.0, 0.3])
def test_dict_observations_train_from_the_disk_as_in_memory_without_a_copy(tmp_path, never_whole, hold_out):
    dicts = in_parts(DATA)
    data = saved(dicts, tmp_path / "data")
    runs = make_runs(dicts, "td3_bc", samplers=["tr"], view=View(normalise_states=True, hold_out=hold_out), **SMALL)
    assert runs[0].agent.observation_size == 5
    for one, other in zip(trained(dicts, runs), trained(data, runs), strict=True):
        assert all(map(np.array_equal, weights(one), weights(other)))
        assert one.data.fingerprint == other.data.fingerprint and on_disk(other.data.observations)


@pytest.mark.long
def test_a_resumed_training_with_uncertainty_and_windows_is_the_same_from_the_disk(tmp_path):
    data = saved(DATA, tmp_path / "data")
    samplers = ["baseline", "tr", "lower_mean_unc"]
    runs = make_runs(DATA, "td3_bc", samplers=samplers, betas=[0.5], window=3, **SMALL)
    trained(data, runs, steps=10, out=tmp_path / "run")
    resumed = trained(data, runs, out=tmp_path / "run", resume=True)
    for one, other in zip(trained(DATA, runs), resumed, strict=True):
        assert all(map(np.array_equal, weights(one), weights(other)))


def test_blocks_of_large_rows_are_shorter(tmp_path, monkeypatch):
    (run,) = make_runs(DATA, "td3_bc", samplers=["tr"], **SMALL)
    sources = sources_of(saved(DATA, tmp_path / "data"), [run], 8)
    monkeypatch.setattr(reading, "LARGEST", 4 * 10 * 8 * 7)  # 10 numbers a row, 8 rows a step, 7 steps
    assert reading.BlockReader(sources, run.agent, 8).most_steps(2) == 6


def test_states_are_normalised_by_the_same_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("rewind.data.lazy_rows.ROWS_AT_A_TIME", 50)
    for one, other in zip(make_normaliser(DATA, True), make_normaliser(saved(DATA, tmp_path / "x"), True), strict=True):
        np.testing.assert_array_equal(one, other)
