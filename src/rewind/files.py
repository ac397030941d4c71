"""Write files atomically, one process at a time; read and write JSON; read `.npz` files."""

import errno
import hashlib
import json
import math
import os
import shutil
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError, UsageError, reading, require

FULL = (errno.ENOSPC, errno.EDQUOT)  # errors of a full disk, and of one's share of it
SMALL = 1 << 26  # bytes of arrays that any file may declare
MOST_GROWTH = 2000  # bytes of arrays per byte of a file; deflate reaches 1032


def as_path(value: object) -> Path | None:
    """The path that a text or a path means; None for anything else."""
    return Path(value).expanduser() if isinstance(value, (str, os.PathLike)) else None


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path to write to. It is renamed to `path` on success and removed on failure.

    It is on the disk before it gets its name: a machine that loses power has the old file or the new one.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    except OSError as error:
        if error.errno is not None and error.filename is None:  # what cannot be written has no name of its own
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The same for a folder that does not exist yet: an empty one to fill."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    folder = path.is_dir()
    if folder and os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_file(path: Path, declared: int = 0) -> None:
    """Check that this is a file, and not one that waits for a writer; and that it can hold what it declares.

    declared: bytes of its arrays. Memory is allocated by this number before the content is read
    """
    if not path.exists():
        raise DataError(f"no file {path}")
    if not path.is_file():
        raise DataError(f"{path} is not a regular file")
    if declared > max(SMALL, MOST_GROWTH * path.stat().st_size):
        raise DataError(f"{path} declares {declared:,} bytes of arrays in a file of {path.stat().st_size:,} bytes")


class Npz(Mapping[str, Array]):
    """The arrays of an `.npz` file, each read when it is asked for, without unpickling."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser()
        check_file(self.path)
        if not zipfile.is_zipfile(self.path):
            raise DataError(f"{self.path} is not a readable .npz file: not an archive, or cut off")
        with self._open() as archive:
            self._names = list(archive.files)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        with reading(self.path, "is not a readable .npz file"), np.load(self.path, allow_pickle=False) as archive:
            yield archive

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        with self._open() as archive:
            names = archive.zip.namelist()
            member = archive.zip.getinfo(name if name in names else f"{name}.npy")
            check_file(self.path, member.file_size)
            with archive.zip.open(member) as file:
                old = np.lib.format.read_magic(file) == (1, 0)
                read_header = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
                shape, _, dtype = read_header(file)
                if file.tell() + math.prod(shape) * dtype.itemsize != member.file_size and not dtype.hasobject:
                    raise ValueError(f"{name} declares {dtype}{shape}, but has {member.file_size:,} bytes")
            array: Array = archive[name]
            return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def read_npz(path: str | os.PathLike[str]) -> dict[str, Array]:
    """All arrays of an `.npz` file. Raises an error that names the file if it is damaged."""
    return dict(Npz(path))


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


def arrays_digest(arrays: Iterable[tuple[str, Array]]) -> str:
    """SHA-256 of arrays with their names, shapes and types, in this order."""
    digest = hashlib.sha256()
    for name, array in arrays:
        digest.update(f"{name} {array.shape} {array.dtype.str}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def short_digest(arrays: Mapping[str, Any], before: bytes = b"") -> str:
    """BLAKE2 of these bytes and of arrays with their names, types and shapes, in the order of the names."""
    digest = hashlib.blake2b(before, digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


def finite(value: Any) -> float | None:
    """A number of a record; None where it is NaN or infinite, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def json_ready(value: Any) -> Any:
    """What JSON can hold: arrays as lists, keys and paths as text, NaN as None.

    Infinities stay, as Python writes and reads them: settings that switch a bound off are infinite.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def write_json(path: str | os.PathLike[str], figures: Any) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(json_ready(figures), indent=2) + "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file; an error names the file."""
    if Path(path).exists():
        check_file(Path(path))
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is damaged (invalid JSON): {error}") from error


def read_lines(path: Path) -> list[str]:
    """The lines of a log; an error names the file."""
    check_file(path)
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is damaged (not UTF-8): {error}") from error
