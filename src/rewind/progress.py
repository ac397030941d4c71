"""A progress bar for people who wait."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from typing import Any, TypeVar

Item = TypeVar("Item")


def progress(items: Iterable[Item], label: str, total: int | None = None) -> Iterable[Item]:
    """The same items, with a bar on stderr while they are used up.

    There is no bar without tqdm or where stderr is no terminal: a log file wants results, not their making.

    total: how many there are, where `items` cannot say
    """
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ImportError:
        return items
    bar: Iterable[Item] = tqdm(items, desc=label, total=total, disable=None, leave=False, dynamic_ncols=True)
    return bar


class _NoBar:
    """Stands in where there is no bar to show; messages still go to stderr."""

    n = 0

    def update(self, steps: int) -> None:
        self.n += steps

    def set_postfix_str(self, text: str) -> None:
        pass

    def write(self, text: str) -> None:
        print(text, file=sys.stderr)

    def close(self) -> None:
        pass


def steps_bar(label: str, total: int, done: int, wanted: bool = True) -> Any:
    """A bar for training: steps per second and the time left, with tqdm's methods."""
    nothing = _NoBar()
    nothing.n = done
    if not wanted or not sys.stderr.isatty():
        return nothing
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ImportError:
        return nothing
    return tqdm(desc=label, total=total, initial=done, unit=" steps", unit_scale=True, dynamic_ncols=True)


def say(text: str) -> None:
    """A line on stdout that leaves a bar on stderr whole."""
    try:
        importlib.import_module("tqdm").tqdm.write(text)
    except ImportError:
        print(text)
    sys.stdout.flush()
