"""robomimic's files and LeRobot's folders, made exactly in their layouts; and files that lie."""

import numpy as np
import pytest

pytest.importorskip("h5py")
pytest.importorskip("pyarrow")
import h5py
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
        ("del file['mask/train']; file['mask/train'] = np.array([b'demo_77'])", "names demo_77, but data has no such"),
    ],
)
def test_a_file_of_demos_that_lies_is_one_line(demos, damage, message):
    with h5py.File(demos, "a") as file:
        exec(damage, {"file": file, "np": np})
    with pytest.raises(DataError, match=message) as caught:
        load(demos, keys=["object"], mask="train" if "mask" in damage else None)
    assert str(demos) in str(caught.value) and "\n" not in str(caught.value)


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
    assert load(folder, keys=["observation.state", "timestamp"]).observations.shape == (12, 3)


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
    (folder / "meta/info.json").write_text("{")
    with pytest.raises(DataError, match=r"info\.json is damaged"):
        load(folder)
