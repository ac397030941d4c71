"""Trajectories from robomimic's HDF5 files.

    data/demo_0       attribute num_samples: N
      actions         (N, A)
      rewards, dones  (N,)        a done is a terminal, as robomimic's own agents train; a demo without one was cut
      obs/KEY         (N, ...)    choose the keys; images are taken only alone
      next_obs/KEY    (N, ...)    of which the last row is needed: the state after the demo
    mask/FILTER       names of demos, such as train and valid

Demos are read in the order of their numbers: demo_2 before demo_10. Everything else (states, env_args) is not read.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.boundaries import doubt
from rewind.data.episodes import check_keys
from rewind.data.flags import flag_array
from rewind.data.hdf5 import check_inside
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError, RewindError, naming, one_line, require, unknown_name, warn
from rewind.files import check_file

DEMO = re.compile(r"demo_(\d+)")


def is_robomimic(dataset: Any) -> bool:
    """Whether this is the path of an HDF5 file with demos."""
    if not isinstance(dataset, (str, os.PathLike)):
        return False
    path = Path(dataset).expanduser()
    if path.suffix.lower() not in (".hdf5", ".h5") or not path.is_file():
        return False
    try:
        h5py = require("h5py", "hdf5")
        with h5py.File(path, "r") as file:
            own = isinstance(file.get("data", getlink=True), h5py.HardLink)  # no link to another file
            return own and bool(_demos(file["data"]))
    except Exception:  # the reader of HDF5 files says what is wrong
        return False


def load_robomimic(
    path: str | os.PathLike[str], keys: Sequence[str] | None = None, mask: str | None = None
) -> Trajectories:
    """Trajectories from a file of robomimic's.

    keys: the observations to concatenate, in this order
    mask: read only the demos of this filter, such as "train"
    """
    path = Path(path).expanduser()
    check_file(path)
    try:
        check_inside(path)
        with require("h5py", "hdf5").File(path, "r") as file:
            data = _read(file, path, keys, mask)
    except DataError as error:
        raise naming(path, error) from error
    except RewindError:
        raise
    except Exception as error:  # h5py raises many kinds of errors for damaged bytes
        raise DataError(f"{path} is not a readable robomimic file (cut or damaged): {one_line(error)}") from error
    if "doubt" in data.notes:
        warn(f"{path}: {data.notes['doubt']}")
    return data


def _demos(group: Any) -> list[str]:
    """Their names, in the order of their numbers."""
    found = [match for name in group if (match := DEMO.fullmatch(name))]
    return [match[0] for match in sorted(found, key=lambda match: int(match[1]))]


def _read(file: Any, path: Path, keys: Sequence[str] | None, mask: str | None) -> Trajectories:
    group = file["data"]
    names = _demos(group) if mask is None else _filtered(file, _demos(group), mask)
    lengths = np.array([_length(group[name]) for name in names])
    known = sorted(group[names[0]]["obs"])
    if keys is None and len(known) == 1:
        keys = known
    if keys is None:
        raise DataError(f"the observations have the keys {', '.join(known)}; choose some: keys=[...], --keys")
    check_keys(keys, known)
    if images := [key for key in keys if len(keys) > 1 and group[names[0]]["obs"][key].ndim > 2]:
        raise DataError(f"obs/{images[0]} is an image: choose it alone, or leave it out")
    check_file(path, int(lengths.sum()) * sum(_row_bytes(group[names[0]]["obs"][key]) for key in keys))
    parts = {key: _joined(group, names, lengths, f"obs/{key}") for key in keys}
    last = np.cumsum(lengths) - 1
    dones = np.concatenate([_flags(group[name], length) for name, length in zip(names, lengths, strict=True)])
    observations = _side_by_side(list(parts.values()))
    final_observations, final_known = observations[last], np.zeros(len(names), bool)
    for number, name in enumerate(names):
        successors = group[name].get("next_obs", {})
        if all(key in successors for key in keys):
            final = [np.asarray(successors[key][-1:]) for key in keys]
            final_observations[number], final_known[number] = _side_by_side(final)[0], True
    terminated = dones[last]
    notes: dict[str, Any] = {"boundaries": "demos", "keys": list(keys)} | ({} if mask is None else {"mask": mask})
    if text := doubt(lengths, terminated):
        notes["doubt"] = text
    used = {"obs", "next_obs", "actions", "rewards", "dones"}
    unused = [key for key in group[names[0]] if key not in used] + [f"obs/{key}" for key in known if key not in keys]
    if unused:
        notes["not_used"] = unused
    dones[last] = False
    return Trajectories(
        observations=observations,
        actions=_joined(group, names, lengths, "actions"),
        rewards=_joined(group, names, lengths, "rewards"),
        lengths=lengths,
        terminated=terminated,
        final_observations=final_observations,
        final_known=final_known,
        name=path.stem,
        notes=notes,
        inner_terminals=dones,
    )


def _filtered(file: Any, names: list[str], mask: str) -> list[str]:
    masks = list(file.get("mask", ()))
    if mask not in masks:
        raise unknown_name("mask", mask, masks, None if masks else "the file has no masks")
    column = file["mask"][mask]
    if column.dtype.kind != "S":  # libhdf5 does not return from a damaged string of variable length
        raise DataError(
            f"mask/{mask} has dtype {column.dtype}; expected names of fixed length, as robomimic writes them"
        )
    chosen = {name.decode() for name in np.asarray(column).ravel()}
    if missing := sorted(chosen - set(names)):
        raise DataError(f"mask/{mask} names {missing[0]}, but data has no such demo")
    if not chosen:
        raise DataError(f"mask/{mask} names no demo")
    return [name for name in names if name in chosen]


def _length(demo: Any) -> int:
    if missing := [key for key in ("obs", "actions", "rewards") if key not in demo]:
        what = "" if "obs" not in missing else " (robomimic's dataset_states_to_obs adds it)"
        raise DataError(f"{demo.name} has no {missing[0]}{what}; it has: {', '.join(demo)}")
    length = int(demo["actions"].shape[0])
    told = demo.attrs.get("num_samples")
    if told is not None and int(told) != length:
        raise DataError(f"{demo.name} says num_samples {int(told):,}, but has {length:,} actions")
    if length == 0:
        raise DataError(f"{demo.name} has no steps; expected at least one")
    return length


def _flags(demo: Any, length: int) -> Array:
    flags = flag_array(f"{demo.name}/dones", np.asarray(demo["dones"])) if "dones" in demo else np.zeros(length, bool)
    if flags.shape != (length,):
        raise DataError(f"{demo.name}/dones has shape {flags.shape}; expected ({length},), one flag per action")
    return flags.copy()


def _row_bytes(column: Any) -> int:
    return int(np.prod(column.shape[1:])) * int(column.dtype.itemsize)


def _joined(group: Any, names: Sequence[str], lengths: Array, key: str) -> Array:
    """(rows, ...) a column of all demos, read straight into its place."""
    first = group[names[0]][key]
    dtype = np.dtype(np.float32) if first.dtype.kind == "f" or key == "rewards" else first.dtype
    column = np.empty((int(lengths.sum()), *first.shape[1:]), dtype)
    row = 0
    for name, length in zip(names, lengths, strict=True):
        if key not in group[name]:
            raise DataError(f"{group[name].name} has no {key}, which {names[0]} has")
        source = group[name][key]
        if source.shape != (length, *first.shape[1:]):
            raise DataError(f"{source.name} has shape {source.shape}; expected {(int(length), *first.shape[1:])}")
        source.read_direct(column, dest_sel=np.s_[row : row + length])
        row += length
    return column


def _side_by_side(parts: Sequence[Array]) -> Array:
    """One key as it is, several as one vector per row."""
    if len(parts) == 1:
        return parts[0].astype(np.float32, copy=False) if parts[0].dtype.kind == "f" else parts[0]
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1, dtype=np.float32)
