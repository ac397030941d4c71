"""The motivating example (figure 1, appendix B): three trajectories, one start state, four ways to sample.

                          rewards, dense            rewards, sparse
    s0 -> t1 (6 steps)    0  2  0  0  0  2          0  0  0  0  0  4         return 4
    s0 -> t2 (6 steps)    0  2  2  0  2  2          0  0  0  0  0  8         return 8: worth 7.76 dense, 7.61 sparse
    s0 -> t3 (6 steps)    0  2  0  0  0  2          0  0  0  0  0  4         return 4

The paper gives the returns, the discount and both optima, from which the best trajectory has six steps; the rest is
chosen here. All three have the same length, so that `uni_state` and `uni_traj` replay every transition equally often
and differ only in the order. The first reward is 0, so that the value of s0 always comes from later steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, from_episodes
from rewind.errors import UsageError
from rewind.memory import PrioritizedReplay, TrajectoryReplay, UniformReplay
from rewind.memory.replay import Replay
from rewind.progress import progress

DISCOUNT = 0.99
START = 0  # the state s0
SHARE = 0.95  # of the oracle's value: from there on, s0 counts as learned

REWARDS: dict[str, tuple[tuple[float, ...], ...]] = {
    "dense": ((0, 2, 0, 0, 0, 2), (0, 2, 2, 0, 2, 2), (0, 2, 0, 0, 0, 2)),
    "sparse": ((0, 0, 0, 0, 0, 4), (0, 0, 0, 0, 0, 8), (0, 0, 0, 0, 0, 4)),
}

SAMPLERS: dict[str, Callable[[Any], Replay]] = {
    "uni_state": lambda seed: UniformReplay(seed=seed),
    "prio_state": lambda seed: PrioritizedReplay(seed=seed),
    "uni_traj": lambda seed: TrajectoryReplay(seed=seed),
    "prio_traj": lambda seed: TrajectoryReplay(priority="return", seed=seed),
}


def trajectories(rewards: str) -> Trajectories:
    """The data. States are integers: s0 is 0, all others occur once. The action at s0 chooses the trajectory."""
    episodes, first = [], 1
    for branch, steps in enumerate(REWARDS[rewards]):
        states = np.concatenate([[START], np.arange(first, first + len(steps))])
        actions = np.array([branch] + [0] * (len(steps) - 1))
        step_rewards = np.array(steps, np.float32)
        episodes.append({"observations": states, "actions": actions, "rewards": step_rewards, "terminated": True})
        first += len(steps)
    return from_episodes(episodes, name=f"toy-{rewards}")


def empty_table(data: Trajectories) -> Array:
    """(states, actions) Q before learning: 0, and -inf for actions that are not in the data.

    A state without actions is terminal. Its row stays 0.
    """
    table = np.full((int(data.final_observations.max()) + 1, int(data.actions.max()) + 1), -np.inf)
    table[data.observations, data.actions] = 0.0
    table[np.isneginf(table).all(axis=1)] = 0.0
    return table


def oracle(data: Trajectories) -> float:
    """max_a Q(s0, a) by dynamic programming: update every row until nothing changes."""
    table, successors = empty_table(data), data.successors(np.arange(data.rows))
    for _ in range(data.rows):
        table[data.observations, data.actions] = data.rewards + DISCOUNT * table[successors].max(axis=-1)
    return float(table[START].max())


class ToyLearner:
    """Tabular Q-learning with one transition per update, for all seeds together: one memory and one table each."""

    def __init__(self, data: Trajectories, memories: list[Replay], updates: int, learning_rate: float) -> None:
        self.data, self.memories, self.learning_rate = data, memories, learning_rate
        self.successors = data.successors(np.arange(data.rows))
        self.table = np.repeat(empty_table(data)[None], len(memories), axis=0)  # (seeds, states, actions)
        self.values = np.zeros((updates, len(memories)))  # (updates, seeds) max_a Q(s0, a) after each update
        for memory in memories:
            memory.load_offline_dataset(data)
        # Only priorities by TD error need feedback before the next draw; the others are planned in advance.
        self.by_td_error = isinstance(memories[0], PrioritizedReplay)
        plans = [] if self.by_td_error else [memory.plan(updates, 1).indices[:, 0] for memory in memories]
        self.plans = np.array(plans).T  # (updates, seeds)

    def update(self, step: int) -> None:
        if self.by_td_error:
            rows = np.array([memory.plan(1, 1).indices[0, 0] for memory in self.memories])
        else:
            rows = self.plans[step]
        seeds = np.arange(len(rows))
        at = (seeds, self.data.observations[rows], self.data.actions[rows])
        bootstrap = self.table[seeds, self.successors[rows]].max(axis=-1)  # 0 after a terminal
        td_errors = self.data.rewards[rows] + DISCOUNT * bootstrap - self.table[at]
        self.table[at] += self.learning_rate * td_errors
        self.values[step] = self.table[:, START].max(axis=-1)
        if self.by_td_error:
            for memory, td_error in zip(self.memories, td_errors, strict=True):
                memory.update_priorities(td_error[None])


@dataclass(frozen=True, eq=False)
class ToyCurve:
    """The value of s0 learned with one sampler."""

    values: Array  # (updates, seeds) max_a Q(s0, a) after each update
    oracle: float

    @property
    def needed(self) -> Array:
        """(seeds,) updates until 95% of the oracle; inf if not reached. Values never decrease (tested)."""
        enough = self.values >= SHARE * self.oracle
        return np.where(enough.any(axis=0), enough.argmax(axis=0) + 1.0, np.inf)


@dataclass(frozen=True, eq=False)
class ToyResult:
    """All curves by kind of rewards and sampler, and the settings."""

    curves: dict[str, dict[str, ToyCurve]]
    seeds: int
    updates: int
    learning_rate: float
    seed: int


def learn(*, seeds: int = 50, updates: int = 300, learning_rate: float = 1.0, seed: int = 0) -> ToyResult:
    """Run the example. Run i uses the same random stream for every sampler."""
    if seeds < 1 or updates < 1:
        raise UsageError(f"{seeds} seeds and {updates} updates; expected at least 1 of each")
    if not 0.0 < learning_rate <= 1.0:
        raise UsageError(f"learning_rate is {learning_rate}; expected a number above 0, at most 1")
    learners: dict[tuple[str, str], ToyLearner] = {}
    for rewards in REWARDS:
        for name, make in SAMPLERS.items():
            memories = [make(stream) for stream in np.random.SeedSequence(seed).spawn(seeds)]
            learners[rewards, name] = ToyLearner(trajectories(rewards), memories, updates, learning_rate)
    for step in progress(range(updates), "updates"):
        for learner in learners.values():
            learner.update(step)
    curves: dict[str, dict[str, ToyCurve]] = {rewards: {} for rewards in REWARDS}
    for (rewards, name), learner in learners.items():
        curves[rewards][name] = ToyCurve(learner.values, oracle(learner.data))
    return ToyResult(curves, seeds, updates, learning_rate, seed)
