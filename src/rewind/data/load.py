"""One door for everything that can be loaded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rewind.data.boundaries import Boundaries, from_d4rl
from rewind.data.catalogue import Entry, catalogue, entry_of_file
from rewind.data.episodes import from_episodes
from rewind.data.hdf5 import load_hdf5
from rewind.data.minari_sets import is_minari, load_minari
from rewind.data.npz import load_npz
from rewind.data.originals import get
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError, RewindError, UsageError, unknown_name
from rewind.rebuilt.recipes import find_recipe, recipes


def load(
    dataset: Any,
    *,
    boundaries: Boundaries | None = None,
    merge_fragments: bool | None = None,
    keys: Sequence[str] | None = None,
) -> Trajectories:
    """Trajectories from whatever holds them.

    dataset: Trajectories; a D4RL-style dict; a Minari data set, or its id; a list of episodes; the path of an .hdf5 or
        .npz file or of a Minari folder; the name of a catalogued data set, whose file is brought if it is not here;
        or that of a rebuilt one (`rewind/...`), which is built if it is not here
    boundaries, merge_fragments: how to find trajectories in flat data, as in `from_d4rl`; a catalogued data set has its
        own rule, anything else is read by its flags
    keys: for dict observations (Minari), the keys to put side by side, in this order
    """
    rule = _given(boundaries=boundaries, merge_fragments=merge_fragments)
    if isinstance(dataset, Mapping):
        _leave_out(keys=keys)
        return from_d4rl(dataset, **rule)
    if isinstance(dataset, (str, os.PathLike)):
        return _load_named(os.fspath(dataset), rule, keys)
    _leave_out(**rule)
    if is_minari(dataset):
        return load_minari(dataset, keys)
    _leave_out(keys=keys)
    if isinstance(dataset, Trajectories):
        return dataset
    if isinstance(dataset, Iterable):
        return from_episodes(dataset)
    raise DataError(
        f"cannot read trajectories from {type(dataset).__name__}; expected Trajectories, a D4RL-style dict, a Minari "
        "data set, a list of episodes, a path, or the name of a catalogued data set"
    )


def _load_named(name: str, rule: dict[str, Any], keys: Sequence[str] | None) -> Trajectories:
    if name in catalogue():
        _leave_out(keys=keys)
        return _load_catalogued(get(name), catalogue()[name], rule)
    if name in recipes():
        _leave_out(**rule, keys=keys)
        from rewind.rebuilt.build import load_rebuilt  # simulators are needed only where data is made

        return load_rebuilt(name)
    path = Path(name).expanduser()
    if path.is_dir():
        _leave_out(**rule)
        return load_minari(path, keys)
    kind = path.suffix.lower()
    if kind in (".npz", ".hdf5", ".h5"):
        _leave_out(keys=keys)
        if kind == ".npz":
            return load_npz(path, **rule)
        known = entry_of_file(path.name)
        return load_hdf5(path, **rule) if known is None else _load_catalogued(path, known, rule)
    if path.is_file():
        raise DataError(
            f"{path}: unknown kind of file '{kind}'; known: .hdf5, .h5, .npz, and Minari folders. "
            "How a table of steps becomes one: docs/data.md, a log of your own"
        )
    if path.is_absolute():
        raise DataError(f"no file or folder {path}")
    if "/" in name:
        _leave_out(**rule)
        try:
            return load_minari(name, keys)
        except RewindError:
            if name.startswith("rewind/"):
                find_recipe(name)  # which says what there is
            raise
    raise unknown_name("data set", name, [*catalogue(), *recipes()], where="known: rewind data list")


def _load_catalogued(path: Path, known: Entry, rule: dict[str, Any]) -> Trajectories:
    own = {"boundaries": known.boundaries, "merge_fragments": known.merge_fragments}
    return load_hdf5(path, known.name, **(own | rule))


def _given(**options: Any) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def _leave_out(**options: Any) -> None:
    if given := _given(**options):
        raise UsageError(f"{' and '.join(given)} makes no sense for this kind of data: leave it out")
