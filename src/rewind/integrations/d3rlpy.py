"""Trajectory Replay for d3rlpy: a replay buffer for `fit` with batches in Rewind's order.

    buffer = TrajectoryBuffer(dataset, TrajectoryReplay("uqm_reward", seed=0))
    TD3PlusBCConfig().create().fit(buffer, n_steps=100_000)

For the `*_unc` priorities add `callback=buffer.update_uncertainty`; for the weighted target call `use_weighted_target`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, load
from rewind.data.parts import each_part
from rewind.errors import DataError, UsageError, require
from rewind.memory import Batch
from rewind.memory.replay import Replay
from rewind.targets import WeightedTarget

torch: Any = require("torch", "d3rlpy")
d3rlpy: Any = require("d3rlpy", "d3rlpy")
dataset: Any = require("d3rlpy.dataset", "d3rlpy")
d3rlpy_torch: Any = require("d3rlpy.torch_utility", "d3rlpy")


@dataclass(frozen=True)
class ReplayMiniBatch(dataset.TransitionMiniBatch):
    """d3rlpy's batch, and the Rewind batch it was made from."""

    replay: Batch


class TrajectoryBuffer(dataset.ReplayBuffer):
    """d3rlpy's replay buffer with a Rewind memory that chooses the transitions.

    It works with algorithms that learn from transitions, such as TD3PlusBC and IQL, but not with those that need
    returns to go. Unlike d3rlpy, it replays the last step before a time-out if the data has the state after it.
    Dict observations are d3rlpy's tuples, in alphabetical order of their keys; extras are in the batch's `replay`.

    data: a d3rlpy dataset, or anything a memory loads (Trajectories, a D4RL-style dict, a path)
    memory: an empty memory, which loads the data
    """

    def __init__(self, data: Any, memory: Replay) -> None:
        if isinstance(data, dataset.ReplayBufferBase):
            source, trajectories = data, from_dataset(data)
        else:
            trajectories = load(data)
            source = dataset.ReplayBuffer(dataset.InfiniteBuffer(), episodes=to_episodes(trajectories))
        info = source.dataset_info
        super().__init__(
            buffer=source.buffer,
            observation_signature=info.observation_signature,
            action_signature=info.action_signature,
            reward_signature=info.reward_signature,
            action_space=info.action_space,
            action_size=info.action_size,
        )
        memory.load_offline_dataset(trajectories)
        self.memory = memory
        self._last: ReplayMiniBatch | None = None

    def sample_transition_batch(self, batch_size: int) -> ReplayMiniBatch:
        batch, store = self.memory.sample(batch_size), self.memory.store
        next_actions = np.asarray(store.actions.take(batch.indices + 1, axis=0, mode="clip"))
        next_actions[batch.timesteps == store.lengths[batch.trajectories - store.first] - 1] = 0  # after the last step
        self._last = ReplayMiniBatch(
            observations=_parts(batch.observations, _floats),
            actions=_floats(batch.actions),
            rewards=_floats(batch.rewards),
            next_observations=_parts(batch.next_observations, _floats),
            next_actions=_floats(next_actions),
            terminals=_floats(batch.terminals),
            intervals=np.ones((batch_size, 1), np.float32),
            transitions=(),
            replay=batch,
        )
        return self._last

    def update_uncertainty(self, algo: Any, epoch: int = 0, total_step: int = 0) -> None:
        """Send the critics' disagreement on the last batch to the memory: `algo.fit(..., callback=this)`."""
        if self._last is None:
            raise UsageError("update of uncertainty before any sample")
        with torch.no_grad():
            device = algo.impl.device
            observations = d3rlpy_torch.convert_to_torch_recursively(self._last.observations, device)
            actions = torch.as_tensor(self._last.actions, device=device)
            if algo.observation_scaler is not None:
                observations = algo.observation_scaler.transform(observations)
            if algo.action_scaler is not None:
                actions = algo.action_scaler.transform(actions)
            if self.dataset_info.action_space == d3rlpy.ActionSpace.DISCRETE:
                values = [critic(observations).q_value.gather(1, actions.long()) for critic in algo.impl.q_function]
            else:
                values = [critic(observations, actions).q_value for critic in algo.impl.q_function]
        self.memory.update_uncertainty(torch.cat(values, dim=1).std(dim=1, correction=0))


def use_weighted_target(algo: Any, beta: float, low: float | None = None, high: float | None = None) -> WeightedTarget:
    """Make a built algorithm, trained from a `TrajectoryBuffer`, regress to the weighted target.

    algo.build_with_dataset(buffer)
    use_weighted_target(algo, beta=0.75)

    low, high: bounds of the targets, in scaled rewards; None for no bound
    returns: the target; save its `state_dict` in your checkpoints
    """
    if algo.impl is None:
        raise UsageError("the algorithm has no networks yet: call algo.build_with_dataset(buffer) first")
    if algo.compiled:
        raise UsageError("a compiled algorithm cannot carry targets: create it with compile_graph=False")
    target = WeightedTarget(algo.gamma, beta, low, high)
    bootstrap_of = algo.impl.compute_target

    def compute_target(batch: Any) -> Any:
        """What d3rlpy multiplies by the discount and adds to the rewards to get the target."""
        replay, bootstrap = batch.numpy_batch.replay, bootstrap_of(batch)
        rewards, terminals = batch.rewards[:, 0], batch.terminals[:, 0] > 0  # scaled rewards
        fresh = torch.as_tensor(replay.fresh, device=bootstrap.device)
        rows = SimpleNamespace(rewards=rewards, terminals=terminals, fresh=fresh, host=replay)
        return ((target(rows, bootstrap[:, 0]) - rewards) / algo.gamma)[:, None]

    algo.impl.compute_target = compute_target
    return target


def from_dataset(data: Any) -> Trajectories:
    if not isinstance(data.transition_picker, dataset.BasicTransitionPicker):
        raise DataError(
            f"the dataset picks transitions by {type(data.transition_picker).__name__}; "
            "expected BasicTransitionPicker: a memory plays single steps"
        )
    return load(
        {
            "observations": _by_number(episode.observations),
            "actions": episode.actions,
            "rewards": np.reshape(episode.rewards, -1),
            "terminated": episode.terminated,
        }
        for episode in data.episodes
    )


def to_episodes(data: Trajectories) -> list[Any]:
    """d3rlpy episodes that share the arrays of the data."""
    return [
        dataset.Episode(
            observations=_parts(episode["observations"], itemgetter(slice(len(episode["rewards"])))),
            actions=_columns(episode["actions"]),
            rewards=episode["rewards"][:, None],
            terminated=bool(episode["terminated"]),
        )
        for episode in data.episodes()
    ]


def _parts(observations: Any, function: Callable[[Array], Array]) -> Any:
    """d3rlpy's tuple for a dict, in the order of its keys; an array stays one."""
    converted = each_part(lambda part: _columns(function(part)), observations)
    return list(converted.values()) if isinstance(converted, dict) else converted


def _by_number(observations: Any) -> Any:
    """A dict for d3rlpy's tuple: its parts are called 00, 01 and so on, so that they keep their order."""
    if not isinstance(observations, (list, tuple)):
        return observations
    return {f"{index:02}": part for index, part in enumerate(observations)}


def _columns(array: Array) -> Array:
    """(rows, ...) as in d3rlpy: one number per row is a column."""
    return array[:, None] if array.ndim == 1 else array


def _floats(array: Array) -> Array:
    return _columns(array.astype(np.float32, copy=False))
