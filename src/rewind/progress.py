"""Progress bars on stderr. Without tqdm, or if stderr is not a terminal, there are lines instead."""

import importlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

from rewind.errors import printable
from rewind.files import FULL

SOON, LATER = 10.0, 60.0  # seconds to the first line of progress, and from one to the next
ENOUGH = 5.0  # seconds from which a rate means something: two processes may finish their first chunks at once

Item = TypeVar("Item")
Progress = Callable[[int, int | None], None]  # (bytes so far, bytes in total if known)


def _tqdm() -> Any:
    """The class `tqdm`, or None."""
    if not sys.stderr.isatty():
        return None
    try:
        return importlib.import_module("tqdm").tqdm
    except ImportError:
        return None


def progress(items: Iterable[Item], label: str) -> Iterable[Item]:
    """Iterate over `items` with a progress bar."""
    tqdm = _tqdm()
    bar: Iterable[Item] = items if tqdm is None else tqdm(items, desc=label, leave=False, dynamic_ncols=True)
    return bar


class _Lines:
    """Replaces tqdm where no bar is shown: a line after some seconds, then one every minute.

    wanted: False: there are messages only
    """

    def __init__(self, label: str, total: int, done: int, wanted: bool) -> None:
        self.n = done
        self._label, self._total, self._wanted = label, total, wanted
        self._due = time.monotonic() + SOON
        self._since: tuple[int, float] | None = None  # where the rate is counted from: compilation comes before

    def update(self, steps: int) -> None:
        self.n += steps
        now = time.monotonic()
        if self._since is None:
            self._since = (self.n, now)
        elif self._wanted and now >= self._due and self.n > self._since[0]:
            speed = self._speed(self.n - self._since[0], now - self._since[1])
            self._due = now + (LATER if speed else SOON)
            self.write(f"{self._label}: {self.n:,} of {self._total:,} steps{speed}")

    def _speed(self, steps: int, seconds: float) -> str:
        """Rate and remaining time; nothing if they are not known yet."""
        if seconds < ENOUGH:
            return ""
        left = (self._total - self.n) * seconds / steps / 60
        return f", {steps / seconds:,.0f} per second, {left:,.0f} min left"

    def write(self, text: str) -> None:
        say(text, sys.stderr)

    def close(self) -> None:
        pass


def steps_bar(label: str, total: int, done: int, wanted: bool = True) -> Any:
    """A bar for training, with steps per second and the remaining time. It has the methods of tqdm."""
    tqdm = _tqdm() if wanted else None
    if tqdm is None:
        return _Lines(label, total, done, wanted)
    return tqdm(desc=label, total=total, initial=done, unit=" steps", unit_scale=True, dynamic_ncols=True)


@contextmanager
def bytes_bar(label: str) -> Iterator[Progress]:
    """A bar for a download. Where no bar is shown, a line for every tenth: a download may take an hour."""
    tqdm = _tqdm()
    if tqdm is None:
        yield _tenths(label)
        return
    # The delay: only when the first bytes arrive, as a failed request needs no bar.
    with tqdm(desc=label, unit="B", unit_scale=True, unit_divisor=1024, delay=1e-9) as bar:

        def show(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)  # negative if a transfer restarts

        yield show


def _tenths(label: str) -> Progress:
    shown = -1

    def show(done: int, total: int | None) -> None:
        nonlocal shown
        tenth = 10 * done // total if total else done // (100 << 20)
        if tenth != shown:
            shown = tenth
            of = f" of {total / 2**20:.1f}" if total else ""
            print(f"{label}: {done / 2**20:.1f}{of} MiB", file=sys.stderr)

    return show


def say(text: str, file: TextIO | None = None) -> None:
    """Print a line to stdout, or to another file, without breaking a bar on stderr."""
    file, tqdm = file or sys.stdout, _tqdm()
    try:
        print(printable(text), file=file) if tqdm is None else tqdm.write(printable(text), file=file)
        file.flush()
    except OSError as error:  # a log on a full disk must not end a training
        if error.errno not in FULL:
            raise
