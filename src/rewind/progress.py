"""A progress bar for people who wait."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TypeVar

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
