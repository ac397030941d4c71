"""One process at a time makes a file; the others wait, then find it."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rewind.errors import UsageError, require


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
