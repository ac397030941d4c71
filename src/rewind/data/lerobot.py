"""Trajectories from folders in LeRobot's layout, versions 2.1 and 3: Parquet and JSON, without LeRobot's package.

    meta/info.json                       codebase_version, features with dtype and shape
    v2.1  meta/episodes.jsonl            episode_index and length of each episode
          data/chunk-000/episode_000000.parquet
    v3    meta/episodes/chunk-000/file-000.parquet
          data/chunk-000/file-000.parquet

The columns are a table's (`table_rows` has its rules): episode_index, frame_index, observation.state, action and, where
they are recorded, next.reward, next.done and next.truncated. No frame follows the last one, so that the last step of an
episode without a terminal is not replayed. Videos and images are not read.
"""

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.columns import ColumnMap
from rewind.data.table_files import TableFiles
from rewind.data.tables import read_rows, to_trajectories
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError, reading, require
from rewind.files import as_path, read_json, read_lines

STATE, VIDEOS = "observation.state", ("video", "image")
VERSIONS = ("v2.", "v3.")
EPISODE = ("episode_index", "length", "dataset_from_index")
INCOMPLETE = "the folder is not complete, or was edited"


def is_lerobot(dataset: Any) -> bool:
    """Whether this is the path of a folder with LeRobot's meta/info.json."""
    path = as_path(dataset)
    return path is not None and (path / "meta/info.json").is_file()


def load_lerobot(
    folder: str | os.PathLike[str],
    keys: Sequence[str] | None = None,
    reward: str = "next.reward",
    horizon: int | None = None,
    extras: Sequence[str] = (),
) -> Trajectories:
    """Trajectories from a folder of LeRobot's.

    keys: the features to put side by side as observations, in this order; default: observation.state
    reward: the column with the rewards
    horizon: a next.done at this step is a time-out, as for tables
    extras: further columns of numbers to keep
    """
    folder = Path(folder).expanduser()
    with reading(folder, "is not in LeRobot's layout"):
        return _read(folder, tuple(keys or (STATE,)), reward, horizon, tuple(extras))


def _read(
    folder: Path, keys: tuple[str, ...], reward: str, horizon: int | None, extras: tuple[str, ...]
) -> Trajectories:
    info = _info(folder / "meta/info.json")
    kinds = {name: feature.get("dtype") for name, feature in info["features"].items()}
    if videos := [key for key in keys if kinds.get(key) in VIDEOS]:
        others = [name for name, kind in kinds.items() if name.startswith("observation") and kind not in VIDEOS]
        what = f"{videos[0]} is a {kinds[videos[0]]}: videos and images are not read"
        raise DataError(f"{what}; choose among: {', '.join(others)}")
    paths = sorted((folder / "data").glob("chunk-*/*.parquet"))
    if not paths:
        raise DataError(f"{folder / 'data'} has no chunk-*/*.parquet: the folder is not complete")
    files = TableFiles(paths)
    needed = {"observations": keys, "the action": ("action",), "episodes": ("episode_index", "frame_index")}
    needed["extras"] = extras
    for what, names in (*needed.items(), ("rewards", (reward,))):
        if missing := [name for name in names if name not in files.names]:
            hint = "; reward= names another column, and without rewards nothing can be ranked"
            has = f"the data has: {', '.join(files.names)}{hint if what == 'rewards' else ''}"
            raise DataError(f"no column {missing[0]} for {what}; {has}")
    columns = ColumnMap(
        episode="episode_index",
        time="frame_index",
        observations=keys,
        actions=("action",),
        reward=reward,
        terminal="next.done" if "next.done" in files.names else None,
        truncated="next.truncated" if "next.truncated" in files.names else None,
        horizon=horizon,
        extras=extras,
    )
    rows, episodes = read_rows(files, columns)
    assert rows.episode is not None
    lengths = dict(zip(map(int, episodes), np.bincount(rows.episode).tolist(), strict=True))
    _check_episodes(lengths, _episodes(folder))
    _check_info(info, lengths, {keys: rows.observations, ("action",): rows.actions})
    data = to_trajectories(rows, files, columns, folder.name)
    if videos := [f"{name} ({kind})" for name, kind in kinds.items() if kind in VIDEOS]:
        data.notes["not_used"] = [
            *(n for n in data.notes.get("not_used", ()) if n not in kinds or kinds[n] not in VIDEOS),
            *videos,
        ]
    return data


def _info(path: Path) -> dict[str, Any]:
    """The content of meta/info.json."""
    info = read_json(path)
    version = info.get("codebase_version") if isinstance(info, dict) else None
    if not str(version).startswith(VERSIONS):
        raise DataError(
            f"{path}: codebase_version is {version}; expected v2.1 or v3.0: convert it with LeRobot's scripts"
        )
    features = info.get("features")
    if not isinstance(features, dict) or not all(isinstance(feature, dict) for feature in features.values()):
        raise DataError(f"{path}: features is {features!r:.80}; expected dtype and shape of each column")
    return dict(info)


def _check_info(info: dict[str, Any], lengths: dict[int, int], columns: dict[tuple[str, ...], Array]) -> None:
    """What meta/info.json says against the data."""
    for name, count in (("total_episodes", len(lengths)), ("total_frames", sum(lengths.values()))):
        if info.get(name, count) != count:
            raise DataError(f"meta/info.json says {name} {info[name]}, but the data has {count:,}: {INCOMPLETE}")
    for names, column in columns.items():
        shapes = [info["features"].get(name, {}).get("shape") for name in names]
        size = math.prod(column.shape[1:])
        if None not in shapes and sum(map(math.prod, shapes)) != size:
            listed = ", ".join(f"{name} {shape}" for name, shape in zip(names, shapes, strict=True))
            raise DataError(f"meta/info.json gives the shape {listed}, but a frame has {size:,} numbers: {INCOMPLETE}")


def _episodes(folder: Path) -> list[dict[str, Any]]:
    """The rows of the table of episodes, in the order of the episodes."""
    lines = folder / "meta/episodes.jsonl"
    rows: list[dict[str, Any]] = []
    if lines.is_file():
        with reading(lines, "is damaged (invalid JSON)"):
            rows = [json.loads(line) for line in read_lines(lines) if line.strip()]
    elif not (paths := sorted((folder / "meta/episodes").glob("chunk-*/*.parquet"))):
        raise DataError(f"{folder / 'meta'} has neither episodes.jsonl nor episodes/chunk-*/*.parquet")
    else:
        parquet = require("pyarrow.parquet", "table")
        for path in paths:
            with reading(path, "is not a readable table of episodes"):
                names = [name for name in EPISODE if name in parquet.read_schema(path).names]
                rows += parquet.read_table(path, columns=names).to_pylist()
    return sorted(rows, key=lambda row: int(row["episode_index"]))


def _check_episodes(lengths: dict[int, int], rows: list[dict[str, Any]]) -> None:
    recorded = {int(row["episode_index"]): int(row["length"]) for row in rows}
    for episode in sorted(lengths.keys() | recorded.keys()):
        if lengths.get(episode, 0) != recorded.get(episode, 0):
            raise DataError(
                f"episode {episode} has {lengths.get(episode, 0):,} frames in data, but {recorded.get(episode, 0):,} "
                f"in meta/episodes: {INCOMPLETE}"
            )
    begin = 0
    for row in rows:
        if (start := row.get(EPISODE[2], begin)) != begin:
            told_start = f"{EPISODE[2]} {start:,} in meta/episodes"
            raise DataError(f"episode {row['episode_index']} has {told_start}; expected {begin:,}: {INCOMPLETE}")
        begin += row["length"]
