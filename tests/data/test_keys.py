"""`keys` chooses among the parts of dict observations, whatever holds them."""

import numpy as np
import pytest
from tests.kinds import data_of

from rewind import DataError, UsageError, load
from rewind.data import convert, from_steps, save_minari, save_npz
from rewind.data.folder import save_folder
from rewind.data.parts import named_parts, on_disk

DATA = data_of("dict")
ENDS = np.isin(np.arange(DATA.rows), DATA.ends)


def columns():
    """D4RL's, with arrays named "observations/key"."""
    successors = DATA.successors(np.arange(DATA.rows))
    flags = {"terminals": DATA.terminals, "timeouts": ENDS & ~DATA.terminals}
    flat = {"actions": DATA.actions, "rewards": DATA.rewards, **flags}
    return flat | named_parts("observations", DATA.observations) | named_parts("next_observations", successors)


def nested():
    flat = {key: value for key, value in columns().items() if "/" not in key}
    successors = DATA.successors(np.arange(DATA.rows))
    return {**flat, "observations": DATA.observations, "next_observations": successors}


def npz(path):
    np.savez(path / "log.npz", **columns())
    return path / "log.npz"


def own_npz(path):
    save_npz(DATA, path / "own.npz")
    return path / "own.npz"


def hdf5(path, **options):
    with pytest.importorskip("h5py").File(path / "log.hdf5", "w") as file:
        for key, value in columns().items():
            file.create_dataset(key, data=value, **options)
    return path / "log.hdf5"


def folder(path):
    save_folder(DATA, path / "folder")
    return path / "folder"


def minari_set(path):
    pytest.importorskip("minari")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(path))
        with pytest.warns(UserWarning, match="no place for extras"):
            return save_minari(DATA, "keys/test-v0")


SOURCES = {
    "trajectories": lambda path: DATA,
    "dict": lambda path: nested(),
    "named columns": lambda path: columns(),
    "episodes": lambda path: list(DATA.episodes()),
    "npz": npz,
    "own npz": own_npz,
    "hdf5": hdf5,
    "compressed hdf5": lambda path: hdf5(path, compression="gzip"),
    "folder": folder,
    "minari": minari_set,
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_kind_of_data_takes_keys_in_their_order(source, tmp_path):
    dataset = source(tmp_path)
    assert list(load(dataset).observations) == ["image", "room", "state"] and "not_used" not in load(dataset).notes
    data = load(dataset, keys=["state", "room"])
    assert data.notes["keys"] == ["state", "room"] and data.observations.shape == (DATA.rows, 4)
    np.testing.assert_array_equal(data.observations[:, :3], DATA.observations["state"])
    np.testing.assert_array_equal(data.observations[:, 3], DATA.observations["room"])
    np.testing.assert_array_equal(data.final_observations[:, :3], DATA.final_observations["state"])
    np.testing.assert_array_equal(load(dataset, keys=["image"]).observations, DATA.observations["image"])
    assert load(dataset, keys=["room"]).observations.shape == (DATA.rows, 1)
    with pytest.raises(UsageError, match=r"keys=\['color'\]: the observations have image, room, state"):
        load(dataset, keys=["color"])


def row(parts, index):
    return {key: part[index] for key, part in parts.items()}


def test_steps_take_keys_like_every_kind_of_data():
    successors = DATA.successors(np.arange(DATA.rows))
    steps = [
        (row(DATA.observations, i), DATA.actions[i], DATA.rewards[i], row(successors, i), DATA.terminals[i], ENDS[i])
        for i in range(DATA.rows)
    ]
    for keys in (["state", "room"], ["image"], ["room"]):
        np.testing.assert_array_equal(from_steps(steps, keys=keys).observations, load(DATA, keys=keys).observations)
    with pytest.raises(UsageError, match=r"keys=\['color'\]: the observations have image, room, state"):
        from_steps(steps, keys=["color"])


def test_the_recorder_takes_keys_like_every_kind_of_data():
    gymnasium = pytest.importorskip("gymnasium")
    from rewind.data.recorder import RecordEpisodes

    class Replayed(gymnasium.Env):
        observation_space = gymnasium.spaces.Dict(
            {key: gymnasium.spaces.Box(-np.inf, np.inf, part.shape[1:]) for key, part in DATA.observations.items()}
        )
        action_space = gymnasium.spaces.Box(-1, 1, DATA.actions.shape[1:])

        def reset(self, *, seed=None, options=None):
            self.index = 0
            return row(DATA.observations, 0), {}

        def step(self, action):
            self.index += 1
            return row(DATA.observations, self.index), 0.0, False, False, {}

    for keys in (["state", "room"], ["image"], ["room"]):
        env = RecordEpisodes(Replayed(), keys=keys)
        env.reset()
        env.step(DATA.actions[0])
        data = env.trajectories()
        np.testing.assert_array_equal(data.observations, load(DATA, keys=keys).observations[:1])
        assert data.notes["keys"] == keys


def test_a_single_episode_takes_keys():
    episode = next(DATA.episodes())
    np.testing.assert_array_equal(load(episode, keys=["state"]).observations, episode["observations"]["state"][:-1])


def test_keys_of_a_folder_stay_on_the_disk_and_a_file_is_converted_with_them(tmp_path):
    data = load(folder(tmp_path), keys=["state", "room"])
    assert on_disk(data.observations)
    convert(hdf5(tmp_path), tmp_path / "chosen", keys=["state", "room"])
    found = load(tmp_path / "chosen")
    assert on_disk(found.observations) and np.array_equal(found.observations, data.observations)


def test_a_part_of_an_hdf5_file_that_leads_elsewhere_is_an_error(tmp_path):
    path = hdf5(tmp_path)
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "a") as file:
        file["observations/elsewhere"] = h5py.ExternalLink("other.hdf5", "secret")
    with pytest.raises(DataError, match=r"log\.hdf5: elsewhere is a link"):
        load(path)
