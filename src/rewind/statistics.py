"""Statistics over runs and tasks with bootstrap intervals, for few seeds (Agarwal et al., 2021).

A sample is a list of tasks. A task is an array whose last axis is its runs. All tasks have the same weight, whatever
their number of runs. Leading axes are resamples, so one function computes the statistic and its resamples.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rewind.arrays import Array
from rewind.errors import UsageError

Sample = Sequence[Array]  # one (..., runs) for each task
RESAMPLES, COVERED = 10_000, 0.95


class Estimate(NamedTuple):
    """A statistic and the bounds of its 95% interval. The bounds are None if some task has only one run."""

    value: Any
    low: Any = None
    high: Any = None


def mean(tasks: Sample) -> Any:
    """The mean of the task means."""
    return np.mean([task.mean(axis=-1) for task in tasks], axis=0)


def deviation(runs: ArrayLike) -> float | None:
    """The standard deviation of one task's runs, with n - 1 in the denominator; None for one run.

    The paper must do the same: its 32.00 +- 52.01 for three scores from 0 to 100 is impossible with n.
    """
    runs = np.asarray(runs, np.float64)
    return float(runs.std(ddof=1)) if len(runs) > 1 else None


def iqm(tasks: Sample) -> Any:
    """The interquartile mean: the mean of the middle half of all runs. Each task has the same total weight."""
    values = np.concatenate(list(tasks), axis=-1)
    weights = np.concatenate([np.full(task.shape[-1], 1 / (len(tasks) * task.shape[-1])) for task in tasks])
    order = values.argsort(axis=-1)
    until = weights[order].cumsum(axis=-1)
    inside = np.diff(until.clip(0.25, 0.75), axis=-1, prepend=0.25)  # a run on a quartile counts partly
    return (np.take_along_axis(values, order, -1) * inside).sum(axis=-1) / inside.sum(axis=-1)


def profile(tasks: Sample, thresholds: ArrayLike) -> Any:
    """The performance profile: the fraction of runs above each threshold, (..., thresholds)."""
    limits = np.asarray(thresholds)
    return np.mean([(task[..., None] > limits).mean(axis=-2) for task in tasks], axis=0)


def improvement(ones: Sample, others: Sample) -> Any:
    """The probability that a run of `ones` beats a run of `others` on a task, mean over tasks. A tie counts half."""
    pairs = [(one[..., :, None], other[..., None, :]) for one, other in zip(ones, others, strict=True)]
    return np.mean([((a > b) + 0.5 * (a == b)).mean(axis=(-2, -1)) for a, b in pairs], axis=0)


def difference(ones: Sample, others: Sample) -> Any:
    """The difference between the means over tasks."""
    return mean(ones) - mean(others)


def bootstrap(statistic: Callable[..., Any], *samples: Sample, resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
    """A statistic of samples with its stratified bootstrap interval: runs are resampled within each task.

    The interval shows how the statistic varies with other seeds on the same tasks, not on other tasks. An array that
    occurs in several samples (the same runs under two names) is resampled once for all of them.
    """
    value = statistic(*samples)
    if any(len(task) < 2 for sample in samples for task in sample):
        return Estimate(value)
    generator = np.random.default_rng(seed)
    tasks = {id(task): task for sample in samples for task in sample}
    redrawn = {key: _redrawn(task, resamples, generator) for key, task in tasks.items()}
    drawn = [[redrawn[id(task)] for task in sample] for sample in samples]
    low, high = np.quantile(statistic(*drawn), [(1 - COVERED) / 2, (1 + COVERED) / 2], axis=0)
    return Estimate(value, low, high)


def _redrawn(runs: Array, resamples: int, generator: np.random.Generator) -> Array:
    """(resamples, runs), drawn with replacement."""
    return runs[generator.integers(len(runs), size=(resamples, len(runs)))]


def t_quantile(freedom: int) -> float:
    """The 97.5% quantile of Student's t distribution, by its expansion in 1 / freedom; at least 3 degrees."""
    if freedom < 3:
        raise UsageError(f"{freedom} degrees of freedom; expected at least 3")
    z = 1.959964
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    return float(z + sum(term / freedom**power for power, term in enumerate(terms, 1)))


def interval(values: ArrayLike, seed: int = 0) -> tuple[float, float] | None:
    """The 95% bootstrap interval of a mean over seeds; None for one value."""
    values = np.asarray(values, np.float64)
    if len(values) < 2:
        return None
    estimate = bootstrap(mean, [values], seed=seed)
    return float(estimate.low), float(estimate.high)
