"""Where trajectories end in flat logged data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewind.data.checks import CHUNK_ROWS, check_finite, storage_array
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError

Array = NDArray[Any]


def from_d4rl(data: Mapping[str, Any], name: str | None = None) -> Trajectories:
    """Trajectories from a D4RL-style dict: observations, actions, rewards, terminals, timeouts[, next_observations].

    A trajectory ends where `terminals` or `timeouts` says so; where both do, terminal wins. Without `timeouts`, but
    with `next_observations`, it also ends where the next row is not the successor: that brings back the boundaries
    that D4RL's `qlearning_dataset` drops.
    """
    flat = _required(data, ("observations", "actions", "rewards", "terminals"))
    rows = len(flat["rewards"])
    terminals = _flags(flat["terminals"], "terminals", rows)
    successors = storage_array("next_observations", data["next_observations"]) if "next_observations" in data else None
    if "timeouts" in data:
        cuts = _flags(data["timeouts"], "timeouts", rows)
    elif successors is not None:
        cuts = ~_chained(flat["observations"], successors)
    else:
        raise DataError(
            "the data has neither 'timeouts' nor 'next_observations', so nobody can tell where its trajectories end; "
            "add 'timeouts' (all False if every trajectory ends with a terminal)"
        )
    ends = terminals | cuts
    ends[-1] = True
    _check_chain(flat["observations"], successors, ends)
    last = np.flatnonzero(ends)
    terminated = terminals[last]
    final_known = np.full(len(last), successors is not None)
    finals = (flat["observations"] if successors is None else successors)[last]
    return Trajectories(
        observations=flat["observations"],
        actions=flat["actions"],
        rewards=flat["rewards"],
        lengths=np.diff(last, prepend=-1),
        terminated=terminated,
        final_observations=finals,
        final_known=final_known,
        name=name,
        notes={"boundaries": "flags" if "timeouts" in data else "terminals and breaks in next_observations"},
    )


def _required(data: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Array]:
    missing = [key for key in keys if key not in data]
    if missing:
        raise DataError(f"missing {', '.join(missing)}; the data has: {', '.join(sorted(map(str, data))) or 'nothing'}")
    flat = {key: storage_array(key, data[key]) for key in keys}
    rows = len(flat["rewards"])
    if rows == 0:
        raise DataError("the data is empty: expected at least one trajectory with at least one step")
    for key, array in flat.items():
        if len(array) != rows:
            raise DataError(f"{key} has {len(array):,} rows, but rewards has {rows:,}")
    return flat


def _flags(value: object, name: str, rows: int) -> Array:
    flags = np.asarray(value)
    if flags.shape not in ((rows,), (rows, 1)):
        raise DataError(f"{name} has shape {flags.shape}; expected ({rows},), one flag per row")
    wrong = ~np.isin(flags, (0, 1))
    if wrong.any():
        row = int(np.argmax(wrong.reshape(rows)))
        raise DataError(f"{name} is {flags.reshape(rows)[row]} at row {row}; expected 0 or 1")
    return flags.reshape(rows).astype(bool)


def _chained(observations: Array, successors: Array) -> Array:
    """(rows,) whether the next row's observation is this row's successor."""
    if successors.shape != observations.shape:
        raise DataError(f"next_observations has shape {successors.shape}; expected {observations.shape}")
    chained = np.zeros(len(observations), dtype=bool)
    for begin in range(0, len(observations) - 1, CHUNK_ROWS):
        rows = slice(begin, min(begin + CHUNK_ROWS, len(observations) - 1))
        after = observations[rows.start + 1 : rows.stop + 1]
        chained[rows] = (successors[rows] == after).reshape(len(after), -1).all(axis=1)
    return chained


def _check_chain(observations: Array, successors: Array | None, ends: Array) -> None:
    """Inside a trajectory every row must lead to the next one: successors are not stored a second time."""
    if successors is None:
        return
    broken = ~_chained(observations, successors) & ~ends
    if broken.any():
        check_finite("observations", observations, np.diff(np.flatnonzero(ends), prepend=-1))  # NaN equals nothing
        row = int(np.argmax(broken))
        raise DataError(
            f"next_observations at row {row} is not the observation of row {row + 1}, though no flag ends a trajectory "
            f"there ({int(broken.sum()):,} such rows). Leave 'timeouts' out to end trajectories at such breaks"
        )
