"""Write files atomically, and read and write JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
