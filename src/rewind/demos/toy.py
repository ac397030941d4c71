"""The motivating example (figure 1, appendix B): three trajectories, one start state, four ways to sample.

                          rewards, dense            rewards, sparse
    s0 -> t1 (6 steps)    0  2  0  0  0  2          0  0  0  0  0  4         return 4
    s0 -> t2 (6 steps)    0  2  2  0  2  2          0  0  0  0  0  8         return 8: worth 7.76 dense, 7.61 sparse
    s0 -> t3 (6 steps)    0  2  0  0  0  2          0  0  0  0  0  4         return 4

The paper gives the returns, the discount and both optima, which leaves the best trajectory six steps; the rest is
chosen here. All three are equally long, so that `uni_state` and `uni_traj` replay every transition equally often and
differ in the order alone. The first step earns nothing, so that the value of s0 always has to come from behind it.
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
SHARE = 0.95  # of the oracle, from which on s0 counts as learned

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
    """The data: integer states, s0 is 0 and all others occur once; the action at s0 is the trajectory to follow."""
    episodes, known = [], 1
    for branch, steps in enumerate(REWARDS[rewards]):
        states = np.arange(known, known + len(steps))
        actions = np.zeros(len(steps), np.int64)
        actions[0] = branch
        episodes.append(
            {
                "observations": np.concatenate([[START], states]),
                "actions": actions,
                "rewards": np.array(steps, np.float32),
                "terminated": True,
            }
        )
        known += len(steps)
    return from_episodes(episodes, name=f"toy-{rewards}")


def empty_table(data: Trajectories) -> Array:
    """(states, actions) Q before learning: 0, and -inf for actions nobody took, which no maximum chooses.

    A state in which nobody acted is terminal. Its row stays 0.
    """
    table = np.full((int(data.final_observations.max()) + 1, int(data.actions.max()) + 1), -np.inf)
    table[data.observations, data.actions] = 0.0
    table[np.isneginf(table).all(axis=1)] = 0.0
    return table


def oracle(data: Trajectories) -> float:
    """max_a Q(s0, a) by dynamic programming: back up every row until nothing changes."""
    table, successors = empty_table(data), data.successors(np.arange(data.rows))
    for _ in range(data.rows):
        table[data.observations, data.actions] = data.rewards + DISCOUNT * table[successors].max(axis=-1)
    return float(table[START].max())


class Learner:
    """Tabular Q-learning, one transition per update, for all seeds side by side: one memory and one table each."""

    def __init__(self, data: Trajectories, memories: list[Replay], updates: int, learning_rate: float) -> None:
        self.data, self.memories, self.learning_rate = data, memories, learning_rate
        self.successors = data.successors(np.arange(data.rows))
        self.table = np.repeat(empty_table(data)[None], len(memories), axis=0)  # (seeds, states, actions)
        self.values = np.zeros((updates, len(memories)))  # (updates, seeds) max_a Q(s0, a) after each update
        for memory in memories:
            memory.load_offline_dataset(data)
        # Only priorities of TD errors need an answer before the next draw; the others are planned in one go.
        self.answers = isinstance(memories[0], PrioritizedReplay)
        plans = [] if self.answers else [memory.plan(updates, 1).indices[:, 0] for memory in memories]
        self.plans = np.array(plans).T  # (updates, seeds)

    def update(self, step: int) -> None:
        rows = self._draw() if self.answers else self.plans[step]
        seeds = np.arange(len(rows))
        at = (seeds, self.data.observations[rows], self.data.actions[rows])
        bootstrap = self.table[seeds, self.successors[rows]].max(axis=-1)  # 0 after a terminal
        td_errors = self.data.rewards[rows] + DISCOUNT * bootstrap - self.table[at]
        self.table[at] += self.learning_rate * td_errors
        self.values[step] = self.table[:, START].max(axis=-1)
        if self.answers:
            for memory, td_error in zip(self.memories, td_errors, strict=True):
                memory.update_priorities(td_error[None])

    def _draw(self) -> Array:
        return np.array([memory.plan(1, 1).indices[0, 0] for memory in self.memories])


@dataclass(frozen=True, eq=False)
class Curve:
    """How one sampler learned the value of s0."""

    values: Array  # (updates, seeds) max_a Q(s0, a) after each update
    oracle: float

    @property
    def needed(self) -> Array:
        """(seeds,) updates until 95% of the oracle; inf where it was not reached. Values never fall, see the tests."""
        enough = self.values >= SHARE * self.oracle
        return np.where(enough.any(axis=0), enough.argmax(axis=0) + 1.0, np.inf)


@dataclass(frozen=True, eq=False)
class ToyResult:
    """All curves, by kind of rewards and sampler, and how they came about."""

    curves: dict[str, dict[str, Curve]]
    seeds: int
    updates: int
    learning_rate: float
    seed: int


def learn(*, seeds: int = 50, updates: int = 300, learning_rate: float = 1.0, seed: int = 0) -> ToyResult:
    """The whole example. Sampler by sampler, run i draws from the same random stream."""
    if seeds < 1 or updates < 1:
        raise UsageError(f"{seeds} seeds and {updates} updates; expected at least 1 of each")
    if not 0.0 < learning_rate <= 1.0:
        raise UsageError(f"learning_rate is {learning_rate}; expected a number above 0, at most 1")
    learners = {
        (rewards, name): Learner(
            trajectories(rewards),
            [make(stream) for stream in np.random.SeedSequence(seed).spawn(seeds)],
            updates,
            learning_rate,
        )
        for rewards in REWARDS
        for name, make in SAMPLERS.items()
    }
    for step in progress(range(updates), "updates"):
        for learner in learners.values():
            learner.update(step)
    curves = {
        rewards: {
            name: Curve(learners[rewards, name].values, oracle(learners[rewards, name].data)) for name in SAMPLERS
        }
        for rewards in REWARDS
    }
    return ToyResult(curves, seeds, updates, learning_rate, seed)
