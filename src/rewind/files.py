"""Write files atomically, one process at a time; read and write JSON; read `.npz` files."""

import errno
import json
import os
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError, UsageError, require


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


@contextmanager
def only_one(target: Path, busy: str = "") -> Iterator[None]:
    """Hold the lock of `target`, a hidden file beside it.

    busy: the error while another process holds it; without one, wait for that process
    """
    filelock = require("filelock", "hdf5")
    lock = filelock.FileLock(target.with_name(f".{target.name}.lock"), fallback_to_soft=False)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        if busy:
            raise UsageError(busy) from None
        print(f"waiting for another process that is getting {target.name}", file=sys.stderr)
        lock.acquire()
    except OSError as error:
        # Some cluster file systems have no locks. A file that stands for a lock would outlive a killed process there.
        if error.errno not in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP):
            raise
    try:
        yield
    finally:
        lock.release()


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
