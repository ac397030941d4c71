"""One door for everything that can be loaded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rewind.data.boundaries import from_d4rl
from rewind.data.episodes import from_episodes
from rewind.data.npz import load_npz
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError


def load(dataset: Any) -> Trajectories:
    """Trajectories from whatever holds them: Trajectories, a D4RL-style dict, a list of episodes, or a path."""
    if isinstance(dataset, Trajectories):
        return dataset
    if isinstance(dataset, Mapping):
        return from_d4rl(dataset)
    if isinstance(dataset, (str, os.PathLike)):
        return _load_file(Path(dataset))
    if isinstance(dataset, Iterable):
        return from_episodes(dataset)
    raise DataError(
        f"cannot read trajectories from {type(dataset).__name__}; "
        "expected Trajectories, a D4RL-style dict, a list of episodes, or a path"
    )


def _load_file(path: Path) -> Trajectories:
    if path.suffix == ".npz":
        return load_npz(path)
    raise DataError(f"{path}: unknown kind of file '{path.suffix}'; known: .npz")
