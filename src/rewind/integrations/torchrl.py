"""Trajectory Replay as a TorchRL sampler: TorchRL stores the data, Rewind chooses the rows.

    storage, sampler = LazyTensorStorage(size), TrajectorySampler("uqm_reward", seed=0)
    buffer = TensorDictReplayBuffer(storage=storage, sampler=sampler, batch_size=256)
    buffer.extend(transitions)
    batch = buffer.sample()

A batch has the keys of the storage, and `fresh`, `tails`, `trajectories` and `timesteps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array, to_numpy
from rewind.data import Trajectories
from rewind.errors import DataError, UsageError, require
from rewind.files import whole_file
from rewind.memory import Batch, TrajectoryReplay

torch: Any = require("torch", "torchrl")
samplers: Any = require("torchrl.data.replay_buffers.samplers", "torchrl")

STATE_FILE = "trajectory_sampler.pt"
OF_SAMPLER = ("fresh", "tails", "trajectories", "timesteps")
OF_BATCH = ("observation", "action", "done", "terminated", "truncated", "index", *OF_SAMPLER)


class TrajectorySampler(samplers.Sampler):
    """Plays the trajectories of a storage backward, one in each slot of the batch, and draws the next by priority.

    Trajectories end at ("next", "done"), "terminated" or "truncated", or where the value of `episode_key` changes, and
    at the newest row of the storage. A storage that wrapped around is read from its oldest row on.

    Use it for data that does not change: if rows are added or replaced, all sweeps start again, and recorded
    uncertainty is lost. Do not use prefetching with the `*_unc` priorities: each batch needs its uncertainty before
    the next one is sampled.

    episode_key: a key that differs between trajectories, e.g. "episode"; by default, flags separate them
    settings: alpha, reuse, stagger, seed and the others of `TrajectoryReplay`
    """

    def __init__(self, priority: str | Any = "uniform", *, episode_key: Any = None, **settings: Any) -> None:
        self.memory = TrajectoryReplay(priority, **settings)
        self.episode_key = episode_key
        self._current = False  # whether the memory has loaded the storage's current content
        self._oldest = 0  # the storage's row that is the memory's row 0
        self._rows: Any = None  # (batch,) the storage's rows sampled last
        self._saved: dict[str, Any] | None = None  # a state to load with the storage

    def __repr__(self) -> str:
        return f"{type(self).__name__}(priority={self.memory.priority!r})"

    # TorchRL's interface

    def sample(self, storage: Any, batch_size: int) -> tuple[Any, dict[str, Any]]:
        """The rows of the next batch, with their `fresh`, `tails`, `trajectories` and `timesteps`."""
        self._load(storage)
        batch = self.memory.sample(batch_size)
        self._rows = torch.from_numpy((batch.indices + self._oldest) % len(storage))
        return self._rows.clone(), {name: torch.from_numpy(getattr(batch, name)) for name in OF_SAMPLER}

    def update_priority(self, index: Any, priority: Any, *, storage: Any = None) -> None:
        """One value per row of the last batch: the critics' disagreement at (s, a), for the `*_unc` priorities.

        buffer.update_priority(batch["index"], q_values.std(0))
        """
        if self._rows is None or not torch.equal(torch.as_tensor(index).cpu().flatten(), self._rows):
            raise UsageError(
                "this uncertainty is not of the rows sampled last; call update_priority(batch['index'], values) once "
                "for each batch, before you sample the next one (no prefetching)"
            )
        self.memory.update_uncertainty(to_numpy(priority).reshape(-1))

    def _forget(self, index: Any = None, *, storage: Any = None) -> None:
        self._current, self._rows, self._saved = False, None, None

    add = extend = mark_update = _empty = _forget  # TorchRL calls these when rows change

    # State

    def state_dict(self) -> dict[str, Any]:
        """Tensors, numbers and strings, without the data, which the storage saves."""
        if not self._current:
            return dict(self._saved or {})
        memory = self.memory.snapshot().items()
        tensors = {key: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for key, value in memory}
        state = {"memory": tensors, "oldest": self._oldest}
        return state if self._rows is None else {**state, "rows": self._rows.clone()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume with exactly the same batches. The state is checked against the storage at the next sample."""
        self._forget()
        self._saved = dict(state_dict) or None

    def dumps(self, path: Any) -> None:
        Path(path).mkdir(exist_ok=True)
        with whole_file(Path(path) / STATE_FILE) as temporary:
            torch.save(self.state_dict(), temporary)

    def loads(self, path: Any) -> None:
        self.load_state_dict(torch.load(Path(path) / STATE_FILE, weights_only=True))

    # Data

    def _load(self, storage: Any) -> None:
        if self._current:
            return
        if len(storage) == 0:
            raise UsageError("the storage is empty: extend the buffer before sampling")
        # A storage loaded from a file does not know its cursor; the sampler's state does.
        self._oldest = _oldest_row(storage) if self._saved is None else int(self._saved["oldest"])
        self.memory.load_offline_dataset(trajectories_of(storage, self._oldest, self.episode_key))
        if self._saved is not None:
            state = self._saved["memory"].items()
            self.memory.load_state_dict({k: v.numpy() if torch.is_tensor(v) else v for k, v in state})
            self._rows = self._saved.get("rows")
        self._current, self._saved = True, None


def _oldest_row(storage: Any) -> int:
    """The row after the newest one if the storage is full, otherwise 0."""
    newest = getattr(storage, "_last_cursor_index", None)
    return 0 if newest is None or not storage._is_full else (int(newest) + 1) % len(storage)


def trajectories_of(storage: Any, oldest: int = 0, episode_key: Any = None) -> Trajectories:
    """The lengths and rewards of a storage's trajectories, oldest row first, without observations and actions."""
    content = storage[: len(storage)]
    if storage.ndim != 1 or not hasattr(content, "get"):
        raise DataError(
            f"cannot plan over a {type(storage).__name__} with {storage.ndim} dimensions; expected one dimension of "
            "transitions in tensors, such as a LazyTensorStorage or LazyMemmapStorage with ndim=1"
        )
    rewards = _column(content, ("next", "reward"))
    if rewards is None:
        raise DataError("the storage has no ('next', 'reward')")
    rows = len(rewards)
    ends = np.zeros(rows, bool)
    if episode_key is not None:
        episode = _column(content, episode_key)
        if episode is None:
            raise DataError(f"the storage has no key {episode_key!r} (episode_key)")
        ends |= episode != np.roll(episode, -1)
    else:
        flags = [_column(content, ("next", name)) for name in ("done", "terminated", "truncated")]
        if all(flag is None for flag in flags):
            raise DataError(
                "the storage has none of 'done', 'terminated', 'truncated' under 'next'; use an episode_key"
            )
        for flag in flags:
            ends |= False if flag is None else flag.astype(bool)
    ends, rewards = np.roll(ends, -oldest), np.roll(rewards, -oldest)
    ends[-1] = True
    lengths = np.diff(np.flatnonzero(ends), prepend=-1)
    nothing = np.empty((rows, 0), np.float32)
    return Trajectories(
        observations=nothing,
        actions=nothing,
        rewards=rewards,
        lengths=lengths,
        terminated=np.zeros(len(lengths), bool),  # the loop reads the storage's flags
        final_observations=nothing[: len(lengths)],
        final_known=np.ones(len(lengths), bool),  # every row has its successor under "next"
    )


def _column(content: Any, key: Any) -> Array | None:
    """(rows,) the values of a key, None if it does not exist."""
    values = content.get(key, None)
    return None if values is None else to_numpy(values).reshape(len(values))


def batch_of(sampled: Any, extras: Sequence[str] | None = None) -> Batch:
    """A sampled tensordict as a Rewind batch, for `WeightedTarget`. Rewards and terminals become (batch,).

    A nested "observation" becomes a dict of tensors.

    extras: further keys of the storage that the batch carries; default: all tensors beside those above
    """
    if extras is None:
        extras = [key for key, value in sampled.items() if key not in OF_BATCH and torch.is_tensor(value)]
    fresh = sampled["fresh"]
    batch = Batch(
        observations=_observations(sampled.get("observation", None)),
        actions=sampled.get("action", None),
        rewards=sampled["next", "reward"].reshape(len(fresh)),
        next_observations=_observations(sampled.get(("next", "observation"), None)),
        terminals=sampled["next", "terminated"].reshape(len(fresh)),
        tails=sampled["tails"],
        fresh=fresh,
        indices=to_numpy(sampled["index"]),
        trajectories=to_numpy(sampled["trajectories"]),
        timesteps=to_numpy(sampled["timesteps"]),
        extras={name: sampled[name] for name in extras},
    )
    return replace(batch, host=replace(batch, fresh=to_numpy(fresh)))


def _observations(value: Any) -> Any:
    return value if value is None or torch.is_tensor(value) else {key: value[key] for key in sorted(value.keys())}
