"""Trajectories from and to Minari data sets."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewind.data.episodes import check_keys, from_episodes, only_keys, with_keys
from rewind.data.flags import flag_array, split_terminals
from rewind.data.hdf5 import check_inside
from rewind.data.parts import each_part
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError, UsageError, reading, require, warn
from rewind.files import as_path, check_file, whole_folder


def load_minari(dataset: Any, keys: Sequence[str] | None = None, name: str | None = None) -> Trajectories:
    """Trajectories from a Minari data set.

    dataset: a `MinariDataset`, or the id or the folder of one on this machine
    keys: for dict observations, the keys to concatenate, in this order; by default they stay dicts
    """
    with reading(getattr(dataset, "id", dataset), "cannot be read as a Minari data set"):
        source = _open(dataset)
        spaces = getattr(source.observation_space, "spaces", None)
        if spaces is not None and not isinstance(spaces, dict):
            raise DataError(f"observations are {type(source.observation_space).__name__}s; expected arrays")
        check_keys(keys, None if spaces is None else list(spaces))
        return _read(source, keys, name or source.id)


def is_minari(dataset: Any) -> bool:
    """Whether this is a `MinariDataset`, checked without importing Minari."""
    return hasattr(dataset, "iterate_episodes") and hasattr(dataset, "episode_indices")


def is_minari_folder(dataset: Any) -> bool:
    """Whether this is the path of the folder of a Minari data set."""
    path = as_path(dataset)
    return path is not None and (_content(path) / "metadata.json").is_file()


def _content(path: Path) -> Path:
    """The folder inside it that has the files; or itself."""
    return path if (path / "metadata.json").is_file() else path / "data"


def _open(dataset: Any) -> Any:
    if is_minari(dataset):
        return dataset
    path = Path(dataset).expanduser()
    if not path.is_dir():
        require("minari", "minari")
        path = Path(require("minari.storage.datasets_root_dir", "minari").get_dataset_path(str(dataset)))
        if not path.is_dir():
            raise DataError(
                f"no file or Minari data set '{dataset}' on this machine; to download one of Minari's: "
                f"minari download {dataset}"
            )
    folder = _content(path)
    if not (folder / "metadata.json").is_file():
        raise DataError(f"the folder {path} is not a Minari data set: it has no data/metadata.json")
    for file in folder.iterdir():
        if not file.is_dir():
            check_file(file)
    if (folder / "main_data.hdf5").exists():
        check_inside(folder / "main_data.hdf5")
    return require("minari", "minari").MinariDataset(folder)


def _read(source: Any, keys: Sequence[str] | None, name: str) -> Trajectories:
    infos: set[str] = set()
    episodes = (_episode(index, episode, keys, infos) for index, episode in enumerate(_episodes(source)))
    data = from_episodes(episodes, name, rows=source.total_steps)
    if not data.final_known.all():
        index = int(np.argmin(data.final_known))
        raise DataError(f"episode {index}: as many observations as rewards; expected one more")
    environment = getattr(getattr(source, "env_spec", None), "id", None)
    if environment is not None:
        data.notes["environment"] = environment
    if infos:
        data.notes["not_used"] = sorted(f"infos/{key}" for key in infos)
    return data if keys is None else with_keys(data, keys)


def _episodes(source: Any) -> Iterator[Any]:
    """All episodes, 100 at a time: HDF5 uses memory for every episode it has read until its file is closed."""
    indices = source.episode_indices
    for begin in range(0, len(indices), 100):
        yield from source.iterate_episodes(indices[begin : begin + 100])


def _episode(index: int, episode: Any, keys: Sequence[str] | None, infos: set[str]) -> dict[str, Any]:
    """An episode for `from_episodes`. infos: the names of what is not read, which are added"""
    infos |= set(getattr(episode, "infos", None) or ())
    if isinstance(episode.actions, (dict, tuple)):
        raise DataError(f"episode {index}: actions are a {type(episode.actions).__name__}; expected an array")
    return {
        "observations": only_keys(episode.observations, keys),
        "actions": episode.actions,
        "rewards": episode.rewards,
        **split_terminals(flag_array("terminations", episode.terminations), slice(-1, None)),
    }


def save_minari(
    trajectories: Trajectories, dataset_id: str, *, environment: Any = None, description: str | None = None
) -> Path:
    """Write a Minari data set that `load_minari` reads back to equal arrays, and return its folder.

    The data set is never half written. A Minari episode ends with the observation after its last step, so a last step
    whose successor was not recorded is left out, and a warning gives the number of such episodes.

    dataset_id: "namespace/name-v0"; must not exist yet
    environment: the Gymnasium environment to evaluate on, its id or its spec
    """
    minari = require("minari", "minari")
    storage = require("minari.dataset.minari_storage", "minari").MinariStorage
    folder = Path(require("minari.storage.datasets_root_dir", "minari").get_dataset_path(dataset_id))
    try:
        minari.dataset.minari_dataset.parse_dataset_id(dataset_id)
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"'{dataset_id}' is not a Minari id; expected 'namespace/name-v0', with a namespace of 2 letters or more"
        ) from error
    if folder.exists():
        raise UsageError(f"the Minari data set '{dataset_id}' already exists in {folder}; choose another version")
    namespace = dataset_id.rpartition("/")[0]
    namespaces = require("minari.namespace", "minari")
    if namespace and namespace not in namespaces.list_local_namespaces():
        namespaces.create_namespace(namespace)
    spec = getattr(environment, "spec", environment)
    if isinstance(environment, str):
        spec = require("gymnasium", "minari").spec(environment)
    with whole_folder(folder) as temporary:
        (temporary / "data").mkdir()
        new = storage.new(
            temporary / "data",
            observation_space=_space(trajectories.observations),
            action_space=_space(trajectories.actions),
            env_spec=spec,
            jpeg_encoding=False,
        )
        new.update_metadata(
            {
                "dataset_id": dataset_id,
                "minari_version": minari.__version__,
                "description": description or json.dumps({"name": trajectories.name, "notes": trajectories.notes}),
            }
        )
        new.update_episodes(_buffers(trajectories))
    return folder


def _buffers(data: Trajectories) -> Iterator[Any]:
    buffer = require("minari.data_collector", "minari").EpisodeBuffer
    if shortened := int(np.count_nonzero(data.transitions < data.lengths)):
        warn(f"the last step of {shortened:,} of {len(data):,} trajectories is left out: its successor is unknown")
    if data.extras:
        warn(f"{', '.join(data.extras)} are left out: a Minari data set has no place for extras")
    terminals = data.terminals
    for start, length in zip(data.starts, data.transitions, strict=True):
        if length == 0:
            continue
        rows = slice(start, start + length)
        final = data.successors(np.array([start + length - 1]))
        truncations = np.zeros(length, bool)
        truncations[-1] = not terminals[start + length - 1]
        yield buffer(
            observations=each_part(
                lambda part, last, rows=rows: np.concatenate([part[rows], last]), data.observations, final
            ),
            actions=data.actions[rows],
            rewards=data.rewards[rows],
            terminations=terminals[rows],
            truncations=truncations,
        )


def _space(array: Any) -> Any:
    """A space for these values: Discrete, MultiBinary, a Box without bounds, or a Dict of those."""
    spaces = require("gymnasium", "minari").spaces
    if isinstance(array, dict):
        return spaces.Dict(each_part(_space, array))
    if array.ndim == 1 and array.dtype.kind in "iu" and array.min() >= 0:
        return spaces.Discrete(int(array.max()) + 1, dtype=array.dtype)
    if array.dtype.kind == "b":
        return spaces.MultiBinary(array.shape[1:])
    bounds = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
    low, high = (-np.inf, np.inf) if bounds is None else (bounds.min, bounds.max)
    return spaces.Box(low, high, array.shape[1:], array.dtype)
