"""Trajectories from the JSON files that RLlib's `JsonWriter` writes, a batch of steps on each line, without RLlib.

    {"type": "SampleBatch", "eps_id": [7, 7, ...], "t": [0, 1, ...], "obs": [[...], ...], "actions": [...],
     "rewards": [...], "terminateds": [...], "truncateds": [...], "new_obs": [[...], ...], ...}

Files of earlier versions have dones. An episode may continue on another line. Unsorted rows and dones are treated as in
tables (`table_rows`). A packed column is a text, a compressed pickle: it is never opened.
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.columns import ColumnMap
from rewind.data.flags import flag_array
from rewind.data.table_rows import TableRows, assemble
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError, naming, one_line
from rewind.files import as_path, check_file

OUTPUT = "output-*.json"  # the writer's files in its folder
NEEDED, FLAGS, EPISODE = (
    ("obs", "actions", "rewards"),
    ("terminateds", "truncateds", "dones"),
    ("eps_id", "agent_index"),
)
COLUMNS = (*NEEDED, "new_obs", "t", *EPISODE, *FLAGS)
ENDS = ("eps_id", "t", "new_obs", "truncateds", "dones")  # each of them shows where trajectories end


def is_rllib(dataset: Any) -> bool:
    """Whether this is the path of a folder that RLlib's writer wrote to."""
    path = as_path(dataset)
    return path is not None and any(path.glob(OUTPUT))


def load_rllib(path: str | os.PathLike[str], horizon: int | None = None, extras: Sequence[str] = ()) -> Trajectories:
    """Trajectories from a file of RLlib's, or a folder of them.

    horizon: a done at this step is a time-out, as for tables
    extras: further columns to keep, such as action_logp
    """
    path = Path(path).expanduser()
    try:
        return _read(sorted(path.glob(OUTPUT)) if path.is_dir() else [path], path.stem, horizon, extras)
    except DataError as error:
        raise naming(path, error) from error


def _read(paths: list[Path], name: str, horizon: int | None, extras: Sequence[str]) -> Trajectories:
    batches: list[dict[str, Array]] = []
    places: list[str] = []
    named: dict[str, None] = {}
    for where, line in _lines(paths):
        try:
            batch = _batch(json.loads(line), extras)
            named |= dict.fromkeys(batch)
            batches.append({key: _column(key, batch[key]) for key in (*COLUMNS, *extras) if key in batch})
            _check(batches[-1], batches[0], extras)
        except DataError as error:
            raise DataError(f"{where}: {error}") from error
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: invalid JSON (cut or damaged): {one_line(error)}") from error
        places.append(where)
    if not sum(len(batch["rewards"]) for batch in batches):
        raise DataError("the file has no steps: expected at least one line with a batch")
    lengths = [len(batch["rewards"]) for batch in batches]
    last = np.cumsum(lengths)

    def place(row: int) -> str:
        line = int(np.searchsorted(last, row, side="right"))
        return f"{places[line]} step {row - last[line] + lengths[line]}"

    if not any(key in batches[0] for key in ENDS):
        raise DataError(f"the ends of its trajectories are unknown; expected one of the columns {', '.join(ENDS)}")
    columns = {key: np.concatenate([batch.pop(key) for batch in batches]) for key in tuple(batches[0])}
    terminal = next((key for key in ("terminateds", "dones") if key in columns), None)
    roles = ColumnMap(
        episode="eps_id" if "eps_id" in columns else None,
        time="t" if "t" in columns else None,
        actions=("actions",),
        reward="rewards",
        next_observations=("new_obs",),
        terminal=terminal,
        truncated="truncateds" if "truncateds" in columns else None,
        horizon=horizon,
    )
    rows = _rows(columns, terminal)
    rows.extras = {key: columns[key] for key in extras}
    data = assemble(rows, roles, place, name)
    if unused := [key for key in named if key not in (*COLUMNS, *extras, "type")]:
        data.notes["not_used"] = unused
    return data


def _lines(paths: list[Path]) -> Iterator[tuple[str, str]]:
    for path in paths:
        check_file(path)
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}, line {number}", line


def _batch(content: Any, extras: Sequence[str]) -> dict[str, Any]:
    """The columns on one line. RLlib writes a batch of several policies where there are several agents."""
    kind = content.get("type") if isinstance(content, dict) else None
    if kind == "MultiAgentBatch" and isinstance(policies := content.get("policy_batches"), dict):
        if len(policies) != 1:
            raise DataError(f"steps of {len(policies)} policies ({', '.join(policies)}): write a file for each policy")
        (content,) = policies.values()
    elif kind != "SampleBatch":
        raise DataError('not a batch of RLlib\'s: expected {"type": "SampleBatch", "obs": ...} on each line')
    if missing := [key for key in (*NEEDED, *extras) if key not in content]:
        raise DataError(f"missing {', '.join(missing)}; the batch has: {', '.join(content)}")
    return dict(content)


def _column(name: str, value: Any) -> Array:
    texts = value if isinstance(value, list) and name != "eps_id" else [value]
    if any(isinstance(text, str) for text in texts):
        raise DataError(
            f"{name} is packed (a compressed pickle, which Rewind never opens); write it plainly with RLlib's "
            "JsonWriter(path, compress_columns=[]), or offline_data(output_compress_columns=[]) in its configuration"
        )
    if isinstance(value, list) and None in value:
        raise DataError(f"step {value.index(None)}, column {name}: null; expected a number for each step")
    try:
        array = np.asarray(value)
    except ValueError:
        raise DataError(f"{name} has steps of different shapes") from None
    if not array.ndim or array.dtype.kind not in ("biufU" if name == "eps_id" else "biuf"):
        raise DataError(f"{name} holds {array.dtype}; expected numbers for each step")
    if name in FLAGS:
        return flag_array(name, array)
    if array.ndim == 1 and name in ("obs", "new_obs"):
        array = array[:, None].astype(np.float32)
    with np.errstate(over="ignore"):  # what becomes infinite is an error later
        return array.astype(np.float32) if array.dtype.kind == "f" and name != "t" else array


def _check(batch: dict[str, Array], first: dict[str, Array], extras: Sequence[str]) -> None:
    """Against itself, and against the first line."""
    if other := sorted(batch.keys() ^ first.keys()):
        raise DataError(f"{other[0]} is on this line or on the first one, but not on both")
    wide = ("obs", "new_obs", "actions", *extras)
    for name, array in batch.items():
        if len(array) != len(batch["rewards"]) or (array.ndim > 1 and name not in wide):
            raise DataError(f"{name} has shape {array.shape}, but there are {len(batch['rewards']):,} rewards")
        if array.shape[1:] != first[name].shape[1:]:
            raise DataError(
                f"{name} has shape {array.shape[1:]} in each step, on the first line {first[name].shape[1:]}"
            )


def _rows(columns: dict[str, Array], terminal: str | None) -> TableRows:
    actions, rewards = columns["actions"], columns["rewards"].astype(np.float32)
    discrete = actions.dtype.kind != "f" and actions.size == len(actions)
    actions = actions.reshape(-1).astype(np.int64) if discrete else actions.reshape(len(actions), -1).astype(np.float32)
    successors = columns.get("new_obs")
    unknown = np.zeros(0) if successors is None else ~np.isfinite(successors.reshape(len(rewards), -1)).all(axis=1)
    finite = np.isfinite(rewards) & np.isfinite(actions.reshape(len(actions), -1)).all(axis=1)
    return TableRows(
        observations=columns["obs"],
        actions=actions,
        rewards=rewards,
        unfinished=np.flatnonzero(~finite),
        unknown=np.flatnonzero(unknown),
        next_observations=successors,
        episode=_episodes([columns[key] for key in EPISODE if key in columns]) if "eps_id" in columns else None,
        time=columns.get("t"),
        terminals=None if terminal is None else columns[terminal],
        truncated=columns.get("truncateds"),
    )


def _episodes(keys: list[Array]) -> Array:
    """(rows,) the number of each row's episode, in the order of their first rows: one for each agent of an id."""
    codes = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        values, inverse = np.unique(key, return_inverse=True)
        codes = codes * len(values) + inverse
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[codes])
