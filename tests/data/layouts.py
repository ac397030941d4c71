"""Files in the layouts of other projects, and tables."""

import json

import h5py
import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

NAMED = {
    "episode": "id", "time": "t", "observations": "obs_*", "actions": ["u1", "u2"], "reward": "r", "terminal": "over",
}  # fmt: skip


def steps(lengths, terminated, seed=0):
    """The columns of a table."""
    rng = np.random.default_rng(seed)
    rows, last = sum(lengths), np.cumsum(lengths) - 1
    columns = {"id": np.repeat(np.arange(len(lengths)) + 7, lengths), "t": np.concatenate([*map(np.arange, lengths)])}
    columns |= {name: rng.normal(size=rows).astype(np.float32) for name in ("obs_a", "obs_b", "u1", "u2", "r")}
    columns["over"] = np.zeros(rows, bool)
    columns["over"][last] = terminated
    return columns


def text(tmp_path, *lines, name="log.csv"):
    (tmp_path / name).write_text("\n".join(lines))
    return tmp_path / name


def write(path, columns):
    table = pa.table({name: pa.array(list(c) if np.ndim(c) > 1 else c) for name, c in columns.items()})
    (parquet.write_table if path.suffix == ".parquet" else csv.write_csv)(table, path)
    return path


LENGTHS = [3, 2, 4, 2, 2, 2, 2, 2, 2, 2, 5]  # demo_10 is the longest


def robomimic(path):
    """A file as robomimic's scripts write it. Entry 0 of every observation is the number of the demo."""
    rng = np.random.default_rng(0)
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
    features = {name: {"dtype": "float32", "shape": [*column.shape[1:]] or [1]} for name, column in columns.items()}
    features["observation.image"] = {"dtype": "video", "shape": [96, 96, 3]}
    meta, data = folder / "meta", folder / "data/chunk-000"
    meta.mkdir(parents=True)
    data.mkdir(parents=True)
    about = [{"episode_index": n, "length": length} for n, length in enumerate(told or lengths)]
    info = {"codebase_version": version, "fps": 10, "features": features}
    info |= {"total_episodes": len(lengths), "total_frames": len(frame)}
    if version == "v2.1":
        info["data_path"] = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
        (meta / "episodes.jsonl").write_text("\n".join(json.dumps({**row, "tasks": ["push"]}) for row in about))
        for number in range(len(lengths)):
            parquet.write_table(table.filter(episode == number), data / f"episode_{number:06d}.parquet")
    else:
        info["data_path"] = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
        (meta / "episodes/chunk-000").mkdir(parents=True)
        columns_of = pa.table({key: [row[key] for row in about] for key in about[0]})
        columns_of = columns_of.append_column("dataset_from_index", pa.array(np.cumsum(lengths) - lengths))
        parquet.write_table(columns_of, meta / "episodes/chunk-000/file-000.parquet")
        parquet.write_table(table.slice(0, 7), data / "file-000.parquet")
        parquet.write_table(table.slice(7), data / "file-001.parquet")
    (meta / "info.json").write_text(json.dumps(info))
    return folder, columns


def rllib(path, lengths=(6, 3, 5), terminated=(True, False, True), discrete=True, per_line=4, old=False, packed=()):
    """A file as RLlib's JsonWriter writes it: batches of a few steps, each on one line; and its columns."""
    rng = np.random.default_rng(0)
    ids, t = np.repeat(241_561_760 + 7 * np.arange(len(lengths)), lengths), np.concatenate([*map(np.arange, lengths)])
    rows, last = len(t), np.cumsum(lengths) - 1
    seen = rng.normal(size=(rows + len(lengths), 4)).astype(np.float32)
    at = np.arange(rows) + np.repeat(np.arange(len(lengths)), lengths)
    ended = np.zeros(rows, bool)
    ended[last] = terminated
    cut = np.zeros(rows, bool)
    cut[last] = ~np.array(terminated)
    flags = {"dones": ended | cut} if old else {"terminateds": ended, "truncateds": cut}
    columns = {
        "obs": seen[at],
        "new_obs": seen[at + 1],
        "actions": rng.integers(0, 2, rows) if discrete else rng.uniform(-1, 1, (rows, 1)).astype(np.float32),
        "rewards": rng.random(rows).astype(np.float32),
        **flags,
        "eps_id": ids,
        "t": t,
        "agent_index": np.zeros(rows, int),
        "unroll_id": np.zeros(rows, int),
        "action_logp": rng.random(rows),
    }
    with path.open("w") as file:
        for begin in range(0, rows, per_line):
            batch = {key: column[begin : begin + per_line].tolist() for key, column in columns.items()}
            batch |= dict.fromkeys(packed, "BCJNGGhAAbwAAAAAAACtAbwAgIAFlfa7AAAAAAAAjBJudW1weQ==")
            file.write(json.dumps({"type": "SampleBatch", **batch, "infos": [{}] * len(batch["t"])}) + "\n")
    return path, columns
