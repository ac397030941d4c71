"""Trajectories from episodes, or from single steps as a training loop or an environment gives them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.boundaries import note_doubt
from rewind.data.flags import FLAGS, read_flags, row_flags, single_flag
from rewind.data.parts import (
    each_part,
    find_parts,
    named_parts,
    same_values,
    side_by_side,
    storage_array,
    storage_parts,
)
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError, UsageError

PER_STEP = ("observations", "actions", "rewards", "inner_terminals", "extras")
PER_EPISODE = ("lengths", "terminated", "final_observations", "final_known")


def from_episodes(
    episodes: Iterable[Any], name: str | None = None, *, extras: Sequence[str] = (), rows: int | None = None
) -> Trajectories:
    """Trajectories from episodes: mappings, or objects with attributes such as Minari's.

    An episode of length L has L `actions` and `rewards`, L `observations` or L + 1 (with the state after the last
    step), optionally `next_observations`, and states how it ended: one boolean, or one flag per step, named
    `terminated`, `terminals` or `terminations`, or `dones` with `truncated`, `truncations` or `timeouts` beside it.
    Observations may be dicts of arrays.

    extras: further columns to keep, one entry per step; those in a dict `extras` of the episode are kept anyway
    rows: how many steps all episodes have, where that is known: each is then held only until the next one comes
    """
    used, unused = {*PER_STEP, "next_observations", *extras, *FLAGS}, set[Any]()

    def checked() -> Iterator[dict[str, Any]]:
        for index, episode in enumerate(episodes):
            unused.update(set(episode) - used if isinstance(episode, Mapping) else ())
            try:
                yield _episode(episode, extras)
            except DataError as error:
                raise DataError(f"episode {index}: {error}") from error

    parts: Iterable[dict[str, Any]] = checked()
    if rows is None:
        parts = list(parts)
        rows = sum(part["lengths"] for part in parts)
    data = Trajectories(**_joined(parts, rows), name=name, notes={"boundaries": "episodes"})
    if unused:
        data.notes["not_used"] = sorted(map(str, unused))
    note_doubt(data, name or "the data")
    return data


def _joined(parts: Iterable[dict[str, Any]], rows: int) -> dict[str, Any]:
    """The fields of `Trajectories`, filled episode by episode: there is no second copy of the data."""
    columns: dict[str, Array] = {}
    ends: list[list[Any]] = []
    first: dict[str, Any] = {}
    begin = 0
    for index, part in enumerate(parts):
        first = first or {key: _shapes(part[key]) for key in ("observations", "actions", "extras")}
        for key, shape in first.items():
            if (new := _shapes(part[key])) != shape:
                raise DataError(f"episode {index}: {key} have shape {new}, but those of episode 0 {shape}")
        for key in PER_STEP:
            for column, piece in named_parts(key, part[key]).items():
                if column not in columns:
                    columns[column] = np.empty((rows, *piece.shape[1:]), piece.dtype)
                elif (common := np.result_type(columns[column], piece)) != columns[column].dtype:
                    columns[column] = columns[column].astype(common)
                columns[column][begin : begin + len(piece)] = piece
        ends.append([part[key] for key in PER_EPISODE])
        begin += part["lengths"]
    if not ends:
        raise DataError("the data is empty: expected at least one episode")
    fields = {key: find_parts(columns, key) for key in PER_STEP}
    for key, values in zip(PER_EPISODE, zip(*ends, strict=True), strict=True):
        fields[key] = each_part(lambda *values: np.stack(values), *values)
    return {**fields, "extras": fields["extras"] or {}}


def _shapes(value: Any) -> Any:
    return each_part(lambda part: part.shape[1:], value)


def is_episode(value: Any) -> bool:
    """Whether this is a single episode, not a flat log: a flag for the whole of it, or one observation more."""
    observations, rewards = _field(value, "observations"), _field(value, "rewards")
    if observations is None or rewards is None or _field(value, "lengths") is not None:
        return False
    flags = (_field(value, name) for name in FLAGS)
    if not isinstance(value, Mapping) or any(flag is not None and np.ndim(flag) == 0 for flag in flags):
        return True
    if isinstance(observations, Mapping):
        observations = next(iter(observations.values()), ())
    return np.ndim(rewards) == 1 and len(observations) == len(rewards) + 1


def _field(episode: Any, name: str) -> Any:
    return episode.get(name) if isinstance(episode, Mapping) else getattr(episode, name, None)


def _episode(episode: Any, extras: Sequence[str]) -> dict[str, Any]:
    fields = {key: _field(episode, key) for key in ("observations", "actions", "rewards")}
    if missing := [key for key, value in fields.items() if value is None]:
        raise DataError(f"missing {', '.join(missing)}")
    observations = storage_parts("observations", fields["observations"])
    actions = storage_array("actions", fields["actions"])
    rewards = storage_array("rewards", fields["rewards"], always_float=True)
    length = len(rewards)
    if length == 0:
        raise DataError("no rewards; expected at least 1 step")
    counts = {len(part) for part in named_parts("", observations).values()}
    if len(actions) != length or len(counts) > 1 or not counts <= {length, length + 1}:
        counted = " or ".join(map(str, sorted(counts)))
        raise DataError(
            f"{length} rewards, {len(actions)} actions and {counted} observations; "
            f"expected {length} actions and {length} or {length + 1} observations"
        )
    inner = row_flags({"inner_terminals": _field(episode, "inner_terminals")}, ["inner_terminals"], length)
    final, known = observations, counts == {length + 1}
    if (successors := _field(episode, "next_observations")) is not None:
        final, known = _successors(successors, observations, length), True
    return {
        "observations": each_part(lambda part: part[:length], observations),
        "actions": actions,
        "rewards": rewards,
        "lengths": length,
        "terminated": _terminated(episode, length),
        "inner_terminals": np.zeros(length, bool) if inner is None else inner,
        "final_observations": each_part(lambda part: part[-1].copy(), final),  # which does not keep the others
        "final_known": known,
        "extras": _extras(episode, extras, length),
    }


def _successors(value: Any, observations: Any, length: int) -> Any:
    successors = storage_parts("next_observations", value)
    lengths = {len(part) for part in named_parts("", successors).values()}
    if lengths != {length} or _shapes(successors) != _shapes(observations):
        expected = each_part(lambda part: (length, *part.shape[1:]), observations)
        raise DataError(f"next_observations has shape {each_part(np.shape, successors)}; expected {expected}")
    before = each_part(lambda part: part[:-1], successors)
    following = each_part(lambda part: part[1:length], observations)
    if not same_values(before, following):
        raise DataError("next_observations are not the following observations; split it there")
    return successors


def _extras(episode: Any, names: Sequence[str], length: int) -> dict[str, Array]:
    columns = dict(_field(episode, "extras") or {}) | {name: _field(episode, name) for name in names}
    for name, value in columns.items():
        if value is None:
            raise DataError(f"missing {name}, which extras asks for")
        columns[name] = storage_array(name, value)
        if len(columns[name]) != length:
            raise DataError(f"{name} has {len(columns[name])} entries; expected {length}, one per step")
    return columns


def _terminated(episode: Any, length: int) -> bool:
    flags, _ = read_flags({name: _field(episode, name) for name in FLAGS}, length, np.array([length - 1]))
    if flags is None:
        raise DataError("nothing states how it ended; add 'terminated' (True: terminal, False: time-out)")
    if flags[:-1].any():
        step = int(np.argmax(flags))
        raise DataError(f"a terminal at step {step} of {length}; expected one at the last step only")
    return bool(flags[-1])


class OpenEpisode:
    """The steps of an episode so far."""

    def __init__(self, observation: Any) -> None:
        self.observations = [each_part(np.array, observation)]  # copies: environments reuse their arrays
        self.actions: list[Any] = []
        self.rewards: list[float] = []
        self.terminated = False

    def add(self, action: Any, reward: Any, successor: Any, terminated: bool) -> None:
        try:
            self.rewards.append(float(reward))
        except (TypeError, ValueError):
            raise DataError(f"the reward of step {len(self)} of an episode is {reward!r}; expected a number") from None
        self.actions.append(np.array(action))
        self.observations.append(each_part(np.array, successor))
        self.terminated = single_flag("terminated", terminated)

    def __len__(self) -> int:
        return len(self.rewards)

    def episode(self) -> dict[str, Any]:
        for name, values in (("observations", self.observations), ("actions", self.actions)):
            if len(shapes := {str(each_part(np.shape, value)) for value in values}) > 1:
                raise DataError(f"the {name} of an episode have different shapes: {', '.join(sorted(shapes))}")
        return {
            "observations": each_part(lambda *parts: np.stack(parts), *self.observations),
            "actions": np.stack(self.actions),
            "rewards": np.array(self.rewards, np.float32),
            "terminated": self.terminated,
        }


def from_steps(steps: Iterable[Any], name: str | None = None, keys: Sequence[str] | None = None) -> Trajectories:
    """Trajectories from a stream of (observation, action, reward, next observation, terminated, truncated).

    A trajectory ends at a step that is terminated or truncated. It also ends where the next step does not start from
    its next observation: the environment was reset without a flag, a cut with a known final observation.

    keys: for dict observations, the keys to concatenate, in this order; by default they stay dicts
    """
    data = from_episodes(_episodes(steps, keys), name=name)
    return data if keys is None else with_keys(data, keys)


def _same(one: Any, other: Any) -> bool:
    """Whether two observations are equal once stored: the same one may come in double and in single precision."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(each_part(_same, one, other).values())
    one, other = np.asarray(one), np.asarray(other)
    if "f" in (one.dtype.kind, other.dtype.kind):
        one, other = one.astype(np.float32), other.astype(np.float32)
        return np.array_equal(one, other, equal_nan=True)
    return np.array_equal(one, other)


def _episodes(steps: Iterable[Any], keys: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    open_episode: OpenEpisode | None = None
    ended = False
    for index, step in enumerate(steps):
        try:
            observation, action, reward, successor, terminated, truncated = step
        except (TypeError, ValueError):
            raise DataError(
                f"step {index} is not (observation, action, reward, next observation, terminated, truncated)"
            ) from None
        observation, successor = only_keys(observation, keys), only_keys(successor, keys)
        if open_episode is not None and (ended or not _same(open_episode.observations[-1], observation)):
            yield open_episode.episode()
            open_episode = None
        open_episode = open_episode or OpenEpisode(observation)
        open_episode.add(action, reward, successor, terminated)
        ended = open_episode.terminated or single_flag("truncated", truncated)
    if open_episode is not None:
        yield open_episode.episode()


def check_keys(keys: Sequence[str] | None, known: Sequence[str] | None) -> None:
    """Check that `keys` are those of dict observations.

    known: the keys of a dict observation, None if observations are arrays
    """
    if keys is None:
        return
    if known is None:
        raise UsageError(f"keys={list(keys)} given, but the observations are plain arrays: leave out keys")
    if not keys or any(key not in known for key in keys):
        raise UsageError(f"keys={list(keys)}: the observations have {', '.join(known)}")


def only_keys(observations: Any, keys: Sequence[str] | None) -> Any:
    """These parts of dict observations, so that nothing keeps the others until `with_keys` puts them side by side."""
    named = isinstance(observations, Mapping)
    check_keys(keys, list(observations) if named else None)
    return {key: observations[key] for key in keys or observations} if named else observations


def with_keys(data: Trajectories, keys: Sequence[str]) -> Trajectories:
    """The data with these parts of its dict observations side by side, in this order; an image alone stays one."""
    check_keys(keys, list(data.observations) if isinstance(data.observations, dict) else None)

    def chosen(value: dict[str, Any]) -> Any:
        first = value[keys[0]]
        return first if len(keys) == 1 and first.ndim > 2 else side_by_side({key: value[key] for key in keys})

    both = {name: chosen(getattr(data, name)) for name in ("observations", "final_observations")}
    return replace(data, **both, notes={**data.notes, "keys": list(keys)})
