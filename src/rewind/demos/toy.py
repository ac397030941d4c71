"""The motivating example (figure 1, appendix B): three trajectories, one start state, four ways to sample.

                          rewards, dense            rewards, sparse
    s0 -> t1 (6 steps)    0  2  0  0  0  2          0  0  0  0  0  4         return 4
    s0 -> t2 (6 steps)    0  2  2  0  2  2          0  0  0  0  0  8         return 8: worth 7.76 dense, 7.61 sparse
    s0 -> t3 (6 steps)    0  2  0  0  0  2          0  0  0  0  0  4         return 4

The paper gives the returns, the discount and both optima, from which the best trajectory has six steps; the rest is
chosen here. All three have the same length, so that `uni_state` and `uni_traj` replay every transition equally often
and differ only in the order. The first reward is 0, so that the value of s0 always comes from later steps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, from_episodes
from rewind.errors import UsageError
from rewind.memory import PrioritizedReplay, TrajectoryReplay, UniformReplay
from rewind.memory.replay import Replay
from rewind.progress import progress
from rewind.report.figures import BLUE, GREEN, GREY, INK, NOTE, PINK, RED, TEXT, TITLE, headed, new_figure, save, styled

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


def learned_values(data: Trajectories, memories: list[Replay], updates: int, learning_rate: float) -> Array:
    """(updates, seeds) max_a Q(s0, a) after each update of tabular Q-learning, one transition each.

    memories: one for each seed
    """
    for memory in memories:
        memory.load_offline_dataset(data)
    # Only priorities by TD error need feedback before the next draw; the others are planned in advance.
    by_td_error = isinstance(memories[0], PrioritizedReplay)
    planned = [] if by_td_error else [memory.plan(updates, 1).indices[:, 0] for memory in memories]
    seeds, successors = np.arange(len(memories)), data.successors(np.arange(data.rows))
    table = np.repeat(empty_table(data)[None], len(memories), axis=0)  # (seeds, states, actions)
    values = np.zeros((updates, len(memories)))
    for step in range(updates):
        drawn = [memory.plan(1, 1).indices[0, 0] for memory in memories] if by_td_error else [p[step] for p in planned]
        rows = np.array(drawn)
        at = (seeds, data.observations[rows], data.actions[rows])
        bootstrap = table[seeds, successors[rows]].max(axis=-1)  # 0 after a terminal
        td_errors = data.rewards[rows] + DISCOUNT * bootstrap - table[at]
        table[at] += learning_rate * td_errors
        values[step] = table[:, START].max(axis=-1)
        if by_td_error:
            for memory, td_error in zip(memories, td_errors, strict=True):
                memory.update_priorities(td_error[None])
    return values


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
    curves: dict[str, dict[str, ToyCurve]] = {rewards: {} for rewards in REWARDS}
    for rewards, name in progress([*product(REWARDS, SAMPLERS)], "samplers"):
        data, streams = trajectories(rewards), np.random.SeedSequence(seed).spawn(seeds)
        values = learned_values(data, [SAMPLERS[name](stream) for stream in streams], updates, learning_rate)
        curves[rewards][name] = ToyCurve(values, oracle(data))
    return ToyResult(curves, seeds, updates, learning_rate, seed)


# Pictures

SAMPLER_COLOURS = {"uni_state": GREY, "prio_state": PINK, "uni_traj": BLUE, "prio_traj": RED}
TRAJECTORY_COLOURS = (BLUE, RED, GREEN)
ROW_HEIGHT = 1.5  # in steps


def draw_toy(result: ToyResult, folder: Path) -> list[Path]:
    written = []
    with styled():
        for rewards, curves in result.curves.items():
            written += save(draw_curves(rewards, curves, result), folder, f"toy_{rewards}")
        written += save(draw_trajectories(result), folder, "toy_trajectories")
    return written


def draw_curves(rewards: str, curves: dict[str, ToyCurve], result: ToyResult) -> Any:
    """max_a Q(s0, a) against updates: mean over seeds, plus and minus one standard deviation."""
    figure = new_figure(7.2, 4.4)
    axes = figure.add_subplot()
    updates = np.arange(result.updates + 1)
    for name, curve in curves.items():
        values = np.vstack([np.zeros(result.seeds), curve.values])
        mean, std = values.mean(axis=1), values.std(axis=1)
        axes.fill_between(updates, mean - std, mean + std, color=SAMPLER_COLOURS[name], alpha=0.15, linewidth=0)
        axes.plot(updates, mean, color=SAMPLER_COLOURS[name], linewidth=2.2, label=name)
    oracle = curves["uni_state"].oracle
    axes.axhline(oracle, color=INK, linestyle=(0, (5, 4)), linewidth=1.2, label=f"oracle {oracle:.2f}")
    axes.set(xlim=(0, result.updates), ylim=(0, 9), xlabel="updates, one transition each", ylabel="max Q(s0, a)")
    note = f"mean and std of {result.seeds} seeds, learning rate {result.learning_rate:g}"
    headed(axes, f"{rewards.capitalize()} rewards", note)
    axes.legend(loc="lower right", frameon=True, framealpha=0.95, edgecolor="none")
    return figure


def draw_trajectories(result: ToyResult) -> Any:
    """The three trajectories from s0, with the rewards on their steps: dense beside sparse."""
    figure = new_figure(14, 3.9)
    for place, rewards in enumerate(REWARDS):
        axes = figure.add_subplot(1, 2, place + 1)
        axes.set_aspect("equal")
        axes.set_axis_off()
        axes.set(xlim=(-0.6, 8.2), ylim=(-ROW_HEIGHT - 0.3, ROW_HEIGHT + 1.2))
        oracle = result.curves[rewards]["uni_state"].oracle
        axes.text(-0.5, ROW_HEIGHT + 0.85, f"{rewards.capitalize()} rewards", fontweight="bold", fontsize=TITLE)
        axes.text(3.0, ROW_HEIGHT + 0.85, f"discounted, the best is worth {oracle:.2f}", color=GREY)
        for number, steps in enumerate(REWARDS[rewards]):
            _draw_trajectory(axes, number, steps)
        _draw_state(axes, 0.0, 0.0, INK, "s0")
    figure.subplots_adjust(left=0, right=1, bottom=0, top=1, wspace=0.02)
    return figure


def _draw_trajectory(axes: Any, number: int, steps: tuple[float, ...]) -> None:
    colour, height = TRAJECTORY_COLOURS[number], (1 - number) * ROW_HEIGHT
    places = [(0.0, 0.0), *((step + 1.0, height) for step in range(len(steps)))]
    for reward, start, end in zip(steps, places, places[1:], strict=False):
        arrow = {"arrowstyle": "-|>", "shrinkA": 13, "shrinkB": 13, "linewidth": 2.6 if reward else 1.4}
        axes.annotate("", end, start, arrowprops={**arrow, "color": colour if reward else GREY})
        if reward:
            middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + 0.2)
            axes.text(*middle, f"+{reward:g}", ha="center", va="bottom", color=colour, fontweight="bold", fontsize=TEXT)
    for step, place in enumerate(places[1:-1], start=1):
        _draw_state(axes, *place, colour, f"s{step}" if number == 1 else "")
    _draw_state(axes, *places[-1], colour, "", end=True)
    returns = f"return {sum(steps):g}"
    axes.text(len(steps) + 0.5, height, f"τ{number + 1}   {returns}", va="center", color=colour, fontsize=TEXT)


def _draw_state(axes: Any, x: float, y: float, colour: str, label: str, end: bool = False) -> None:
    """A circle, or a filled square at the end of the trajectory."""
    axes.plot(
        x, y, marker="s" if end else "o", markersize=18 if end else 24, color=colour if end else "white",
        markeredgecolor=colour, markeredgewidth=2, zorder=3,
    )  # fmt: skip
    axes.text(x, y, label, ha="center", va="center", zorder=4, fontsize=NOTE, color=INK)
