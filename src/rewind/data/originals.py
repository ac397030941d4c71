"""The published files of D4RL: found on this machine or downloaded once, recorded, and checked at every use.

In the cache folder, for a data set whose file is F:

    F              the complete file
    F.json         its size, digest and origin, checked at every use
    F.part[.json]  an incomplete download, and which version of the file it is
    .F.lock        held while a process gets the file
"""

import contextlib
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

from rewind.data.catalogue import Entry, entry
from rewind.errors import DataError, DownloadError, UsageError
from rewind.files import only_one, read_json, whole_file, write_json
from rewind.progress import Progress, bytes_bar


def cache_folder() -> Path:
    """The folder with the files: `$REWIND_DATA`, or `.rewind/data` in the home folder."""
    folder = os.environ.get("REWIND_DATA")
    return Path(folder).expanduser() if folder else Path.home() / ".rewind" / "data"


def get(
    name: str, source: str | os.PathLike[str] | None = None, mirror: str | None = None, progress: bool | Progress = True
) -> Path:
    """The path, in the cache folder, of the published file of a catalogued data set.

    The file is taken from the first of: `source`; the cache folder; D4RL's folder (`$D4RL_DATASET_DIR` or
    `~/.d4rl/datasets`); the mirror, if you name one, otherwise the address where the file was published.

    source: the file, or a folder that contains it under its published name; replaces the file in the cache
    mirror: base address, with the files in it or in the publisher's folders below it; or `$REWIND_MIRROR`
    progress: True for a bar, False for none, or a function of (bytes received, total bytes or None)
    """
    published = entry(name)
    target = cache_folder() / published.file
    if source is not None or not target.is_file():
        local = None if source is None else _local(published, Path(source).expanduser())
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with only_one(target):
                if local is not None:
                    _copy(local, target)
                elif not target.is_file():  # another process may have been faster
                    _fetch(published, target, mirror or os.environ.get("REWIND_MIRROR"), progress)
        except DownloadError:
            raise
        except OSError as error:
            raise DownloadError(
                f"{published.file} ({name}) cannot be written to {target.parent}: {error.strerror or error}; "
                "set $REWIND_DATA to a writable folder with enough space"
            ) from error
    _check(name, target)
    return target


def verify(name: str) -> dict[str, Any]:
    """Compare the whole file with its recorded digest, and return the record."""
    target = cache_folder() / entry(name).file
    if not target.is_file():
        raise DataError(f"no file {target} to verify; get it with: rewind data get {name}")
    return _check(name, target, thorough=True)


def _local(published: Entry, source: Path) -> Path:
    path = source / published.file if source.is_dir() else source
    if not path.is_file():
        raise UsageError(f"no file {path}; expected {published.file} of {published.name}, or a folder that contains it")
    if reason := _broken(path):
        raise DataError(f"{path} cannot be {published.name}: {reason}")
    return path


def _fetch(published: Entry, target: Path, mirror: str | None, progress: bool | Progress) -> None:
    from rewind.data.transfer import TransferError, forget, transfer  # Python's network modules are slow to import

    d4rl = Path(os.environ.get("D4RL_DATASET_DIR") or "~/.d4rl/datasets").expanduser() / published.file
    if d4rl.is_file() and not _broken(d4rl):  # D4RL leaves cut downloads under their final name
        return _copy(d4rl, target)
    part = target.with_name(f"{target.name}.part")
    failures = []
    for address in _addresses(published, mirror):
        try:
            with contextlib.ExitStack() as stack:
                show = stack.enter_context(bytes_bar(published.file)) if progress is True else progress
                transfer(address, part, show or (lambda done, total: None))
        except TransferError as error:
            failures.append(f"{address}: {error}")
            continue
        if reason := _broken(part):
            forget(part)
            failures.append(f"{address}: the downloaded file is unusable: {reason}")
            continue
        _record_of(target).unlink(missing_ok=True)  # of a file that was deleted
        part.replace(target)
        forget(part)
        _record(target, address)
        return None
    raise DownloadError(
        f"could not get {published.file} ({published.name}):\n"
        + "".join(f"  {line}\n" for line in failures)
        + f"Put the file at {target} by hand, or use: rewind data get {published.name} --from PATH, "
        "or --mirror with a mirror's base address, or $REWIND_MIRROR. The nearest set that needs no network is "
        f"{published.rebuilt} (Rewind's own data, not D4RL's)."
    )


def _addresses(published: Entry, mirror: str | None) -> list[str]:
    if mirror is None:
        return [published.address]
    if not mirror.startswith(("http://", "https://")):
        raise UsageError(f"mirror {mirror!r} is not a base address: expected http://... or https://...")
    base = mirror.rstrip("/")
    return [f"{base}/{published.folder}/{published.file}", f"{base}/{published.file}"]


def _copy(path: Path, target: Path) -> None:
    """Copy a file into the cache. A link would break when the owner of the file changes it."""
    if target.exists() and target.samefile(path):
        return
    with whole_file(target) as temporary:
        shutil.copyfile(path, temporary)
        _record_of(target).unlink(missing_ok=True)  # the record of the replaced file
    _record(target, str(path))


def _broken(path: Path) -> str | None:
    """Why this is not a complete HDF5 file, or None. The first bytes contain the expected size."""
    try:
        with path.open("rb") as file:
            head = file.read(64)
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if head[:8] != b"\x89HDF\r\n\x1a\n":
        return "it is not an HDF5 file"
    if len(head) < 64:
        return f"it is cut after {len(head)} bytes"
    position = {0: 40, 1: 44, 2: 28, 3: 28}.get(head[8])  # of the end address, by format version
    expected = int.from_bytes(head[position : position + 8], "little") if position else 0
    size = path.stat().st_size
    return f"it is cut: {size:,} of {expected:,} bytes" if size < expected else None


def _record_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.json")


def _record(target: Path, origin: str, digest: str | None = None) -> dict[str, Any]:
    status = target.stat()
    record = {
        "file": target.name,
        "size": status.st_size,
        "sha256": digest or _digest(target),
        "origin": origin,
        "modified_ns": status.st_mtime_ns,
    }
    write_json(_record_of(target), record)
    return record


def _read_record(name: str, target: Path) -> dict[str, Any]:
    path = _record_of(target)
    try:
        record: dict[str, Any] = read_json(path)
    except DataError:
        record = {}
    kinds = {"size": int, "sha256": str, "origin": str, "modified_ns": int}
    if not isinstance(record, dict) or not all(isinstance(record.get(key), kind) for key, kind in kinds.items()):
        raise DataError(
            f"{path} is damaged: expected the size, sha256, origin and modified_ns of {target.name}. Delete it to "
            f"accept that file as it is now, or delete both, then: rewind data get {name}"
        )
    return record


def _digest(target: Path) -> str:
    with target.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check(name: str, target: Path, thorough: bool = False) -> dict[str, Any]:
    """Check the size, and if `thorough` or the file was modified since it was recorded, also the digest."""
    writable = os.access(target.parent, os.W_OK)  # a read-only shared folder works without records
    if not _record_of(target).exists():  # somebody placed the file by hand
        if reason := _broken(target):
            raise DataError(f"{target} cannot be {name}: {reason}; delete it")
        return _record(target, "found in place") if writable else {"file": target.name, "origin": "found in place"}
    record, status = _read_record(name, target), target.stat()
    touched = status.st_mtime_ns != record["modified_ns"]
    same = status.st_size == record["size"] and (not (thorough or touched) or _digest(target) == record["sha256"])
    if not same:
        raise DataError(
            f"{target} differs from its record ({record['size']:,} bytes, "
            f"sha256 {record['sha256'][:12]}...): it was altered or damaged. "
            f"Delete it and {_record_of(target).name}, then: rewind data get {name}"
        )
    return _record(target, record["origin"], record["sha256"]) if touched and writable else record
