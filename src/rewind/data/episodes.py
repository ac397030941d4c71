"""Trajectories from a list of episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.checks import storage_array
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError


def from_episodes(episodes: Iterable[Any], name: str | None = None) -> Trajectories:
    """Trajectories from episodes: mappings, or objects with attributes such as Minari's.

    Each has `actions` and `rewards` of its length L, `observations` of L rows or of L + 1 (with the state after the
    last step), perhaps `next_observations`, and says how it ended: `terminated` (a boolean) or one flag per step as
    `terminals` or `terminations`.
    """
    parts = [_episode(index, episode) for index, episode in enumerate(episodes)]
    if not parts:
        raise DataError("the data is empty: expected at least one episode")
    for index, part in enumerate(parts):
        for key in ("observations", "actions"):
            first = parts[0][key]
            if part[key].shape[1:] != first.shape[1:]:
                raise DataError(
                    f"episode {index}: {key} have shape {part[key].shape[1:]}, but those of episode 0 {first.shape[1:]}"
                )
    return Trajectories(
        observations=np.concatenate([part["observations"] for part in parts]),
        actions=np.concatenate([part["actions"] for part in parts]),
        rewards=np.concatenate([part["rewards"] for part in parts]),
        lengths=np.array([len(part["rewards"]) for part in parts]),
        terminated=np.array([part["terminated"] for part in parts]),
        final_observations=np.stack([part["final"] for part in parts]),
        final_known=np.array([part["final_known"] for part in parts]),
        name=name,
        notes={"boundaries": "episodes"},
        inner_terminals=np.concatenate([part["inner"] for part in parts]),
    )


def _field(episode: Any, *names: str) -> Any:
    for name in names:
        value = episode.get(name) if isinstance(episode, Mapping) else getattr(episode, name, None)
        if value is not None:
            return value
    return None


def _episode(index: int, episode: Any) -> dict[str, Any]:
    where = f"episode {index}"
    given = {key: _field(episode, key) for key in ("observations", "actions", "rewards")}
    missing = [key for key, value in given.items() if value is None]
    if missing:
        raise DataError(f"{where}: missing {', '.join(missing)}")
    observations = storage_array(f"{where}: observations", given["observations"])
    actions = storage_array(f"{where}: actions", given["actions"])
    rewards = storage_array(f"{where}: rewards", given["rewards"], always_float=True)
    length = len(rewards)
    if length == 0:
        raise DataError(f"{where} has length 0; expected at least 1 step")
    if len(actions) != length or len(observations) not in (length, length + 1):
        raise DataError(
            f"{where}: {len(rewards)} rewards, {len(actions)} actions and {len(observations)} observations; "
            f"expected {length} actions and {length} or {length + 1} observations"
        )
    successors = _field(episode, "next_observations")
    final, known = observations[-1], len(observations) == length + 1
    if successors is not None:
        successors = storage_array(f"{where}: next_observations", successors)
        if successors.shape != (length, *observations.shape[1:]):
            raise DataError(
                f"{where}: next_observations has shape {successors.shape}; expected {(length, *observations.shape[1:])}"
            )
        if not np.array_equal(successors[:-1], observations[1:length]):
            raise DataError(f"{where}: next_observations are not the following observations; split it where they break")
        final, known = successors[-1], True
    return {
        "observations": observations[:length],
        "actions": actions,
        "rewards": rewards,
        "terminated": _terminated(where, episode, length),
        "inner": _inner(where, episode, length),
        "final": final,
        "final_known": known,
    }


def _inner(where: str, episode: Any, length: int) -> Array:
    value = _field(episode, "inner_terminals")
    flags = np.zeros(length, dtype=bool) if value is None else np.asarray(value, dtype=bool)
    if flags.shape != (length,):
        raise DataError(f"{where}: inner_terminals has shape {flags.shape}; expected ({length},)")
    return flags


def _terminated(where: str, episode: Any, length: int) -> bool:
    value = _field(episode, "terminated", "terminals", "terminations")
    if value is None:
        raise DataError(f"{where} does not say how it ended; give 'terminated' (True: terminal, False: time-out)")
    flags = np.asarray(value)
    if flags.ndim == 0:
        return bool(flags)
    if flags.shape != (length,):
        raise DataError(f"{where}: {len(flags)} terminal flags for {length} steps")
    if flags[:-1].any():
        step = int(np.argmax(flags))
        raise DataError(f"{where}: a terminal at step {step} of {length}; expected one at the last step only")
    return bool(flags[-1])
