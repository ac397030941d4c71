"""Files that are never half written, and read as they were written."""

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
    """A temporary name beside `path` to write to; it becomes `path` when all went well, and vanishes when not."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: str | os.PathLike[str], figures: Any) -> None:
    """Figures for other programs: stable keys, readable by people too."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(figures, indent=2) + "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """What `write_json` wrote; an error that names the file where it is not that any more."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is damaged, it is no JSON: {error}") from error
