"""SIGINT and SIGTERM as the wish to stop: the first one is noted, a second one is obeyed at once."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from types import FrameType

STOPS = (signal.SIGINT, signal.SIGTERM)
STATUS = 130  # as a shell has it for what Ctrl-C ended

_noted: list[int] | None = None  # by the outermost `stop_signals`


@contextmanager
def stop_signals(received: list[int] | None = None, *, end: bool = False) -> Iterator[list[int]]:
    """Collects the signals instead of dying of the first. Inside another `stop_signals` it yields the list of that one.

    received: those that came before
    end: for a command: the second ends this process with status 130, even while a program is compiled, when Python
        handles no signals. Without it the second raises `KeyboardInterrupt`: a caller's process is not ours to end
    """
    global _noted
    if _noted is not None:
        yield _noted
        return
    received = [] if received is None else received
    watched = end and os.name == "posix"  # elsewhere a pipe does not wake anybody

    def note(number: int, frame: FrameType | None) -> None:
        if not watched and received:
            if end:
                os._exit(STATUS)
            raise KeyboardInterrupt
        received.append(number)
        if not watched:
            _say_stopping()

    try:
        before = {number: signal.signal(number, note) for number in STOPS}
    except ValueError:  # not in the main thread: whoever runs us handles signals
        yield received
        return
    _noted, unwatch = received, _watch(received) if watched else lambda: None
    try:
        yield received
    finally:
        _noted = None
        unwatch()
        for number, handler in before.items():
            signal.signal(number, handler)


def obey_signal() -> None:
    """Raise `KeyboardInterrupt` if one has come: for long work that keeps nothing of what it has done."""
    if _noted:
        raise KeyboardInterrupt


def _watch(received: list[int]) -> Callable[[], None]:
    """Count the signals in a thread; a function that ends this."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def count() -> None:
        came = 0
        while content := os.read(reader, 1):
            if content[0] not in STOPS:
                continue
            came += 1
            if came > 1:
                os.write(2, b"rewind: stopped at once\n")
                os._exit(STATUS)  # without the end of Python, which crashes while the device works
            received.append(content[0])
            _say_stopping()
        os.close(reader)

    def unwatch() -> None:
        signal.set_wakeup_fd(before)
        os.close(writer)

    Thread(target=count, name="signals", daemon=True).start()
    return unwatch


def _say_stopping() -> None:
    """Past Python's buffers: a signal may come while they are written."""
    os.write(2, b"\nrewind: stopping soon; again to stop at once\n")
