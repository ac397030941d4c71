"""robomimic's files and LeRobot's folders, made exactly in their layouts; and files that lie."""

import json

import numpy as np
import pytest

pytest.importorskip("h5py")
pytest.importorskip("pyarrow")
import h5py
import pyarrow as pa
from pyarrow import parquet
from tests.data.layouts import LENGTHS, lerobot, robomimic

from rewind import load
from rewind.errors import DataError, UsageError


@pytest.fixture
def demos(tmp_path):
    return robomimic(tmp_path / "low_dim_v15.hdf5")


def test_demos_are_read_in_numeric_order_with_the_keys_side_by_side(demos):
    data = load(demos, keys=["object", "robot0_eef_pos"])
    assert data.lengths.tolist() == LENGTHS and data.observations.shape == (sum(LENGTHS), 13)
    assert data.observations[data.starts, 0].tolist() == data.observations[data.starts, 10].tolist() == [*range(11)]
    assert data.terminated.tolist() == [True] * 10 + [False] and data.final_known.all()
    with h5py.File(demos) as file:
        np.testing.assert_array_equal(data.actions[-5:], file["data/demo_10/actions"][:].astype(np.float32))
        np.testing.assert_allclose(data.final_observations[10, :10], file["data/demo_10/next_obs/object"][-1])
    assert data.notes["not_used"] == ["states", "obs/agentview_image"] and data.notes["keys"][0] == "object"
    assert load(demos, keys=["agentview_image"]).observations.shape == (sum(LENGTHS), 4, 4, 3)
    with pytest.raises(DataError, match="obs/agentview_image is an image: choose it alone"):
        load(demos, keys=["object", "agentview_image"])


def test_a_mask_chooses_demos_and_a_wrong_one_names_those_that_there_are(demos):
    data = load(demos, keys=["object"], mask="train")
    assert data.observations[data.starts, 0].tolist() == [0, 2, 10] and data.notes["mask"] == "train"
    with pytest.raises(UsageError, match=r"unknown mask 'test'.*known: train, valid"):
        load(demos, keys=["object"], mask="test")
    with pytest.raises(DataError, match=r"low_dim_v15\.hdf5: .*keys agentview_image, object, robot0_eef_pos; choose"):
        load(demos)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("del file['data/demo_3/rewards']", r"/data/demo_3 has no rewards; it has: actions, dones, next_obs, obs"),
        ("del file['data/demo_3/obs']", r"/data/demo_3 has no obs \(robomimic's dataset_states_to_obs adds it\)"),
        ("del file['data/demo_3/obs/object']", r"/data/demo_3 has no obs/object, which demo_0 has"),
        ("file['data/demo_3'].attrs['num_samples'] = 9", r"/data/demo_3 says num_samples 9, but has 2 actions"),
        ("del file['data/demo_3/dones']; file['data/demo_3/dones'] = [1]", r"demo_3/dones has shape \(1,\)"),
        ("del file['data/demo_3/actions']; file['data/demo_3/actions'] = np.ones((2, 6))", "num_samples|expected"),
        ("del file['data/demo_9']", r"the file says total 28, but its demos have 26 steps: demos are missing"),
        (
            "file['data/demo_2/next_obs/object'][1] += 1",
            r"demo_2: next_obs at step 1 is not the obs after it; expected",
        ),
        (
            "del file['data/demo_2/next_obs/object']; file['data/demo_2/next_obs/object'] = np.ones((3, 10))",
            r"demo_2/next_obs/object has shape \(3, 10\); expected \(4, 10\), as obs has",
        ),
        (
            "del file['data']; file.create_group('data')",
            r"the group data has no demo_0, demo_1, \.\.\.; it has: nothing",
        ),
        ("del file['mask/train']; file['mask/train'] = np.array([b'demo_77'])", "names demo_77, but data has no such"),
    ],
)
def test_a_file_of_demos_that_lies_is_one_line(demos, damage, message):
    with h5py.File(demos, "a") as file:
        exec(damage, {"file": file, "np": np})
    with pytest.raises(DataError, match=message) as caught:
        load(demos, keys=["object"], mask="train" if "mask" in damage else None)
    assert str(demos) in str(caught.value) and "\n" not in str(caught.value)


def test_extras_of_demos_are_kept_and_demos_that_lack_what_others_have_are_named(demos):
    data = load(demos, keys="object", extras="states")
    assert data.extras["states"].shape == (sum(LENGTHS), 32) and data.notes["not_used"][0] == "obs/agentview_image"
    with h5py.File(demos, "a") as file:
        np.testing.assert_array_equal(data.extras["states"][-5:], file["data/demo_10/states"][:].astype(np.float32))
        del file["data/demo_3/dones"], file["data/demo_4/next_obs"]
    data = load(demos, keys=["object"])
    assert data.notes["without_dones"] == ["demo_3"] and data.notes["without_next_obs"] == ["demo_4"]
    assert not data.terminated[3] and not data.final_known[4]
    with pytest.raises(DataError, match="demo_0 has no costs, which extras asks for; it has: actions, dones"):
        load(demos, keys=["object"], extras=["costs"])


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_a_folder_of_lerobot_is_its_state_action_and_reward(tmp_path, version):
    folder, columns = lerobot(tmp_path / "pusht", version)
    data = load(folder)
    assert data.lengths.tolist() == [4, 3, 5] and data.terminated.all() and not data.final_known.any()
    for name, column in (("observations", "observation.state"), ("actions", "action"), ("rewards", "next.reward")):
        np.testing.assert_array_equal(getattr(data, name), columns[column])
    assert data.name == "pusht"
    assert data.notes["not_used"][-2:] == ["next.success", "observation.image (video)"]
    assert load(folder, horizon=5).terminated.tolist() == [True, True, False]
    data = load(folder, keys=["observation.state", "timestamp"], extras=["index"])
    assert data.observations.shape == (12, 3) and data.extras["index"].tolist() == [*range(12)]


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_a_folder_that_lies_is_one_line(tmp_path, version):
    folder, _ = lerobot(tmp_path / "lies", version, told=(4, 4, 5))
    with pytest.raises(DataError, match=r"lies: episode 1 has 3 frames in data, but 4 in meta/episodes"):
        load(folder)
    folder, _ = lerobot(tmp_path / "poor", version, reward=False)
    with pytest.raises(DataError, match=r"poor: no column next\.reward for rewards; the data has: observation\.state"):
        load(folder)
    assert load(folder, reward="next.success").rewards.sum() == 3
    with pytest.raises(DataError, match=r"observation\.image is a video: videos and images are not read; choose among"):
        load(folder, keys=["observation.image"])
    half = sorted((folder / "data").glob("*/*"))[-1]
    half.write_bytes(half.read_bytes()[:-7])
    with pytest.raises(DataError, match="is not a readable Parquet file"):
        load(folder, reward="next.success")
    half.unlink()
    with pytest.raises(DataError, match="episode 2 has 0 frames in data, but 5 in meta/episodes"):
        load(folder, reward="next.success")
    about = folder / "meta/info.json"
    about.write_text("{")
    with pytest.raises(DataError, match=r"info\.json is damaged"):
        load(folder)
    about.write_text(json.dumps({"codebase_version": version, "features": None}))
    with pytest.raises(DataError, match=r"info\.json: features is None; expected dtype and shape"):
        load(folder)


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"total_frames": 13}, "says total_frames 13, but the data has 12"),
        ({"total_episodes": 2}, "says total_episodes 2, but the data has 3"),
        ({"codebase_version": "v1.6"}, r"codebase_version is v1\.6; expected v2\.1 or v3\.0"),
        ({"codebase_version": None}, "codebase_version is None; expected"),
        (
            {"features": {"action": {"dtype": "float32", "shape": [3]}}},
            r"shape action \[3\], but a frame has 2 numbers",
        ),
    ],
)
def test_what_info_json_says_is_compared_with_the_data(tmp_path, version, change, message):
    folder, _ = lerobot(tmp_path / "lies", version)
    about = folder / "meta/info.json"
    about.write_text(json.dumps({**json.loads(about.read_text()), **change}))
    with pytest.raises(DataError, match=message) as caught:
        load(folder)
    assert "lies" in str(caught.value) and "\n" not in str(caught.value)


def test_an_episode_that_does_not_begin_where_its_table_says_is_one_line(tmp_path):
    folder, _ = lerobot(tmp_path / "lies", "v3.0")
    path = next((folder / "meta/episodes").glob("*/*"))
    table = parquet.read_table(path)
    parquet.write_table(table.set_column(2, "dataset_from_index", pa.array([0, 4, 8])), path)
    with pytest.raises(DataError, match="episode 2 has dataset_from_index 8 in meta/episodes; expected 7"):
        load(folder)
