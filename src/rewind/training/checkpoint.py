"""Checkpoints: whole, checked, never half written, the last two kept.

A file is a line that names the format, the digest of all that follows, and NumPy's own archive without pickle. Whatever
happened to it since, from a lost tail to one flipped bit, the digest tells.
"""

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewind.errors import RewindError
from rewind.files import FULL, whole_file

MAGIC = b"rewind checkpoint 2\n"
DIGEST_SIZE = 32
KEPT = 2

Content = dict[str, Any]


class DamagedCheckpoint(RewindError):
    """A checkpoint that is not what was written."""


def write_checkpoint(folder: Path, step: int, content: Mapping[str, Any]) -> Path:
    """Save arrays, numbers and strings in nested dicts and lists; older checkpoints but one go."""
    path = folder / f"step-{step:012d}.checkpoint"
    arrays: dict[str, NDArray[Any]] = {}
    skeleton = _flatten(content, arrays)
    body = io.BytesIO()
    everything: dict[str, Any] = {"skeleton": np.frombuffer(json.dumps(skeleton).encode(), np.uint8), **arrays}
    np.savez(body, **everything)
    data = body.getbuffer()
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.writelines((MAGIC, _digest(data), data))
    drop_old(folder, KEPT)
    return path


def make_room(folder: Path, write: Callable[[], object]) -> None:
    """Write; where the disk is full, once more without the older checkpoint."""
    try:
        write()
    except OSError as error:
        if error.errno not in FULL or not drop_old(folder, 1):
            raise
        write()


def drop_old(folder: Path, kept: int) -> bool:
    """Remove all checkpoints but the newest ones, and damaged ones; whether there were any to remove."""
    old = [*checkpoints(folder)[kept:], *folder.glob("step-*.damaged")]
    for path in old:
        path.unlink(missing_ok=True)
    return bool(old)


def read_checkpoint(path: Path) -> Content:
    """The content of one checkpoint, or `DamagedCheckpoint`."""
    data = path.read_bytes()
    begin = len(MAGIC) + DIGEST_SIZE
    if not data.startswith(MAGIC):
        raise DamagedCheckpoint(f"{path} is no checkpoint of this version of Rewind")
    body = memoryview(data)[begin:]
    if _digest(body) != data[len(MAGIC) : begin]:
        raise DamagedCheckpoint(f"{path} is damaged: its digest does not fit its content")
    with np.load(io.BytesIO(body), allow_pickle=False) as archive:
        restored: Content = _restore(json.loads(archive["skeleton"].tobytes()), archive)
    return restored


def read_latest(
    folder: Path, problem_of: Callable[[Content], str] = lambda content: ""
) -> tuple[Content | None, list[str]]:
    """The newest checkpoint that is whole, and what was wrong with newer ones, which are set aside.

    Where none is whole, nothing changes. What writers that were killed have left half written goes.

    problem_of: why one that is whole cannot be used; empty: it can
    """
    for half in folder.glob(".step-*.tmp.checkpoint"):
        half.unlink(missing_ok=True)
    problems: list[str] = []
    unusable: list[Path] = []
    for path in checkpoints(folder):
        try:
            content = read_checkpoint(path)
            problem = problem_of(content)
        except DamagedCheckpoint as error:
            problem = str(error)
        if not problem:
            for newer in unusable:
                newer.replace(newer.with_suffix(".damaged"))
            return content, problems
        problems.append(problem)
        unusable.append(path)
    return None, problems + [f"{path} is damaged" for path in sorted(folder.glob("step-*.damaged"))]


def checkpoints(folder: Path) -> list[Path]:
    """Newest first."""
    return sorted(folder.glob(f"step-{'[0-9]' * 12}.checkpoint"), reverse=True)


def _digest(data: Any) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST_SIZE).digest()


def _flatten(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """The shape of nested content as JSON; its arrays, numbered, beside it."""
    if isinstance(value, Mapping):
        return {"dict": {key: _flatten(item, arrays) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return {"list": [_flatten(item, arrays) for item in value]}
    if isinstance(value, (str, bool, int, float)) or value is None:
        return {"value": value}
    name = f"array{len(arrays)}"
    arrays[name] = np.asarray(value)
    return {"array": name}


def _restore(skeleton: Any, archive: Mapping[str, Any]) -> Any:
    ((kind, content),) = skeleton.items()
    if kind == "dict":
        return {key: _restore(item, archive) for key, item in content.items()}
    if kind == "list":
        return [_restore(item, archive) for item in content]
    return archive[content] if kind == "array" else content


def differences(saved: Any, now: Any, where: str = "") -> Iterator[str]:
    """What is not the same in two configurations, one line each."""
    if isinstance(saved, dict) and isinstance(now, dict):
        for key in {**saved, **now}:
            yield from differences(saved.get(key), now.get(key), f"{where}.{key}" if where else str(key))
    elif isinstance(saved, list) and isinstance(now, list) and len(saved) == len(now):
        for index, (old, new) in enumerate(zip(saved, now, strict=True)):
            yield from differences(old, new, f"{where}[{index}]")
    elif isinstance(saved, list) and isinstance(now, list):
        yield f"{where}: {len(saved)} before, {len(now)} now"
    elif saved != now:
        yield f"{where}: was {_short(saved)}, is {_short(now)}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
