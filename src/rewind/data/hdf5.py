"""Trajectories from and to D4RL's HDF5 files.

A file holds flat columns: observations, actions, rewards, terminals, timeouts, optionally next_observations. Other
columns (`infos`, `metadata`) are not read. `save_hdf5` adds a group `rewind`, which other programs ignore, for what the
columns cannot hold: lengths, the observations after the last steps, name and notes.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.boundaries import FLAGS, Boundaries, from_d4rl, missing_columns
from rewind.data.trajectories import CHUNK_ROWS, Trajectories, flag_array
from rewind.errors import DataError, require
from rewind.files import whole_file

COLUMNS = ("observations", "actions", "rewards", "terminals")
GROUP = "rewind"


def load_hdf5(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    boundaries: Boundaries | None = None,
    merge_fragments: bool | None = None,
) -> Trajectories:
    """Trajectories from a D4RL-style HDF5 file, read without a second copy of its arrays.

    boundaries, merge_fragments: see `from_d4rl`. By default "flags" and False; a file written by `save_hdf5` is read
        back with its own trajectories
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"no file {path}")
    h5py = require("h5py", "hdf5")
    try:
        with h5py.File(path, "r") as file:
            columns = {key: _column(file, key) for key in (*COLUMNS[:3], *FLAGS, "lengths") if key in file}
            if missing := [key for key in COLUMNS[:3] if key not in columns]:
                raise missing_columns(missing, file)
            if GROUP in file and boundaries is None and merge_fragments is None:
                return _as_written(file[GROUP], columns)
            if "next_observations" in file:
                columns["next_observations"] = file["next_observations"]
            return from_d4rl(columns, name or path.stem, boundaries=boundaries, merge_fragments=bool(merge_fragments))
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except (OSError, RuntimeError, KeyError) as error:  # raised by h5py for a file it cannot read
        raise DataError(f"{path} is not a readable HDF5 file (cut, damaged, or another format): {error}") from error


def _column(file: Any, key: str) -> Array:
    """One column, converted to float32 while it is read: doubles are never held in memory."""
    source = file[key]
    if not hasattr(source, "shape") or not source.shape:
        raise DataError(f"{key} is not an array; expected one entry per step")
    dtype = np.dtype(np.float32) if source.dtype.kind == "f" else source.dtype
    column = np.empty(source.shape, dtype)
    if column.size:
        source.read_direct(column)
    return column


def _as_written(group: Any, columns: dict[str, Array]) -> Trajectories:
    lengths = group["lengths"][:]
    last = np.cumsum(lengths) - 1
    terminals = flag_array("terminals", columns["terminals"])
    if len(terminals) != len(columns["rewards"]) or lengths.sum() != len(terminals):
        raise DataError(f"the lengths add up to {lengths.sum():,} rows, but there are {len(terminals):,} terminals")
    terminated = terminals[last]
    terminals[last] = False
    return Trajectories(
        observations=columns["observations"],
        actions=columns["actions"],
        rewards=columns["rewards"],
        lengths=lengths,
        terminated=terminated,
        final_observations=group["final_observations"][:],
        final_known=group["final_known"][:],
        inner_terminals=terminals,
        **json.loads(group.attrs["header"]),
    )


def save_hdf5(
    trajectories: Trajectories, path: str | os.PathLike[str], *, next_observations: bool | None = None
) -> None:
    """Write a file for D4RL's readers that `load_hdf5` reads back to equal arrays. The file is never half written.

    next_observations: whether to write this column. It nearly doubles the file, but lets other programs see what
        follows a time-out. By default it is written if all successors are known
    """
    h5py = require("h5py", "hdf5")
    data = trajectories
    unknown = int(np.count_nonzero(~(data.final_known | data.terminated)))
    if next_observations and unknown:
        raise DataError(
            f"{unknown:,} of {len(data):,} trajectories end with a time-out whose successor was not recorded, so "
            "'next_observations' cannot be written; leave out next_observations"
        )
    timeouts = np.zeros(data.rows, dtype=bool)
    timeouts[data.ends] = ~data.terminated
    with whole_file(path) as temporary, h5py.File(temporary, "w") as file:
        for key in COLUMNS:
            file[key] = getattr(data, key)
        file["timeouts"] = timeouts
        if next_observations or (next_observations is None and not unknown):
            _write_successors(file, data)
        group = file.create_group(GROUP)
        for key in ("lengths", "final_observations", "final_known"):
            group[key] = getattr(data, key)
        group.attrs["header"] = json.dumps({"name": data.name, "notes": data.notes})


def _write_successors(file: Any, data: Trajectories) -> None:
    column = file.create_dataset("next_observations", data.observations.shape, data.observations.dtype)
    for begin in range(0, data.rows, CHUNK_ROWS):
        rows = np.arange(begin, min(begin + CHUNK_ROWS, data.rows))
        column[rows[0] : rows[-1] + 1] = data.successors(rows)
