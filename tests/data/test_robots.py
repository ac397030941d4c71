"""robomimic's files and LeRobot's folders, made exactly in their layouts; and files that lie."""

import json

import numpy as np
import pytest

pytest.importorskip("h5py")
pa = pytest.importorskip("pyarrow")
import h5py
import pyarrow.parquet as parquet

from rewind import load
from rewind.errors import DataError, UsageError

LENGTHS = [3, 2, 4, 2, 2, 2, 2, 2, 2, 2, 5]  # demo_10 is the longest


@pytest.fixture
def demos(tmp_path):
    """A file as robomimic's scripts write it. Entry 0 of every observation is the number of the demo."""
    rng = np.random.default_rng(0)
    path = tmp_path / "low_dim_v15.hdf5"
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["total"] = sum(LENGTHS)
        data.attrs["env_args"] = json.dumps({"env_name": "Lift", "type": 1, "env_kwargs": {}})
        for number, length in enumerate(LENGTHS):
            demo = data.create_group(f"demo_{number}")
            demo.attrs["num_samples"] = length
            demo.attrs["model_file"] = "<mujoco/>"
            demo["actions"] = rng.uniform(-1, 1, (length, 7))
            demo["states"] = rng.normal(size=(length, 32))
            demo["rewards"] = np.arange(length) == length - 1
            demo["dones"] = (np.arange(length) == length - 1).astype(np.int64) * (number != 10)
            for key, size in (("robot0_eef_pos", 3), ("object", 10)):
                seen = rng.normal(size=(length + 1, size))
                seen[:, 0] = number
                demo[f"obs/{key}"], demo[f"next_obs/{key}"] = seen[:-1], seen[1:]
            demo["obs/agentview_image"] = np.full((length, 4, 4, 3), number, np.uint8)
        file["mask/train"] = np.array([f"demo_{number}" for number in (10, 2, 0)], dtype="S")
        file["mask/valid"] = np.array([b"demo_1"])
    return path


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


def lerobot(folder, version, lengths=(4, 3, 5), reward=True, told=None):
    """A folder as LeRobot writes it."""
    rng = np.random.default_rng(0)
    episode = np.repeat(np.arange(len(lengths)), lengths)
    frame = np.concatenate([*map(np.arange, lengths)])
    ends = np.append(episode[1:] != episode[:-1], True)
    columns = {
        "observation.state": rng.normal(size=(len(frame), 2)).astype(np.float32),
        "action": rng.uniform(-1, 1, (len(frame), 2)).astype(np.float32),
        "timestamp": (frame / 10).astype(np.float32),
        "frame_index": frame,
        "episode_index": episode,
        "index": np.arange(len(frame)),
        "task_index": np.zeros(len(frame), int),
        "next.done": ends,
        "next.success": ends,
    }
    if reward:
        columns["next.reward"] = rng.random(len(frame)).astype(np.float32)
    table = pa.table({name: list(column) if column.ndim > 1 else column for name, column in columns.items()})
    features = {name: {"dtype": "float32", "shape": [1]} for name in columns}
    features["observation.image"] = {"dtype": "video", "shape": [96, 96, 3]}
    meta, data = folder / "meta", folder / "data/chunk-000"
    meta.mkdir(parents=True)
    data.mkdir(parents=True)
    about = [{"episode_index": n, "length": length} for n, length in enumerate(told or lengths)]
    info = {"codebase_version": version, "fps": 10, "features": features, "total_episodes": len(lengths)}
    if version == "v2.1":
        info["data_path"] = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
        (meta / "episodes.jsonl").write_text("\n".join(json.dumps({**row, "tasks": ["push"]}) for row in about))
        for number in range(len(lengths)):
            parquet.write_table(table.filter(episode == number), data / f"episode_{number:06d}.parquet")
    else:
        info["data_path"] = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
        (meta / "episodes/chunk-000").mkdir(parents=True)
        columns_of = pa.table({key: [row[key] for row in about] for key in about[0]})
        parquet.write_table(columns_of, meta / "episodes/chunk-000/file-000.parquet")
        parquet.write_table(table.slice(0, 7), data / "file-000.parquet")
        parquet.write_table(table.slice(7), data / "file-001.parquet")
    (meta / "info.json").write_text(json.dumps(info))
    return folder, columns


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
