"""Trajectories from episodes, or from single steps as a training loop or an environment gives them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.flags import FLAGS, flag_array, read_flags, single_flag
from rewind.data.trajectories import Trajectories, storage_array
from rewind.errors import DataError, UsageError


def from_episodes(episodes: Iterable[Any], name: str | None = None) -> Trajectories:
    """Trajectories from episodes: mappings, or objects with attributes such as Minari's.

    An episode of length L has L `actions` and `rewards`, L `observations` or L + 1 (with the state after the last
    step), optionally `next_observations`, and states how it ended: one boolean, or one flag per step, named
    `terminated`, `terminals` or `terminations`, or `dones` with `truncated`, `truncations` or `timeouts` beside it.
    """
    parts, keys = [], set()
    for index, episode in enumerate(episodes):
        parts.append(_episode(index, episode))
        keys |= set(episode) if isinstance(episode, Mapping) else set()
    if not parts:
        raise DataError("the data is empty: expected at least one episode")
    for index, part in enumerate(parts):
        for key in ("observations", "actions"):
            first = parts[0][key]
            if part[key].shape[1:] != first.shape[1:]:
                raise DataError(
                    f"episode {index}: {key} have shape {part[key].shape[1:]}, but those of episode 0 {first.shape[1:]}"
                )
    per_step = ("observations", "actions", "rewards", "inner_terminals")
    per_episode = ("lengths", "terminated", "final_observations", "final_known")
    notes: dict[str, Any] = {"boundaries": "episodes"}
    if unused := sorted(map(str, keys - {*per_step, "next_observations", *FLAGS})):
        notes["not_used"] = unused
    return Trajectories(
        **{key: np.concatenate([part[key] for part in parts]) for key in per_step},
        **{key: np.stack([part[key] for part in parts]) for key in per_episode},
        name=name,
        notes=notes,
    )


def is_episode(value: Any) -> bool:
    """Whether this is a single episode, not a flat log: a flag for the whole of it, or one observation more."""
    observations, rewards = _field(value, "observations"), _field(value, "rewards")
    if observations is None or rewards is None or _field(value, "lengths") is not None:
        return False
    flags = (_field(value, name) for name in FLAGS)
    return (
        not isinstance(value, Mapping)
        or any(flag is not None and np.ndim(flag) == 0 for flag in flags)
        or (np.ndim(rewards) == 1 and not isinstance(observations, Mapping) and len(observations) == len(rewards) + 1)
    )


def _field(episode: Any, *names: str) -> Any:
    for name in names:
        value = episode.get(name) if isinstance(episode, Mapping) else getattr(episode, name, None)
        if value is not None:
            return value
    return None


def _episode(index: int, episode: Any) -> dict[str, Any]:
    where = f"episode {index}"
    fields = {key: _field(episode, key) for key in ("observations", "actions", "rewards")}
    missing = [key for key, value in fields.items() if value is None]
    if missing:
        raise DataError(f"{where}: missing {', '.join(missing)}")
    observations = storage_array(f"{where}: observations", fields["observations"])
    actions = storage_array(f"{where}: actions", fields["actions"])
    rewards = storage_array(f"{where}: rewards", fields["rewards"], always_float=True)
    length = len(rewards)
    if length == 0:
        raise DataError(f"{where} has length 0; expected at least 1 step")
    if len(actions) != length or len(observations) not in (length, length + 1):
        raise DataError(
            f"{where}: {length} rewards, {len(actions)} actions and {len(observations)} observations; "
            f"expected {length} actions and {length} or {length + 1} observations"
        )
    successors = _field(episode, "next_observations")
    final, known = observations[-1], len(observations) == length + 1
    if successors is not None:
        successors = storage_array(f"{where}: next_observations", successors)
        expected = (length, *observations.shape[1:])
        if successors.shape != expected:
            raise DataError(f"{where}: next_observations has shape {successors.shape}; expected {expected}")
        if not np.array_equal(successors[:-1], observations[1:length]):
            raise DataError(f"{where}: next_observations are not the following observations; split it there")
        final, known = successors[-1], True
    return {
        "observations": observations[:length],
        "actions": actions,
        "rewards": rewards,
        "lengths": length,
        "terminated": _terminated(where, episode, length),
        "inner_terminals": _inner(where, episode, length),
        "final_observations": final,
        "final_known": known,
    }


def _inner(where: str, episode: Any, length: int) -> Array:
    value = _field(episode, "inner_terminals")
    flags = np.zeros(length, dtype=bool) if value is None else flag_array(f"{where}: inner_terminals", value)
    if flags.shape != (length,):
        raise DataError(f"{where}: inner_terminals has shape {flags.shape}; expected ({length},)")
    return flags


def _terminated(where: str, episode: Any, length: int) -> bool:
    try:
        flags, _ = read_flags({name: _field(episode, name) for name in FLAGS}, length, np.array([length - 1]))
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    if flags is None:
        raise DataError(f"{where} does not state how it ended; add 'terminated' (True: terminal, False: time-out)")
    if flags[:-1].any():
        step = int(np.argmax(flags))
        raise DataError(f"{where}: a terminal at step {step} of {length}; expected one at the last step only")
    return bool(flags[-1])


class OpenEpisode:
    """The steps of an episode so far."""

    def __init__(self, observation: Any) -> None:
        self.observations = [np.array(observation)]  # copies: environments reuse their arrays
        self.actions: list[Any] = []
        self.rewards: list[float] = []
        self.terminated = False

    def add(self, action: Any, reward: Any, successor: Any, terminated: bool) -> None:
        try:
            self.rewards.append(float(reward))
        except (TypeError, ValueError):
            raise DataError(f"the reward of step {len(self)} of an episode is {reward!r}; expected a number") from None
        self.actions.append(np.array(action))
        self.observations.append(np.array(successor))
        self.terminated = single_flag("terminated", terminated)

    def __len__(self) -> int:
        return len(self.rewards)

    def episode(self) -> dict[str, Any]:
        for name, values in (("observations", self.observations), ("actions", self.actions)):
            if len(shapes := {value.shape for value in values}) > 1:
                raise DataError(f"the {name} of an episode have different shapes: {sorted(shapes)}")
        return {
            "observations": np.stack(self.observations),
            "actions": np.stack(self.actions),
            "rewards": np.array(self.rewards, np.float32),
            "terminated": self.terminated,
        }


def from_steps(steps: Iterable[Any], name: str | None = None, keys: Sequence[str] | None = None) -> Trajectories:
    """Trajectories from a stream of (observation, action, reward, next observation, terminated, truncated).

    A trajectory ends at a step that is terminated or truncated. It also ends where the next step does not start from
    its next observation: the environment was reset without a flag, a cut with a known final observation.

    keys: for dict observations, the keys to concatenate, in this order
    """
    return from_episodes(_episodes(steps, keys), name=name)


def _same(one: Any, other: Any) -> bool:
    """Whether two observations are equal once stored: the same one may come in double and in single precision."""
    one, other = np.asarray(one), np.asarray(other)
    if "f" in (one.dtype.kind, other.dtype.kind):
        one, other = one.astype(np.float32), other.astype(np.float32)
        return np.array_equal(one, other, equal_nan=True)
    return np.array_equal(one, other)


def _episodes(steps: Iterable[Any], keys: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    open_episode: OpenEpisode | None = None
    for index, step in enumerate(steps):
        try:
            observation, action, reward, successor, terminated, truncated = step
        except (TypeError, ValueError):
            raise DataError(
                f"step {index} is not (observation, action, reward, next observation, terminated, truncated)"
            ) from None
        observation, successor = flatten(observation, keys, single=True), flatten(successor, keys, single=True)
        if open_episode is not None and not _same(open_episode.observations[-1], observation):
            yield open_episode.episode()
            open_episode = None
        open_episode = open_episode or OpenEpisode(observation)
        open_episode.add(action, reward, successor, terminated)
        if open_episode.terminated or single_flag("truncated", truncated):
            yield open_episode.episode()
            open_episode = None
    if open_episode is not None:
        yield open_episode.episode()


def check_keys(keys: Sequence[str] | None, known: Sequence[str] | None) -> None:
    """Check that `keys` are given for dict observations, and only for those.

    known: the keys of a dict observation, None if observations are arrays
    """
    if known is None:
        if keys is not None:
            raise UsageError(f"keys={list(keys)} given, but the observations are plain arrays: leave out keys")
        return
    if keys is None:
        raise DataError(
            f"observations are dicts with the keys {', '.join(known)}; choose which to concatenate, and in which "
            f"order, for example keys={list(known)}"
        )
    if not keys or any(key not in known for key in keys):
        raise UsageError(f"keys={list(keys)}: the observations have {', '.join(known)}")


def flatten(observations: Any, keys: Sequence[str] | None, single: bool = False) -> Any:
    """The named parts of dict observations as one vector per step; arrays are returned unchanged.

    single: one observation instead of one per step
    """
    if not isinstance(observations, Mapping):
        check_keys(keys, None)
        return observations
    check_keys(keys, list(observations))
    assert keys is not None
    parts = [np.asarray(observations[key]) for key in keys]
    if single:
        return np.concatenate([part.reshape(-1) for part in parts])
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
