"""Processes that play chunks side by side."""

from __future__ import annotations

import json
import os
import queue
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import rewind.errors
from rewind.errors import RewindError, UsageError
from rewind.processes import start
from rewind.rebuilt.worker import Job

Process = subprocess.Popen[bytes]


def available_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """Up to `count` processes, and a thread for each, which waits for its answers.

    folder: where they run; a simulator that complains into its log file does so there
    """

    def __init__(self, count: int, folder: Path) -> None:
        self.count = count
        self._threads = ThreadPoolExecutor(count)
        self._processes: list[Process] = []
        self._idle: queue.SimpleQueue[Process] = queue.SimpleQueue()
        self._folder = folder

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *exception: object) -> None:
        for process in self._processes:
            process.terminate()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self._processes:
            process.communicate()

    def submit(self, job: Job) -> Future[int]:
        """Play a chunk; the result is how many rows it has."""
        if len(self._processes) < self.count:
            self._processes.append(start("rewind.rebuilt.worker", self._folder))
            self._idle.put(self._processes[-1])
        return self._threads.submit(self._do, job)

    def _do(self, job: Job) -> int:
        process = self._idle.get()
        try:
            return self._ask(process, job)
        finally:
            self._idle.put(process)

    def _ask(self, process: Process, job: Job) -> int:
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(job.text().encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:  # a broken pipe: it is gone
            line = b""
        if not line:
            raise UsageError(f"a process that played {job.recipe.name} ended with status {process.wait()}")
        return _result(json.loads(line))


def _result(answer: dict[str, Any]) -> int:
    if "rows" in answer:
        return int(answer["rows"])
    if answer["error"] == "OSError":
        raise OSError(answer["errno"], answer["text"])
    kind = getattr(rewind.errors, answer["error"], RewindError)
    error: RewindError = kind(answer["text"])
    raise error
