"""What is written and read back is equal; and a file is there whole or not at all."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.data.logs import FIELDS, assert_equal, flat_log, trajectories

from rewind.data import (
    from_d4rl,
    from_episodes,
    from_steps,
    hdf5,
    load,
    load_hdf5,
    load_minari,
    load_npz,
    minari_sets,
    save_hdf5,
    save_minari,
    save_npz,
)
from rewind.errors import DataError, UsageError

SETTINGS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@SETTINGS
@given(data=trajectories())
def test_npz(data, tmp_path):
    save_npz(data, tmp_path / "x.npz")
    back = load_npz(tmp_path / "x.npz")
    assert_equal(data, back)
    assert (back.name, back.notes) == (data.name, data.notes)


@SETTINGS
@given(data=trajectories())
def test_hdf5(data, tmp_path):
    pytest.importorskip("h5py")
    save_hdf5(data, tmp_path / "x.hdf5")
    back = load_hdf5(tmp_path / "x.hdf5")
    assert_equal(data, back)
    assert (back.name, back.notes) == (data.name, data.notes)


@SETTINGS
@given(data=trajectories(finals_known=True), successors=st.booleans())
def test_hdf5_as_other_programs_see_it(data, successors, tmp_path):
    h5py = pytest.importorskip("h5py")
    save_hdf5(data, tmp_path / "x.hdf5", next_observations=successors)
    with h5py.File(tmp_path / "x.hdf5") as file:
        columns = {key: file[key][:] for key in file if key != "rewind"}
    assert ("next_observations" in columns) == successors
    if successors:
        np.testing.assert_array_equal(columns["next_observations"], data.successors(np.arange(data.rows)))
    assert np.flatnonzero(columns["timeouts"]).tolist() == data.ends[~data.terminated].tolist()
    if data.inner_terminals is None:
        again = from_d4rl(columns)
        assert_equal(data, again, FIELDS if successors else FIELDS[:5])


@settings(SETTINGS, max_examples=8)
@given(data=trajectories(finals_known=True))
def test_minari(data, tmp_path_factory):
    minari = pytest.importorskip("minari")
    pytest.importorskip("h5py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(tmp_path_factory.mktemp("minari")))
        folder = save_minari(data, "rewind/test/round-v0")
        theirs = minari.load_dataset("rewind/test/round-v0")
        assert (theirs.total_episodes, theirs.total_steps) == (len(data), data.rows)
        for episode, expected in zip(theirs, data.episodes(), strict=True):
            np.testing.assert_array_equal(episode.observations, expected["observations"])
            np.testing.assert_array_equal(episode.actions, expected["actions"])
            assert episode.terminations[-1] == expected["terminated"] != episode.truncations[-1]
        for source in (theirs, folder, folder / "data", "rewind/test/round-v0"):
            assert_equal(data, load(source))


@SETTINGS
@given(data=trajectories())
def test_episodes(data):
    back = from_episodes(data.episodes())
    assert_equal(data, back, [name for name in FIELDS if name != "final_observations"])
    np.testing.assert_array_equal(data.final_observations[data.final_known], back.final_observations[data.final_known])


def test_minari_leaves_out_a_step_without_successor_and_says_so(tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    data = from_d4rl(flat_log([4, 3, 1], [False, True, False], successors=False))
    with pytest.warns(UserWarning, match="the last step of 2 of 3 trajectories is left out"):
        save_minari(data, "short-v0")
    back = load_minari("short-v0")
    assert back.lengths.tolist() == [3, 3]
    assert back.terminated.tolist() == [False, True]
    np.testing.assert_array_equal(back.final_observations[0], data.observations[3])


def test_minari_keeps_what_is_there(tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    data = from_d4rl(flat_log([4], [True]))
    save_minari(data, "once-v0")
    with pytest.raises(UsageError, match="already"):
        save_minari(data, "once-v0")
    with pytest.raises(UsageError, match="not a Minari id"):
        save_minari(data, "a name")


def test_next_observations_that_nobody_recorded_are_not_made_up(tmp_path):
    pytest.importorskip("h5py")
    data = from_d4rl(flat_log([4, 3], [False, True], successors=False))
    with pytest.raises(DataError, match="1 of 2 trajectories"):
        save_hdf5(data, tmp_path / "x.hdf5", next_observations=True)
    assert not list(tmp_path.iterdir())


def test_a_given_rule_reads_the_columns_of_our_own_files_too(tmp_path):
    pytest.importorskip("h5py")
    log = flat_log([6, 4], [False, False])
    log["terminals"][2] = True
    save_hdf5(from_d4rl(log, boundaries="timeouts_only"), tmp_path / "x.hdf5")
    assert load(tmp_path / "x.hdf5").lengths.tolist() == [6, 4]
    assert load(tmp_path / "x.hdf5", boundaries="flags").lengths.tolist() == [3, 3, 4]


def fails_after(some):
    """In place of a writer: it writes something, and then the disk is full."""

    def write(*arguments, **options):
        some(*arguments)
        raise OSError("no space left on device")

    return write


def first_episode_only(data, buffers=minari_sets._buffers):
    yield next(buffers(data))
    raise OSError("no space left on device")


@pytest.mark.parametrize("kind", ["npz", "hdf5", "minari"])
def test_nothing_is_left_half_written(kind, tmp_path, monkeypatch):
    """When writing fails in the middle, what was there stays, and nothing else appears."""
    pytest.importorskip("minari" if kind == "minari" else "h5py")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    data = from_d4rl(flat_log([4, 3], [False, True]))
    write = {
        "npz": lambda: save_npz(data, tmp_path / "x.npz"),
        "hdf5": lambda: save_hdf5(data, tmp_path / "x.hdf5"),
        "minari": lambda: save_minari(data, "x-v0"),
    }[kind]
    if kind != "minari":  # which never writes over anything
        write()
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(np, "savez", fails_after(lambda file: file.write(b"PK")))
    monkeypatch.setattr(hdf5, "_write_successors", fails_after(lambda file, data: file.flush()))
    monkeypatch.setattr(minari_sets, "_buffers", first_episode_only)
    with pytest.raises(OSError, match="no space left"):
        write()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_minari_says_what_a_set_is_evaluated_on(tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    save_minari(from_d4rl(flat_log([4], [True])), "where-v0", environment="Pendulum-v1")
    assert load_minari("where-v0").notes["environment"] == "Pendulum-v1"


def test_hdf5_of_the_first_edition_has_its_header_in_an_attribute(tmp_path):
    h5py = pytest.importorskip("h5py")
    data = from_d4rl(flat_log([4], [True]), "old")
    save_hdf5(data, tmp_path / "x.hdf5")
    with h5py.File(tmp_path / "x.hdf5", "a") as file:
        file["rewind"].attrs["header"] = file["rewind/header"][:].tobytes().decode()
        del file["rewind/header"]
    back = load(tmp_path / "x.hdf5")
    assert (back.name, back.notes) == (data.name, data.notes)


def test_an_old_header_that_libhdf5_does_not_return_from_is_given_up_on(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "x.hdf5"
    save_hdf5(from_d4rl(flat_log([4], [True]), "old"), path)
    with h5py.File(path, "a") as file:
        del file["rewind/header"]
        file["rewind"].attrs["header"] = "{}"
    content = bytearray(path.read_bytes())
    first = content.index(b"GCOL") + 16  # the heap of strings; the size of its first one is 8 bytes further
    content[first + 8 : first + 16] = (2**64 - 16).to_bytes(8, "little")
    path.write_bytes(content)
    monkeypatch.setattr("rewind.data.hdf5.PATIENCE", 0.5)
    with pytest.raises(DataError, match=r"x\.hdf5: the attribute 'header' of the group rewind cannot be read"):
        load(path)


def test_minari_files_that_lead_elsewhere_are_refused(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    path = save_minari(from_d4rl(flat_log([4], [True])), "links-v0") / "data/main_data.hdf5"
    whole, other = path.read_bytes(), tmp_path / "other.hdf5"
    with h5py.File(other, "w") as file:
        file["secret"] = np.zeros(4)

    def external(file):
        del file["episode_0/rewards"]
        file["episode_0"].create_dataset("rewards", (4,), "f4", external=[(str(other), 0, 16)])

    def linked(file):
        del file["episode_0/rewards"]
        file["episode_0/rewards"] = h5py.ExternalLink(str(other), "secret")

    for change in (external, linked):
        path.write_bytes(whole)
        with h5py.File(path, "a") as file:
            change(file)
        with pytest.raises(DataError, match=r"rewards is (a link|stored in another file); expected"):
            load(path.parent.parent)


def test_paths_and_rewards_that_nobody_can_read_are_one_line(tmp_path):
    for path in ("x" * 5000, "x" * 5000 + ".npz", "a/" * 2500, str(tmp_path / ("x" * 300 + ".hdf5"))):
        with pytest.raises((DataError, UsageError)) as raised:
            load(path)
        assert "\n" not in str(raised.value)
    zero = np.zeros(2)
    with pytest.raises(DataError, match="the reward of step 0 of an episode is 'much'; expected a number"):
        from_steps([(zero, zero, "much", zero, True, False)])
    with pytest.raises(DataError, match=r"the observations of an episode have different shapes: \(2,\), \(3,\)"):
        from_steps([(zero, zero, 1.0, np.zeros(3), True, False)])
