"""Trajectories in a folder of `.npy` files, whose rows stay on the disk until a batch needs them."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.header import read_header
from rewind.data.parts import each_part, find_parts
from rewind.data.trajectories import CHUNK_ROWS, FIELDS, Trajectories
from rewind.errors import DataError, UsageError, naming, one_line
from rewind.files import as_path, check_file, sync, whole_folder

HEADER = "rewind.json"  # name and notes, written last


def is_folder(dataset: Any) -> bool:
    """Whether this is the path of a folder written by `save_folder`."""
    path = as_path(dataset)
    return path is not None and (path / HEADER).is_file()


def load_folder(path: str | os.PathLike[str]) -> Trajectories:
    """Trajectories from a folder written by `save_folder`. Observations, actions and extras stay on the disk.

    They are read once from beginning to end, to check their numbers.
    """
    folder = Path(path).expanduser()
    try:
        header = read_header((folder / HEADER).read_text(encoding="utf-8"), folder.name)
        files = sorted(folder.rglob("*.npy"))
        arrays = {file.relative_to(folder).with_suffix("").as_posix(): _open(file) for file in files}
        fields = {name: find_parts(arrays, name) for name in FIELDS}
        if missing := [name for name, value in fields.items() if value is None]:
            raise DataError(f"missing {', '.join(f'{name}.npy' for name in missing)}")
        extras = find_parts(arrays, "extras") or {}
        return Trajectories(**fields, **header, extras=extras, inner_terminals=arrays.get("inner_terminals"))
    except DataError as error:
        raise naming(folder, error) from error
    except (OSError, ValueError) as error:
        raise DataError(f"{folder} cannot be read: {one_line(error)}") from error


def in_memory(trajectories: Trajectories) -> Trajectories:
    """The same data, with rows that were selected on the disk read into memory."""
    names = ("observations", "actions", "final_observations", "extras")
    return replace(trajectories, **{name: each_part(np.asarray, getattr(trajectories, name)) for name in names})


def _open(file: Path) -> Array:
    check_file(file)
    try:
        array: Array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{file.name} is not a readable .npy file: {one_line(error)}") from error
    return array


def save_folder(trajectories: Trajectories, path: str | os.PathLike[str]) -> None:
    """Write a folder that `load_folder` reads back to equal arrays, piece by piece. It is never half written."""
    folder = Path(path).expanduser()
    if folder.exists():
        raise UsageError(f"{folder} exists already; choose another folder, or remove it")
    with whole_folder(folder) as temporary:
        for name, array in trajectories.arrays().items():
            file = temporary / f"{name}.npy"
            if ".." in Path(name).parts or temporary not in file.parents:
                raise DataError(f"'{name}' cannot be the name of a file: rename that key")
            file.parent.mkdir(parents=True, exist_ok=True)
            write_array(file, array)
        notes = {key: value for key, value in trajectories.notes.items() if key != "digest"}
        (temporary / HEADER).write_text(json.dumps({"name": trajectories.name, "notes": notes}))
        sync(temporary / HEADER)


def write_array(file: Path, source: Any, dtype: Any = None) -> None:
    """Write an array, or a column of an open file, as `.npy`, piece by piece."""
    new = np.lib.format.open_memmap(file, "w+", dtype or source.dtype, source.shape) if source.size else None
    if new is None:  # nothing to map
        np.save(file, np.empty(source.shape, dtype or source.dtype))
        return
    for begin in range(0, len(source), CHUNK_ROWS):
        new[begin : begin + CHUNK_ROWS] = source[begin : begin + CHUNK_ROWS]
    new.flush()
