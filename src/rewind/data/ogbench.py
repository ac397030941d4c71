"""Trajectories from data in OGBench's form, whose `terminals` are not D4RL's.

    observations        s0  s1  s2  s3  s4 | s0 ...      T + 1 rows of a trajectory with T transitions
    terminals           0   0   0   0   1  | 0           the trajectory is over: by a time-out
    masks               1   0   0   1   1  | 1           0: a terminal, y = r. The trajectory continues after it
    successor           s1  s2  s3  s4  -  | s1          the last row is no transition, its action led nowhere

`ogbench.load_dataset` also returns two other forms: with `next_observations`, T rows each; and with `valids`, 0 where a
row is no transition, and `terminals` in the last two rows.

A file has no rewards, but the state of the simulator (`qpos`). OGBench's own relabeller adds `rewards` and `masks` of
one of five tasks, or of the default task.
"""

import json
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.boundaries import from_d4rl, required
from rewind.data.catalogue import known_entry
from rewind.data.flags import TIMEOUTS, row_flags, split_terminals
from rewind.data.header import ALTERED, read_header
from rewind.data.originals import cache_folder
from rewind.data.trajectories import Trajectories, rows_of
from rewind.errors import DataError, UsageError, reading, require
from rewind.files import Npz, arrays_digest, as_path, whole_file

REBUILT = "rewind/ogbench-"
BOUNDARIES = "OGBench's"  # in the notes: trajectories are cut, even where the last row is a terminal
# cube-single-play-v0, cube-single-play-singletask-v0, cube-single-play-singletask-task2-v0
NAME = re.compile(
    r"(?P<task>[a-z0-9-]+)-(?P<kind>play|noisy|navigate|stitch|explore)"
    r"(?P<single>-singletask)?(?P<number>-task[1-5])?-v0"
)


def is_ogbench(data: Any) -> bool:
    """Whether these are columns in OGBench's form, which has no time-outs: there, D4RL's flags count."""
    if not isinstance(data, Mapping) or "terminals" not in data or any(name in data for name in TIMEOUTS):
        return False
    return "masks" in data or "valids" in data or ("qpos" in data and "rewards" not in data)


def from_ogbench(data: Mapping[str, Any], name: str | None = None) -> Trajectories:
    """Trajectories from columns in any of OGBench's forms.

    name: as OGBench names the data set; it says how to reward data without rewards
    """
    unused = set(map(str, data)) - {"header", "next_observations"}
    if "rewards" not in data:
        data = relabelled(data, name)
        unused -= {"qpos", "button_states"}  # what the relabeller reads
    columns = required(data, ("observations", "actions", "rewards"))
    rows = len(columns["rewards"])
    columns_of_flags = ("terminals", "valids", "masks")
    flags: dict[str, Any] = {name: row_flags(data, [name], rows) for name in columns_of_flags if name in data}
    terminals = ~flags["masks"] if "masks" in flags else np.zeros(rows, bool)
    environment = environment_id(name)
    notes: dict[str, Any] = {"boundaries": BOUNDARIES, **({} if environment is None else {"environment": environment})}
    if unused := unused - {*columns, *flags}:
        notes["not_used"] = sorted(unused)
    if "next_observations" in data:
        flat = {**columns, "terminals": terminals, "timeouts": flags["terminals"]}
        flat["next_observations"] = data["next_observations"]
        return replace(from_d4rl(flat, name, boundaries="timeouts_only"), notes=notes)
    over = ~flags["valids"] if "valids" in flags else flags["terminals"].copy()
    over[-1] = True  # nothing follows the last row
    return replace(_without_last_rows(columns, terminals, np.flatnonzero(over)), name=name, notes=notes)


def _without_last_rows(columns: dict[str, Any], terminals: Array, last: Array) -> Trajectories:
    """last: the rows that only hold the final observation of a trajectory"""
    lengths = np.diff(last, prepend=-1) - 1
    last, lengths = last[lengths > 0], lengths[lengths > 0]  # a single row is no transition
    if not lengths.size:
        raise DataError("the data is empty: expected at least one trajectory with at least one transition")
    kept = rows_of(last - lengths, lengths)
    return Trajectories(
        **{name: column[kept] for name, column in columns.items()},
        **split_terminals(terminals[kept], np.cumsum(lengths) - 1),
        lengths=lengths,
        final_observations=columns["observations"][last],
        final_known=np.ones(len(last), bool),
    )


def parsed_name(name: str | None) -> re.Match[str] | None:
    return NAME.fullmatch((name or "").removeprefix(REBUILT))


def environment_id(name: str | None) -> str | None:
    """OGBench's id of the environment of a data set's task, None for any other name."""
    return f"{parts['task']}-singletask{parts['number'] or ''}-v0" if (parts := parsed_name(name)) else None


def family_of(name: str | None) -> str | None:
    """What an OGBench data set has in common with those of its other tasks, such as cube-single-play."""
    return f"{parts['task']}-{parts['kind']}" if (parts := parsed_name(name)) else None


def ogbench_family(name: str | None) -> str | None:
    """The environment whose tasks have the same shapes, such as `cube-single`; None if it is not OGBench's."""
    return parts["task"] if (parts := parsed_name(name)) else None


def suite_of(name: str | None) -> str | None:
    """The suite of a data set that is known by its name: the catalogue's, or ogbench."""
    if (published := known_entry(name)) is not None:
        return published.suite
    return "ogbench" if parsed_name(name) else None


def package_env(name: str, **options: Any) -> Any:
    """An environment of OGBench's package. Its warnings about missing screens and rounded bounds are ignored."""
    for about in ("DISPLAY", "precision lowered"):
        warnings.filterwarnings("ignore", message=f".*{about}")
    require("ogbench", "ogbench")
    gymnasium = require("gymnasium", "ogbench")
    if name not in gymnasium.registry:
        raise UsageError(f"OGBench has no environment {name!r}")
    return gymnasium.make(name, **options)


def relabelled(data: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    """The columns with `rewards` and `masks` of the task that a name ends with, from OGBench's own relabeller."""
    environment = environment_id(name)
    if environment is None or "qpos" not in data:
        raise DataError(
            f"{name or 'the data'} has no rewards. Files with qpos that are named as OGBench names them, such as "
            "cube-single-play-v0.npz, are rewarded by their task; others need rewards and masks "
            "(ogbench.relabel_utils)"
        )
    env = package_env(environment)
    states = {column: np.asarray(data[column]) for column in ("qpos", "button_states") if column in data}
    require("ogbench.relabel_utils", "ogbench").relabel_dataset(environment, env, states)
    env.close()
    columns = ("observations", "actions", "terminals", "valids", "next_observations")
    return {column: data[column] for column in columns if column in data} | states


# Files


def is_task(dataset: Any) -> bool:
    """Whether this names a task of a file: `cube-single-play-singletask-task2-v0`, with or without a folder."""
    path = as_path(dataset)
    return path is not None and (parts := NAME.fullmatch(path.name)) is not None and parts["single"] is not None


def load_task(dataset: str | os.PathLike[str]) -> Trajectories:
    """A task of `cube-single-play-v0.npz`, in the folder that is named, or else in the cache folder or OGBench's."""
    path = Path(dataset).expanduser()
    file = re.sub(r"-singletask(-task\d)?", "", path.name) + ".npz"
    folders = [path.parent] if path.parent != Path() else [cache_folder(), Path("~/.ogbench/data").expanduser()]
    for folder in folders:
        if (folder / file).is_file():
            return load_ogbench(Npz(folder / file), path.name)
    raise DataError(f"{path.name} is a task of {file}, which is not in {' or '.join(map(str, folders))}")


def load_ogbench(file: Npz, name: str | None = None) -> Trajectories:
    """A file in OGBench's form; with a header, if `save_ogbench` wrote it.

    name: of the data set with its task; default: the file's, whose task is the default one
    """
    with reading(file.path, "cannot be read"):
        header = read_header(file.get("header", "{}"), file.path.stem)
        digest = header["notes"].pop("digest", None)
        if digest is not None and digest != columns_digest(file):
            raise DataError(ALTERED)
        data = from_ogbench(file, name or header["name"])
    notes = {**header["notes"], **data.notes}
    return replace(data, notes=notes if digest is None else {**notes, "digest": data.digest})


def save_ogbench(columns: Mapping[str, Array], name: str, notes: Mapping[str, Any], path: Path) -> None:
    """Write a file that `load_ogbench` and OGBench's own loader read. It has the digest of its columns."""
    header = json.dumps({"name": name, "notes": {**notes, "digest": columns_digest(columns)}})
    arrays: dict[str, Any] = {"header": np.array(header), **columns}
    with whole_file(path) as temporary, temporary.open("wb") as opened:
        np.savez(opened, **arrays)


def columns_digest(columns: Mapping[str, Array]) -> str:
    """SHA-256 of all columns."""
    return arrays_digest((name, columns[name]) for name in sorted(set(columns) - {"header"}))
