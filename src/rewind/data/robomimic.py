"""Trajectories from robomimic's HDF5 files.

    data/demo_0       attribute num_samples: N
      actions         (N, A)
      rewards, dones  (N,)        a done is a terminal, as robomimic's own agents train; a demo without one was cut
      obs/KEY         (N, ...)    choose the keys; images are taken only alone
      next_obs/KEY    (N, ...)    the following obs, otherwise an error; its last row is the state after the demo
    mask/FILTER       names of demos, such as train and valid

Demos are read in the order of their numbers: demo_2 before demo_10. Everything else (states, env_args) is not read.
"""

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.boundaries import follows
from rewind.data.episodes import check_keys, from_episodes
from rewind.data.flags import flag_array, split_terminals
from rewind.data.hdf5 import check_inside
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError, reading, require, unknown_name
from rewind.files import as_path, check_file

DEMO = re.compile(r"demo_(\d+)")


def is_robomimic(dataset: Any) -> bool:
    """Whether this is the path of an HDF5 file with a group for demos."""
    path = as_path(dataset)
    if path is None or path.suffix.lower() not in (".hdf5", ".h5") or not path.is_file():
        return False
    try:
        h5py = require("h5py", "hdf5")
        with h5py.File(path, "r") as file:
            inside = isinstance(file.get("data", getlink=True), h5py.HardLink)  # no link to another file
            return inside and isinstance(file["data"], h5py.Group) and "observations" not in file
    except Exception:  # the reader of HDF5 files says what is wrong
        return False


def load_robomimic(
    path: str | os.PathLike[str],
    keys: Sequence[str] | None = None,
    mask: str | None = None,
    extras: Sequence[str] = (),
) -> Trajectories:
    """Trajectories from a file of robomimic's.

    keys: the observations to concatenate, in this order
    mask: read only the demos of this filter, such as "train"
    extras: further columns to keep, one entry per step
    """
    path = Path(path).expanduser()
    check_file(path)
    with reading(path, "is not a readable robomimic file (cut or damaged)"):
        check_inside(path)
        with require("h5py", "hdf5").File(path, "r") as file:
            return _read(file, path, keys, mask, extras)


def _demos(group: Any) -> list[str]:
    """Their names, in the order of their numbers."""
    matches = [match for name in group if (match := DEMO.fullmatch(name))]
    return [match[0] for match in sorted(matches, key=lambda match: int(match[1]))]


def _read(file: Any, path: Path, keys: Sequence[str] | None, mask: str | None, extras: Sequence[str]) -> Trajectories:
    group = file["data"]
    if not (names := _demos(group)):
        raise DataError(f"the group data has no demo_0, demo_1, ...; it has: {', '.join(group) or 'nothing'}")
    names = names if mask is None else _filtered(file, names, mask)
    rows = sum(_length(group[name]) for name in names)
    if mask is None and (total := int(group.attrs.get("total", rows))) != rows:
        what = "demos are missing, or it was edited and total must be set anew"
        raise DataError(f"the file says total {total:,}, but its demos have {rows:,} steps: {what}")
    first = group[names[0]]
    available = sorted(first["obs"])
    if keys is None and len(available) == 1:
        keys = available
    if keys is None:
        raise DataError(f"the observations have the keys {', '.join(available)}; choose some: keys=[...], --keys")
    check_keys(keys, available)
    if images := [key for key in keys if len(keys) > 1 and first["obs"][key].ndim > 2]:
        raise DataError(f"obs/{images[0]} is an image: choose it alone, or leave it out")
    columns = [first["obs"][key] for key in keys]
    check_file(path, rows * sum(math.prod(column.shape[1:]) * column.dtype.itemsize for column in columns))
    data = from_episodes((_episode(group[name], first, keys, extras) for name in names), path.stem, rows=rows)
    data.notes.update({"boundaries": "demos", "keys": list(keys)} | ({} if mask is None else {"mask": mask}))
    for key in ("dones", "next_obs"):
        if 0 < len(without := [name for name in names if key not in group[name]]) < len(names):
            data.notes[f"without_{key}"] = without
    used = {"obs", "next_obs", "actions", "rewards", "dones", *extras}
    if unused := [key for key in first if key not in used] + [f"obs/{key}" for key in available if key not in keys]:
        data.notes["not_used"] = unused
    return data


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
    recorded = demo.attrs.get("num_samples")
    if recorded is not None and int(recorded) != length:
        raise DataError(f"{demo.name} says num_samples {int(recorded):,}, but has {length:,} actions")
    if length == 0:
        raise DataError(f"{demo.name} has no steps; expected at least one")
    return length


def _episode(demo: Any, first: Any, keys: Sequence[str], extras: Sequence[str]) -> dict[str, Any]:
    """A demo for `from_episodes`. Its columns are those of the first one."""
    length = _length(demo)
    for name in ("actions", "rewards", *(f"obs/{key}" for key in keys), *extras):
        if getattr(demo.get(name), "dtype", np.dtype("O")).kind not in "biuf":  # a group, a text, or nothing
            which = "extras asks for" if name in extras else f"{first.name.rpartition('/')[2]} has"
            raise DataError(f"{demo.name} has no {name}, which {which}; it has: {', '.join(demo)}")
        column, expected = demo[name], (length, *first[name].shape[1:])
        if column.shape != expected:
            raise DataError(f"{column.name} has shape {column.shape}; expected {expected}")
    flags = flag_array(f"{demo.name}/dones", np.asarray(demo["dones"])) if "dones" in demo else np.zeros(length, bool)
    if flags.shape != (length,):
        raise DataError(f"{demo.name}/dones has shape {flags.shape}; expected ({length},), one flag per action")
    observations = _side_by_side([np.asarray(demo["obs"][key]) for key in keys])
    successors = demo.get("next_obs", {})
    if all(key in successors for key in keys):
        after = _side_by_side([_rows(successors[key], demo["obs"][key].shape) for key in keys])
        if (breaks := ~follows(observations, after)[:-1]).any():
            what = "is not the obs after it; expected one unbroken demo: split it there, or delete its next_obs"
            raise DataError(f"{demo.name}: next_obs at step {np.argmax(breaks)} {what}")
        observations = np.concatenate([observations, after[-1:]], dtype=observations.dtype)
    columns = {name: np.asarray(demo[name]) for name in ("actions", "rewards")}
    further = {name: np.asarray(demo[name]) for name in extras}
    return {"observations": observations, **columns, **split_terminals(flags, slice(-1, None)), "extras": further}


def _rows(column: Any, shape: tuple[int, ...]) -> Array:
    if column.shape != shape:
        raise DataError(f"{column.name} has shape {column.shape}; expected {shape}, as obs has")
    return np.asarray(column)


def _side_by_side(parts: Sequence[Array]) -> Array:
    """One key as it is, several as one vector per row."""
    if len(parts) == 1:
        return parts[0].astype(np.float32, copy=False) if parts[0].dtype.kind == "f" else parts[0]
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1, dtype=np.float32)
