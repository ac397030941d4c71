"""Write files atomically; read and write JSON; read `.npz` files."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path to write to. It is renamed to `path` on success and removed on failure."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_npz(path: str | os.PathLike[str]) -> dict[str, Array]:
    """The arrays of an `.npz` file, without unpickling. Raises an error that names the file if it is damaged."""
    path = Path(path)
    if not path.exists():
        raise DataError(f"no file {path}")
    if not path.is_file() or not zipfile.is_zipfile(path):
        raise DataError(f"{path} is not a readable .npz file: not an archive, or cut off")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:  # NumPy, zipfile and zlib raise many kinds of errors for damaged bytes
        raise DataError(f"{path} is not a readable .npz file: {error}") from error


def write_json(path: str | os.PathLike[str], figures: Any) -> None:
    """Write `figures` as indented JSON."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(figures, indent=2) + "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file; an error names the file."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is damaged (invalid JSON): {error}") from error
