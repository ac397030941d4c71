"""Weighted importance sampling: what a policy is worth where the log has the probabilities of its actions.

    w_t = product over k <= t of pi(a_k | s_k) / mu(a_k | s_k)
    value = sum over t of discount^t * (sum of w_t r_t over trajectories) / (sum of w_t over trajectories)

After a terminal a trajectory has rewards of 0 and keeps its weight. After a time-out it no longer counts.
"""

from typing import NamedTuple

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories
from rewind.errors import UsageError
from rewind.statistics import LEVEL, Estimate

RESAMPLES = 1000


class WeightedSampling(NamedTuple):
    """estimate: with its bootstrap interval over trajectories; NaN where no trajectory does what the policy does
    effective: how many trajectories of equal weight would say as much; below ten or so, the estimate says little
    """

    estimate: Estimate
    effective: float


def weighted_importance_sampling(
    data: Trajectories, log_prob: Array, target_log_prob: Array, discount: float = 0.99, seed: int = 0
) -> WeightedSampling:
    """The value of a policy at the first states of the trajectories.

    log_prob: (rows,) log-probability, or log-density, of each logged action under the policy that chose it
    target_log_prob: (rows,) under the policy to evaluate; of a deterministic one 0 where it does the same, else -inf
    """
    for name, values in (("log_prob", log_prob), ("target_log_prob", target_log_prob)):
        if np.shape(values) != (data.rows,) or np.isnan(values).any():
            raise UsageError(f"{name} has shape {np.shape(values)}, or NaN; expected ({data.rows},), one per row")
    if not np.isfinite(log_prob).all():
        raise UsageError("log_prob holds an infinity: the log's own policy cannot have done what it never does")
    shape = (len(data), int(data.lengths.max()))
    rewards, logs, counts = np.zeros(shape), np.zeros(shape), np.ones(shape, bool)
    ratios = np.asarray(target_log_prob, np.float64) - log_prob
    terminals = data.terminals
    for index, (start, length) in enumerate(zip(data.starts, data.lengths, strict=True)):
        ended = np.flatnonzero(terminals[start : start + length])
        last = int(ended[0]) + 1 if len(ended) else int(length)
        rewards[index, :last] = data.rewards[start : start + last]
        logs[index] = np.pad(np.cumsum(ratios[start : start + last]), (0, shape[1] - last), mode="edge")
        counts[index, last:] = len(ended) > 0
    largest = np.where(counts, logs, -np.inf).max(axis=0)
    weights = np.where(counts, np.exp(logs - np.where(np.isfinite(largest), largest, 0.0)), 0.0)
    drawn = np.random.default_rng(seed).multinomial(len(data), np.full(len(data), 1 / len(data)), RESAMPLES)
    value = float(_value(np.ones((1, len(data))), weights, rewards, discount)[0])
    resampled = _value(drawn, weights, rewards, discount)
    defined = resampled[np.isfinite(resampled)]
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if len(defined) else (np.nan, np.nan)
    total = weights[:, -1].sum() ** 2
    return WeightedSampling(
        Estimate(value, float(low), float(high)), float(total / max((weights[:, -1] ** 2).sum(), 1e-300))
    )


def _value(counts: Array, weights: Array, rewards: Array, discount: float) -> Array:
    """(resamples,) of counts (resamples, trajectories); NaN where all weight is gone before the end."""
    total = counts @ weights  # (resamples, time)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (counts @ (weights * rewards)) / total
    return np.asarray((means * discount ** np.arange(weights.shape[1])).sum(axis=1))
