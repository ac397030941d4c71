"""For the tests of all plug-ins."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small are slower on several threads, and far slower on a busy machine."""
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)
    yield
