"""One door for everything that can be loaded: `load` asks the readers in turn, Rewind's own and other packages'."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from rewind.data.boundaries import Boundaries, from_d4rl
from rewind.data.catalogue import catalogue, entry_of_file
from rewind.data.columns import OPTIONS, as_names
from rewind.data.episodes import from_episodes, is_episode, with_keys
from rewind.data.folder import is_folder, load_folder
from rewind.data.hdf5 import load_hdf5
from rewind.data.lerobot import is_lerobot, load_lerobot
from rewind.data.minari_sets import is_minari, is_minari_folder, load_minari
from rewind.data.npz import load_npz
from rewind.data.ogbench import from_ogbench, is_ogbench, is_task, load_task
from rewind.data.originals import get
from rewind.data.rllib import is_rllib, load_rllib
from rewind.data.robomimic import is_robomimic, load_robomimic
from rewind.data.table_files import SUFFIXES
from rewind.data.tables import load_table
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError, RewindError, UsageError, one_line, reading, unknown_name, warn
from rewind.files import as_path
from rewind.registry import Registry

RULE = ("boundaries", "merge_fragments", "extras")
FLAT = (*RULE, "keys")


@dataclass(frozen=True)
class Reader:
    """One kind of data that `load` takes.

    read: the trajectories of a data set, and those of the options of `load` that are named in `options`
    suffixes: of the files that it reads, as ".csv"
    reads: whether it reads a data set that is known by something else
    names: the data sets that it knows by name, for error messages
    """

    read: Callable[..., Trajectories]
    suffixes: tuple[str, ...] = ()
    reads: Callable[[Any], bool] = lambda dataset: False
    options: tuple[str, ...] = ()
    names: Callable[[], Iterable[str]] = tuple

    def accepts(self, dataset: Any) -> bool:
        path = as_path(dataset)
        return (path is not None and path.suffix.lower() in self.suffixes) or self.reads(dataset)


def load(
    dataset: Any,
    *,
    boundaries: Boundaries | None = None,
    merge_fragments: bool | None = None,
    keys: str | Sequence[str] | None = None,
    extras: str | Sequence[str] | None = None,
    **options: Any,
) -> Trajectories:
    """Trajectories from whatever holds them.

    dataset: Trajectories; a D4RL-style dict; a Minari data set, or its id; an episode or a list of them; the path of a
        .csv, .parquet, .hdf5, .npz or RLlib's .json file, of a Minari, LeRobot or RLlib folder or of one written by
        `convert`; the name of a catalogued data set, whose file is downloaded if it is missing; that of a rebuilt one
        (`rewind/...`), which is built if it is missing; or what a reader of another package takes
    boundaries, merge_fragments: how to find trajectories in flat data, as in `from_d4rl`; a catalogued data set has its
        own rule, anything else is read by its flags
    keys: for dict observations, the keys to put side by side, in this order; by default they stay dicts (robomimic's
        files need a choice)
    extras: names of further columns to keep, such as costs: batches carry them
    options: of one kind of data. Tables take episode, time, observations, actions, reward, terminal, truncated,
        next_observations, horizon, discrete and map, as in `load_table`; LeRobot's folders take reward and
        horizon, RLlib's files horizon, robomimic's files mask
    """
    names = {"keys": keys, "extras": extras}
    given = {"boundaries": boundaries, "merge_fragments": merge_fragments, **options}
    given |= {name: as_names(value, name) for name, value in names.items() if value is not None}  # one may be a text
    options = {name: value for name, value in given.items() if value is not None}
    if isinstance(dataset, Trajectories):
        _check_options(options, ("keys",))
        return with_keys(dataset, options["keys"]) if options else dataset
    try:
        for reader in chain(_readers(), LAST):
            if reader.accepts(dataset):
                _check_options(options, reader.options)
                return reader.read(dataset, **options)
    except OSError as error:  # a name that is too long, a file that may not be read
        if isinstance(error, RewindError) or as_path(dataset) is None:
            raise
        raise DataError(f"{os.fspath(dataset)[:200]} cannot be read: {error.strerror or error}") from error
    raise _unreadable(dataset)


def _readers() -> Iterator[Reader]:
    """Those of other packages may raise and return anything: what goes wrong is named."""
    for name, reader in READERS.importable():
        yield reader if READERS.is_own(name) else _foreign(name, reader)


def _foreign(name: str, reader: Reader) -> Reader:
    def read(dataset: Any, **options: Any) -> Trajectories:
        path = as_path(dataset) or type(dataset).__name__
        with reading(path, f"cannot be read by the reader {name!r}"):
            data = reader.read(dataset, **options)
        if not isinstance(data, Trajectories):
            raise DataError(
                f"the reader {name!r} made a {type(data).__name__} of {path}; expected Trajectories, as from "
                "rewind.data.from_episodes"
            )
        return data

    def reads(dataset: Any) -> bool:
        try:
            return reader.reads(dataset)
        except Exception as error:
            warn(f"the reader {name!r} does not know whether it reads {type(dataset).__name__}: {one_line(error)}")
            return False

    return replace(reader, read=read, reads=reads)


def _check_options(options: Iterable[str], accepted: Sequence[str]) -> None:
    if extra := [name for name in options if name not in accepted]:
        takes = f"; it takes {', '.join(accepted)}" if accepted else ""
        raise UsageError(f"{' and '.join(extra)} makes no sense for this kind of data: leave it out{takes}")


def _unreadable(dataset: Any) -> RewindError:
    path = as_path(dataset)
    if path is None:
        return DataError(
            f"cannot read trajectories from {type(dataset).__name__}; expected Trajectories, a D4RL-style dict, a "
            "Minari data set, a list of episodes, a path, or the name of a catalogued data set"
        )
    suffixes = [suffix for reader in _readers() for suffix in reader.suffixes]
    if path.is_dir():
        files = sorted(file for file in path.glob("*") if file.suffix.lower() in suffixes)
        return DataError(
            f"{path} is not a folder that can be read; expected one of Minari's (data/metadata.json), LeRobot's "
            "(meta/info.json) or RLlib's (output-*.json), or one that rewind data convert has written (rewind.json)"
            + (f"; of its files give one, such as {files[0]}" if files else "")
        )
    if path.is_file():
        return DataError(
            f"{path}: unknown kind of file '{path.suffix.lower()}'; known: {', '.join(suffixes)}, and Minari, LeRobot "
            "and RLlib folders. Save a table of steps as .csv or .parquet: docs/data.md, tables"
        )
    if path.is_absolute():
        return DataError(f"no file or folder {path}")
    return _unknown(os.fspath(dataset))


def _unknown(name: str) -> UsageError:
    return unknown_name("data set", name, _names(), where="known: rewind data list")


def _names() -> list[str]:
    return [name for reader in _readers() for name in reader.names()]


# Rewind's own readers


def _by_keys(read: Callable[..., Trajectories]) -> Callable[..., Trajectories]:
    """The same reader with the option `keys`."""

    def read_keys(dataset: Any, keys: Sequence[str] | None = None, **options: Any) -> Trajectories:
        data = read(dataset, **options)
        return data if keys is None else with_keys(data, keys)

    return read_keys


def _catalogued(name: str, path: Path | None = None, **rule: Any) -> Trajectories:
    """By the catalogue's rule for this data set. path: its file, where it is not in the cache folder"""
    published = catalogue()[name]
    usual = {"boundaries": published.boundaries, "merge_fragments": published.merge_fragments}
    return load_hdf5(path or get(name), name, **(usual | rule))


@_by_keys
def read_hdf5(dataset: Any, **rule: Any) -> Trajectories:
    path = Path(dataset).expanduser()
    published = entry_of_file(path.name)
    return load_hdf5(path, **rule) if published is None else _catalogued(published.name, path, **rule)


def _is_minari_id(dataset: Any) -> bool:
    path = as_path(dataset)
    return path is not None and "/" in os.fspath(dataset) and not (path.is_absolute() or path.exists())


def _minari_id(dataset: Any, keys: Sequence[str] | None = None) -> Trajectories:
    name = os.fspath(dataset)
    try:
        return load_minari(name, keys)
    except RewindError:
        if any(name.startswith(listed.rpartition("/")[0] + "/") for listed in _names() if "/" in listed):
            raise _unknown(name) from None  # of a family that we know
        raise


READERS: Registry[Reader] = Registry(
    "reader",
    "rewind.readers",
    {
        "episode": Reader(
            _by_keys(lambda episode, **extras: from_episodes([episode], **extras)),
            reads=is_episode,
            options=("extras", "keys"),
        ),
        "ogbench": Reader(from_ogbench, reads=is_ogbench),
        "ogbench task": Reader(load_task, reads=is_task),
        "dict": Reader(_by_keys(from_d4rl), reads=lambda data: isinstance(data, Mapping), options=FLAT),
        "catalogued": Reader(
            lambda name, **rule: _catalogued(os.fspath(name), **rule),
            reads=lambda name: as_path(name) is not None and os.fspath(name) in catalogue(),
            options=RULE,
            names=catalogue,
        ),
        "rebuilt": "rewind.rebuilt.reader:READER",
        "minari": Reader(load_minari, reads=is_minari, options=("keys",)),
        "lerobot": Reader(load_lerobot, reads=is_lerobot, options=("keys", "reward", "horizon", "extras")),
        "folder": Reader(_by_keys(load_folder), reads=is_folder, options=("keys",)),
        "rllib": Reader(load_rllib, (".json",), reads=is_rllib, options=("horizon", "extras")),
        "minari folder": Reader(load_minari, reads=is_minari_folder, options=("keys",)),
        "robomimic": Reader(load_robomimic, reads=is_robomimic, options=("keys", "mask", "extras")),
        "hdf5": Reader(read_hdf5, (".hdf5", ".h5"), options=FLAT),
        "npz": Reader(_by_keys(load_npz), (".npz",), options=FLAT),
        "table": Reader(load_table, SUFFIXES, options=OPTIONS),
    },
    kind=Reader,
)
# What takes anything comes last, after the readers of other packages.
LAST = (
    Reader(
        _by_keys(from_episodes),
        reads=lambda data: isinstance(data, Iterable) and as_path(data) is None,
        options=("extras", "keys"),
    ),
    Reader(_minari_id, reads=_is_minari_id, options=("keys",)),
)
