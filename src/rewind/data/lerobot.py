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
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewind.data.columns import ColumnMap
from rewind.data.table_files import TableFiles
from rewind.data.tables import read_rows, to_trajectories
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError, reading, require
from rewind.files import as_path, read_json, read_lines

STATE, VIDEOS = "observation.state", ("video", "image")


def is_lerobot(dataset: Any) -> bool:
    """Whether this is the path of a folder with LeRobot's meta/info.json."""
    path = as_path(dataset)
    return path is not None and (path / "meta/info.json").is_file()


def load_lerobot(
    folder: str | os.PathLike[str],
    keys: Sequence[str] | None = None,
    reward: str = "next.reward",
    horizon: int | None = None,
) -> Trajectories:
    """Trajectories from a folder of LeRobot's.

    keys: the features to put side by side as observations, in this order; default: observation.state
    reward: the column with the rewards
    horizon: a next.done at this step is a time-out, as for tables
    """
    folder = Path(folder).expanduser()
    with reading(folder, "is not in LeRobot's layout"):
        return _read(folder, tuple(keys or (STATE,)), reward, horizon)


def _read(folder: Path, keys: tuple[str, ...], reward: str, horizon: int | None) -> Trajectories:
    info = read_json(folder / "meta/info.json")
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
    )
    rows, episodes = read_rows(files, columns)
    assert rows.episode is not None
    found = dict(zip(map(int, episodes), np.bincount(rows.episode).tolist(), strict=True))
    _check_episodes(found, _lengths(folder))
    data = to_trajectories(rows, files, columns, folder.name)
    if videos := [f"{name} ({kind})" for name, kind in kinds.items() if kind in VIDEOS]:
        data.notes["not_used"] = [
            *(n for n in data.notes.get("not_used", ()) if n not in kinds or kinds[n] not in VIDEOS),
            *videos,
        ]
    return data


def _lengths(folder: Path) -> dict[int, int]:
    """The length of each episode, as the table of episodes says."""
    lines = folder / "meta/episodes.jsonl"
    if lines.is_file():
        with reading(lines, "is damaged (invalid JSON)"):
            rows = [json.loads(line) for line in read_lines(lines) if line.strip()]
        return {int(row["episode_index"]): int(row["length"]) for row in rows}
    paths = sorted((folder / "meta/episodes").glob("chunk-*/*.parquet"))
    if not paths:
        raise DataError(f"{folder / 'meta'} has neither episodes.jsonl nor episodes/chunk-*/*.parquet")
    lengths: dict[int, int] = {}
    for path in paths:
        with reading(path, "is not a readable table of episodes"):
            table = require("pyarrow.parquet", "table").read_table(path, columns=["episode_index", "length"])
            lengths |= dict(zip(*(table[name].to_pylist() for name in ("episode_index", "length")), strict=True))
    return lengths


def _check_episodes(found: dict[int, int], told: dict[int, int]) -> None:
    for episode in sorted(found.keys() | told.keys()):
        if found.get(episode, 0) != told.get(episode, 0):
            raise DataError(
                f"episode {episode} has {found.get(episode, 0):,} frames in data, but {told.get(episode, 0):,} in "
                "meta/episodes: the folder is not complete, or was edited"
            )
