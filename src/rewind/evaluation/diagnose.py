"""What can be said of an agent when there is no simulator: how its critic and its policy stand to the data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewind.arrays import Array, to_numpy
from rewind.compiled import compiled
from rewind.data import Trajectories
from rewind.errors import DataError, UsageError
from rewind.targets import SLACK, excess, target_bounds

NEGLIGIBLE = 0.01  # what a time-out may cut off a Monte-Carlo return, as a share of an endless one


@dataclass(frozen=True)
class Diagnostics:
    """td_error: mean |r + discount * Q(s', pi(s')) - Q(s, a)|
    td_bias: the same without the bars: above zero, the critic still rises
    value_correlation: of Q(s, a) with the Monte-Carlo return of the data; NaN where either is constant
    value_bias: mean Q(s, a) - Monte-Carlo return: above zero, the policy is better than the data, or Q too large
    impossible: share of the rows whose Q(s, a) is outside the possible returns by more than a twentieth of their range;
        NaN where everything is possible. A critic may diverge in few places, and its mean Q look sound.
    action_distance: mean |pi(s) - a|, Euclidean
    rows: how many transitions were looked at
    value_rows: how many of them have a Monte-Carlo return, which value_correlation and value_bias rest on; without any,
        both are NaN
    terminal_rows: how many of those are followed by a terminal; the others by a time-out so late that it makes no
        difference
    """

    td_error: float
    td_bias: float
    value_correlation: float
    value_bias: float
    impossible: float
    action_distance: float
    rows: int
    value_rows: int
    terminal_rows: int


COUNTS = ("rows", "value_rows", "terminal_rows")
DIAGNOSED = tuple(name for name in Diagnostics.__annotations__ if name not in COUNTS)


def diagnose(
    q: Callable[[Array, Array], Any],
    act: Callable[[Array], Any],
    data: Trajectories,
    discount: float = 0.99,
    rows: int = 10_000,
    seed: int = 0,
    possible: tuple[float, float] | None = None,
) -> Diagnostics:
    """Look at `rows` random transitions, or at all where there are fewer.

    q: (rows, observation), (rows, action) -> (rows,)
    act: (rows, observation) -> (rows, action)
    data: as it was trained on: the rewards after their transform; q and act normalise states themselves
    possible: the least and the most that Q can be; None: the returns that the rewards of the data allow
    """
    if possible is None:
        possible = target_bounds(data.rewards, discount) if discount < 1 else (-np.inf, np.inf)
    chosen = _choose(data, rows, seed)
    observations, actions = data.observations[chosen], data.actions[chosen]
    terminal = data.terminals[chosen]
    successors = data.successors(chosen)
    values = _flat("q", q(observations, actions), len(chosen))
    bootstrap = _flat("q", q(successors, to_numpy(act(successors))), len(chosen))
    errors = data.rewards[chosen] + discount * np.where(terminal, 0.0, bootstrap) - values
    returns = monte_carlo(data, discount)[chosen]
    has_return = np.isfinite(returns)
    distances = np.linalg.norm((to_numpy(act(observations)) - actions).reshape(len(chosen), -1), axis=1)
    return Diagnostics(
        td_error=float(np.abs(errors).mean()),
        td_bias=float(errors.mean()),
        value_correlation=_correlation(values[has_return], returns[has_return]),
        value_bias=float((values - returns)[has_return].mean()) if has_return.any() else float("nan"),
        impossible=_impossible(values, *possible),
        action_distance=float(distances.mean()),
        rows=len(chosen),
        value_rows=int(has_return.sum()),
        terminal_rows=int((has_return & np.repeat(data.terminated, data.lengths)[chosen]).sum()),
    )


def counted_rows(figures: Mapping[str, Any]) -> str:
    """What the value figures rest on, in words; empty where an earlier version has not counted."""
    if figures.get("terminal_rows") is None:
        return ""
    rows, with_return, ended = (int(figures[name]) for name in COUNTS)
    return (
        f"the value figures rest on {with_return:,} of {rows:,} rows: {ended:,} before a terminal, "
        f"{with_return - ended:,} long before a time-out"
    )


def _impossible(values: Array, low: float, high: float) -> float:
    """NaN where everything is possible or there is no critic; a single Q that is not a number is impossible."""
    beyond = excess(values, low, high)
    return float("nan") if np.isnan(beyond).all() else float(((beyond > SLACK) | np.isnan(beyond)).mean())


def monte_carlo(data: Trajectories, discount: float, cut: bool = False) -> Array:
    """(rows,) discounted sum of the rewards from each row to the next terminal, float64.

    NaN where a time-out cut off so much that it would show: rows with discount^(steps left) above 1% that no terminal
    follows.

    cut: instead of NaN, the sum up to the time-out
    """
    rewards, most = data.rewards.astype(np.float64), 1.0 if cut else NEGLIGIBLE
    return _discounted(rewards, data.starts, data.lengths, data.terminals, discount, most)


@compiled
def _discounted(rewards: Array, starts: Array, lengths: Array, terminals: Array, discount: float, most: float) -> Array:
    returns = np.full(rewards.size, np.nan)
    for group in range(lengths.size):
        total, tail = 0.0, 1.0  # tail: what a reward after the last row would count here
        for row in range(starts[group] + lengths[group] - 1, starts[group] - 1, -1):
            if terminals[row]:
                total, tail = 0.0, 0.0
            total = rewards[row] + discount * total
            tail *= discount
            if tail <= most:
                returns[row] = total
    return returns


def _choose(data: Trajectories, rows: int, seed: int) -> Array:
    """Rows that are transitions, without repetition, in their order."""
    if rows < 1:
        raise UsageError(f"rows is {rows}; at least one must be looked at")
    replayable = np.ones(data.rows, bool)
    replayable[data.starts + data.lengths - 1] = data.terminated | data.final_known
    candidates = np.flatnonzero(replayable)
    if not len(candidates):
        raise DataError("the data has no transition with a known successor")
    stream = np.random.default_rng(seed)
    chosen: Array = stream.choice(candidates, min(rows, len(candidates)), replace=False)
    return np.sort(chosen)


def _flat(name: str, values: Any, rows: int) -> Array:
    values = np.asarray(to_numpy(values), np.float64)
    if values.size != rows:
        raise UsageError(f"{name} gave shape {values.shape} for {rows} rows; expected ({rows},)")
    flat: Array = values.reshape(rows)
    return flat


def _correlation(left: Array, right: Array) -> float:
    if len(left) < 2 or left.std() == 0.0 or right.std() == 0.0:
        return float("nan")
    return float(np.corrcoef(left, right)[0, 1])
