"""Progress bars on stderr. There are none without tqdm, or if stderr is not a terminal."""

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

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


def progress(items: Iterable[Item], label: str, total: int | None = None) -> Iterable[Item]:
    """Iterate over `items` with a progress bar.

    total: the number of items, if `items` has no length
    """
    tqdm = _tqdm()
    if tqdm is None:
        return items
    bar: Iterable[Item] = tqdm(items, desc=label, total=total, leave=False, dynamic_ncols=True)
    return bar


class _NoBar:
    """Replaces tqdm where no bar is shown. Messages still go to stderr."""

    def __init__(self, done: int) -> None:
        self.n = done

    def update(self, steps: int) -> None:
        self.n += steps

    def write(self, text: str) -> None:
        print(text, file=sys.stderr)

    def close(self) -> None:
        pass


def steps_bar(label: str, total: int, done: int, wanted: bool = True) -> Any:
    """A bar for training, with steps per second and the remaining time. It has the methods of tqdm."""
    tqdm = _tqdm() if wanted else None
    if tqdm is None:
        return _NoBar(done)
    return tqdm(desc=label, total=total, initial=done, unit=" steps", unit_scale=True, dynamic_ncols=True)


@contextmanager
def bytes_bar(label: str) -> Iterator[Progress]:
    """A bar for a download. Where no bar is shown, a line for every tenth: a download may take an hour."""
    tqdm = _tqdm()
    if tqdm is None:
        yield _tenths(label)
        return
    with ExitStack() as stack:
        bar: Any = None

        def show(done: int, total: int | None) -> None:
            nonlocal bar
            if bar is None:  # only when the first bytes arrive: a failed request needs no bar
                bar = stack.enter_context(tqdm(desc=label, unit="B", unit_scale=True, unit_divisor=1024))
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


def say(text: str) -> None:
    """Print a line to stdout without breaking a bar on stderr."""
    tqdm = _tqdm()
    if tqdm is None:
        print(text)
    else:
        tqdm.write(text)
    sys.stdout.flush()
