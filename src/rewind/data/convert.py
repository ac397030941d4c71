"""Any data set as a folder of `.npy` files, for data that does not fit into memory."""

import os
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.folder import save_folder, write_array
from rewind.data.load import FLAT, load, read_hdf5
from rewind.data.parts import mapped
from rewind.data.robomimic import is_robomimic
from rewind.errors import UsageError
from rewind.files import as_path


def convert(dataset: Any, folder: str | os.PathLike[str], **options: Any) -> None:
    """Write a data set as a folder whose rows `load` leaves on the disk.

    An HDF5 file in D4RL's layout is converted piece by piece, whatever its size; anything else is loaded first.

    options: of `load`
    """
    folder = Path(folder).expanduser()
    if folder.exists():
        raise UsageError(f"{folder} exists already; choose another folder, or remove it")
    folder.parent.mkdir(parents=True, exist_ok=True)
    given = {name: value for name, value in options.items() if value is not None}
    path = as_path(dataset)
    if path is None or not path.is_file() or path.suffix.lower() not in (".hdf5", ".h5") or is_robomimic(dataset):
        save_folder(load(dataset, **given), folder)
        return
    if wrong := [name for name in given if name not in FLAT]:
        raise UsageError(f"{' and '.join(wrong)} makes no sense for this kind of data: leave it out")
    with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
        save_folder(read_hdf5(dataset, column=partial(_on_disk, Path(temporary)), **given), folder)


def _on_disk(temporary: Path, source: Any) -> Array:
    """A column of an HDF5 file as an array that is not in memory: where it is, or copied to a file of its own."""
    if source.chunks is None:
        return np.asarray(mapped(source))
    file = temporary / f"{source.name.strip('/').replace('/', '.')}.npy"
    write_array(file, source, np.float32 if source.dtype.kind == "f" else source.dtype)
    array: Array = np.load(file, mmap_mode="r")
    return array
