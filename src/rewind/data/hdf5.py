"""Trajectories from and to D4RL's HDF5 files.

A file holds flat columns: observations (or a group of them), actions, rewards, terminals, timeouts, optionally
next_observations. Other columns (`infos`, `metadata`) are not read. `save_hdf5` adds a group `rewind`, which other
programs ignore, for what the columns cannot hold: lengths, the observations after the last steps, name and notes.
"""

import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.boundaries import Boundaries, from_d4rl, missing_columns
from rewind.data.flags import FLAGS, flag_array, split_terminals
from rewind.data.header import header_text, read_header, verified
from rewind.data.parts import find_parts
from rewind.data.trajectories import CHUNK_ROWS, Trajectories, check_lengths
from rewind.errors import DataError, reading, require
from rewind.files import check_file, whole_file

COLUMNS = ("observations", "actions", "rewards", "terminals")
GROUP = "rewind"
PATIENCE = 20.0  # seconds for an old header
PARTS = ("lengths", "final_observations", "final_known")  # of the group


def _column(source: Any) -> Array:
    """One column, converted to float32 while it is read: doubles are never held in memory."""
    dtype = np.dtype(np.float32) if source.dtype.kind == "f" else source.dtype
    column = np.empty(source.shape, dtype)
    if column.size:
        source.read_direct(column)
    return column


def load_hdf5(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    boundaries: Boundaries | None = None,
    merge_fragments: bool | None = None,
    extras: Sequence[str] = (),
    column: Callable[[Any], Array] = _column,
) -> Trajectories:
    """Trajectories from a D4RL-style HDF5 file, read without a second copy of its arrays.

    boundaries, merge_fragments: see `from_d4rl`. By default "flags" and False; a file written by `save_hdf5` is read
        back with its own trajectories
    extras: further columns to keep, one entry per row
    column: how observations, actions and extras of the open file become arrays; by default they are read into memory
    """
    path = Path(path)
    check_file(path)
    h5py = require("h5py", "hdf5")
    as_saved = boundaries is None and merge_fragments is None
    failure = "is not a readable HDF5 file (cut, damaged, or another format)"
    with reading(path, failure), h5py.File(path, "r") as file:
        sources = _sources(file, (*COLUMNS[:3], *FLAGS, "lengths", "next_observations", *extras))
        if missing := [key for key in (*COLUMNS[:3], *extras) if find_parts(sources, key) is None]:
            raise missing_columns(missing, file)
        _check_rows(sources)
        successors = {key: sources.pop(key) for key in list(sources) if _column_of(key) == "next_observations"}
        group = file[GROUP] if as_saved and _has(file, GROUP) else None
        extra = {} if group is None else _sources(group, (*PARTS, "header"))
        check_file(path, sum(map(_allocated, (*sources.values(), *extra.values()))))
        placed = ("observations", "actions", *extras)
        columns = {key: (column if _column_of(key) in placed else _column)(source) for key, source in sources.items()}
        if group is not None:
            parts = {key: _column(source) for key, source in extra.items()}
            if "header" not in parts and "header" not in group.attrs:
                raise missing_columns([f"{GROUP}/header"], parts)
            header = parts["header"].tobytes().decode() if "header" in parts else _old_header(path)
            return _as_written(columns, parts, header, extras)
        check_file(path, sum(map(_allocated, successors.values())))
        columns |= successors
        rule: dict[str, Any] = {"boundaries": boundaries, "merge_fragments": bool(merge_fragments)}
        data = from_d4rl(columns, name or path.stem, extras=extras, **rule)
        if unused := sorted(set(file) - {*map(_column_of, columns), GROUP}):
            data.notes["not_used"] = unused
        return data


def _column_of(name: str) -> str:
    return name.partition("/")[0]


def _has(group: Any, key: str) -> bool:
    """Whether the file itself holds this."""
    if key not in list(group):
        return False
    _check_link(group, key)
    return True


def _check_link(group: Any, key: str) -> None:
    """A link is an error: it may lead to another file."""
    if group.id.links.get_info(key.encode()).type != require("h5py", "hdf5").h5l.TYPE_HARD:
        raise DataError(f"{key} is a link; expected the data in this file")


def _sources(group: Any, keys: Sequence[str]) -> dict[str, Any]:
    """The columns of these names as they stand in the file, a dict's as "observations/key": nothing is read."""
    sources = {key: group[key] for key in keys if _has(group, key)}
    for key in ("observations", "next_observations"):
        if key in sources and hasattr(sources[key], "keys"):
            parts = sources.pop(key)
            sources |= {f"{key}/{part}": parts[part] for part in parts if _has(parts, part)}
    for key, source in sources.items():
        if not getattr(source, "shape", None):
            raise DataError(f"{key} is not an array; expected one entry per step")
        if source.dtype.kind not in "biuf":
            raise DataError(f"{key} has dtype {source.dtype}; expected floats, integers or booleans")
        if source.external or source.is_virtual:
            raise DataError(f"{key} is stored in another file; expected the data in this file")
    return sources


def _check_rows(sources: Mapping[str, Any]) -> None:
    """Before anything is allocated."""
    rows = sources["rewards"].shape[0]
    for key, source in sources.items():
        per_trajectory = "lengths" in sources and key in (*FLAGS, "lengths")
        if source.shape[0] != rows and not (per_trajectory and source.shape[0] < rows):
            raise DataError(f"{key} has {source.shape[0]:,} rows, but rewards has {rows:,}")


def _allocated(source: Any) -> int:
    """Bytes of the column, or of one of its chunks if those are larger: HDF5 reads a chunk as a whole."""
    return int(max(math.prod(source.shape), math.prod(source.chunks or ())) * source.dtype.itemsize)


def _old_header(path: Path) -> str:
    """The header of a file of the first edition, an attribute.

    Another process reads it: libhdf5 does not return from a damaged string of variable length.
    """
    program = f"import h5py, sys; sys.stdout.write(h5py.File(sys.argv[1])['{GROUP}'].attrs['header'])"
    command = [sys.executable, "-P", "-X", "utf8", "-c", program, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=True)
    except (subprocess.SubprocessError, OSError) as error:
        raise DataError(f"the attribute 'header' of the group {GROUP} cannot be read") from error
    return done.stdout.decode()


def check_inside(path: Path) -> None:
    """Check that nothing in a file leads to another file, for a reader that takes all that is there.

    100 groups at a time: HDF5 uses memory for all that it has looked at until the file is closed.
    """
    h5py = require("h5py", "hdf5")

    def elsewhere(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
            raise DataError(f"{item.name} is stored in another file; expected the data in this file")
        for key in item if isinstance(item, h5py.Group) else ():
            _check_link(item, key)

    with h5py.File(path, "r") as file:
        elsewhere("", file)
        names = list(file)
    for begin in range(0, len(names), 100):
        with h5py.File(path, "r") as file:
            for name in names[begin : begin + 100]:
                elsewhere(name, file[name])
                if isinstance(file[name], h5py.Group):
                    file[name].visititems(elsewhere)


def _as_written(columns: dict[str, Array], parts: dict[str, Array], text: str, extras: Sequence[str]) -> Trajectories:
    if missing := [key for key in PARTS if key not in parts]:
        raise missing_columns([f"{GROUP}/{key}" for key in missing], parts)
    if "terminals" not in columns:
        raise missing_columns(["terminals"], columns)
    lengths = check_lengths(parts["lengths"], len(columns["rewards"]))
    flat: dict[str, Any] = {key: find_parts(columns, key) for key in COLUMNS[:3]} | {key: parts[key] for key in PARTS}
    flat |= split_terminals(flag_array("terminals", columns["terminals"]), np.cumsum(lengths) - 1)
    flat["extras"] = {name: columns[name] for name in extras}
    return verified(Trajectories(**flat, **read_header(text, None)))


def save_hdf5(
    trajectories: Trajectories, path: str | os.PathLike[str], *, next_observations: bool | None = None
) -> None:
    """Write a file for D4RL's readers that `load_hdf5` reads back to equal arrays. The file is never half written.

    next_observations: whether to write this column. It nearly doubles the file, but lets other programs see what
        follows a time-out. By default it is written if all successors are known
    """
    h5py = require("h5py", "hdf5")
    data = trajectories
    if isinstance(data.observations, dict) or data.extras:
        raise DataError("D4RL's columns have no place for dict observations or extras: write an .npz file (save_npz)")
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
        for key in PARTS:
            group[key] = getattr(data, key)
        # Bytes, because libhdf5 does not return from a damaged string of variable length
        group["header"] = np.frombuffer(header_text(data).encode(), np.uint8)


def _write_successors(file: Any, data: Trajectories) -> None:
    column = file.create_dataset("next_observations", data.observations.shape, data.observations.dtype)
    for begin in range(0, data.rows, CHUNK_ROWS):
        rows = np.arange(begin, min(begin + CHUNK_ROWS, data.rows))
        column[rows[0] : rows[-1] + 1] = data.successors(rows)
