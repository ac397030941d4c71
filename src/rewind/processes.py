"""Programs of our own that work beside this one: the one executor of processes.

`Process` asks one program and waits for its answer; `Processes` are several that work side by side. The program is a
module of ours, run as a program, which calls `serve`.

They are no forks: each has one thread for its linear algebra whatever this process has, and a script that starts them
needs no `if __name__ == "__main__"`. A message, either way, is a dict of NumPy arrays (text and numbers become arrays):
eight bytes that say how long it is, then NumPy's own archive without pickle. An error there is raised here.
"""

from __future__ import annotations

import io
import os
import selectors
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import LifoQueue
from threading import Event
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rewind import errors
from rewind.errors import Abandoned, RewindError

Message = Mapping[str, Any]
Answer = dict[str, NDArray[Any]]

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
# Not `-m`: a file in the working directory must not stand in for a module of Python, so that it comes last if at all.
START = "import runpy, sys; sys.path += sys.argv[2:]; runpy.run_module(sys.argv[1], None, '__main__', True)"
LOOK = 0.1  # seconds between two looks whether whoever waits for an answer still wants it


class ProcessEnded(RewindError):
    """A process ended before it answered."""


def never() -> bool:
    """Whoever waits does so until the end."""
    return False


def available_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Process:
    """A module run as a program, with the packages that this process has. One thread at a time asks it.

    It is started when it is first asked, and again after it has ended. It ends when nobody holds this object any more.

    folder: where it runs; a simulator that complains into its log file does so there
    """

    def __init__(self, module: str, folder: Path | None = None) -> None:
        self._module, self._folder = module, folder
        self._process: subprocess.Popen[bytes] | None = None
        self._end: Callable[[], Any] = never

    def ask(self, message: Message, stop: Callable[[], bool] = never) -> Answer:
        """Its answer; the error that it raised; `ProcessEnded`; or, as soon as `stop` says so, `Abandoned`."""
        try:
            answer = self._ask(message, stop)
        except BaseException:  # whoever asks next must not get this answer
            self.kill()
            raise
        if "errno" in answer:
            raise OSError(int(answer["errno"]), str(answer["text"]))
        if "error" in answer:
            kind: type[Exception] = getattr(errors, str(answer["error"]), RewindError)
            raise kind(str(answer["text"]))
        return answer

    def kill(self) -> None:
        self._end()
        self._process = None

    def _ask(self, message: Message, stop: Callable[[], bool]) -> Answer:
        process = self._process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            _send(process.stdin, message)
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                while not selector.select(LOOK):
                    if stop():
                        raise Abandoned
            answer = _receive(process.stdout)
        except OSError:  # a broken pipe
            answer = None
        if answer is None:
            raise ProcessEnded(f"the process {self._module} ended with status {process.wait()}")
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        here, paths = str(Path.cwd()), [str(Path(path).resolve()) for path in sys.path]
        paths, last = [path for path in paths if path != here], [here] if here in paths else []
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, self._module, *last],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": os.pathsep.join(paths)},
            cwd=self._folder,
            start_new_session=True,  # Ctrl-C is for this process, which ends them
        )
        self._end = weakref.finalize(self, _kill, process)
        return process


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


class Processes:
    """Up to `count` of them, and a thread for each, which waits for its answers.

    The one that answered last is asked first, so that few messages at a time need few programs.
    """

    def __init__(self, module: str, count: int, folder: Path | None = None) -> None:
        self.count = count
        self._threads = ThreadPoolExecutor(count)
        self._closed = Event()
        self._idle: LifoQueue[Process] = LifoQueue()
        for _ in range(count):
            self._idle.put(Process(module, folder))

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *exception: object) -> None:
        self._closed.set()
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().kill()

    def submit(self, message: Message, stop: Callable[[], bool] = never) -> Future[Answer]:
        return self._threads.submit(self._ask, message, stop)

    def _ask(self, message: Message, stop: Callable[[], bool]) -> Answer:
        process = self._idle.get()
        try:
            return process.ask(message, lambda: self._closed.is_set() or stop())
        finally:
            self._idle.put(process)


def serve(answer: Callable[[Answer], Message]) -> None:
    """In such a program: answer messages until nobody is left to send any.

    What a library prints is no answer: it goes to stderr.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this decides when to stop
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while (message := _receive(sys.stdin.buffer)) is not None:
        try:
            content = answer(message)
        except RewindError as error:
            content = {"error": type(error).__name__, "text": str(error)}
        except OSError as error:
            content = {"errno": error.errno or 0, "text": error.strerror or str(error)}
        try:
            _send(answers, content)
        except BrokenPipeError:  # nobody waits for it any more
            os._exit(1)


def _send(stream: BinaryIO | Any, message: Message) -> None:
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in message.items()}
    np.savez(buffer, **arrays)
    stream.write(len(buffer.getbuffer()).to_bytes(8, "little"))
    stream.write(buffer.getbuffer())
    stream.flush()


def _receive(stream: BinaryIO | Any) -> Answer | None:
    """None where nothing more comes."""
    size = int.from_bytes(header, "little") if len(header := stream.read(8)) == 8 else None
    if size is None or len(content := stream.read(size)) < size:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
