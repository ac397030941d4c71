"""One process at a time makes a file; the others wait, and then find it."""

from __future__ import annotations

import contextlib
import errno
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextlib.contextmanager
def only_one(target: Path) -> Iterator[None]:
    """Hold the lock of `target`, a hidden file beside it."""
    with target.with_name(f".{target.name}.lock").open("w") as file:
        if not try_lock(file):
            print(f"waiting for another process that is getting {target.name}", file=sys.stderr)
            while not try_lock(file):
                time.sleep(0.2)
        yield


def try_lock(file: IO[str]) -> bool:
    """Whether the lock is held now; closing the file gives it back."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some cluster file systems know no locks: go on, rather than refuse to work there at all.
        return error.errno in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
    return True
