"""Programs of our own that work beside this one, with a pipe each way.

They are no forks: each has one thread for its linear algebra whatever this process has, and a script that starts them
needs no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def start(module: str, folder: Path | None = None) -> subprocess.Popen[bytes]:
    """`python -m module`, with the packages that this process has.

    folder: where it runs
    """
    paths = [str(Path(path).resolve()) for path in sys.path]
    return subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": os.pathsep.join(paths)},
        cwd=folder,
        start_new_session=True,  # Ctrl-C is for this process, which ends them
    )


def answering() -> tuple[BinaryIO, BinaryIO]:
    """In such a program: where orders come from, and where answers go. Orders also end when nobody is left to give any.

    What a library prints is no answer: it goes to stderr.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this decides when to stop
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sys.stdin.buffer, answers
