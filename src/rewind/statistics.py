"""Statistics over runs and tasks, with intervals for few seeds.

A sample is a list of tasks. A task is an array whose last axis is its runs. All tasks have the same weight, whatever
their number of runs. Leading axes are resamples, so one function computes the statistic and its resamples.

Means and their differences have intervals by Student's t, with spread borrowed from runs of the same task. A bootstrap
of 3 to 8 runs is too narrow; and where runs either succeed or fail, a few of them may all succeed by chance: their own
spread is then 0, which says nothing. `combined` therefore takes the larger of a cell's own variance and one that leans
on the typical variance of its task, as if BORROWED more runs had that one. tests/test_intervals.py simulates how often
such intervals hold the truth. What is not a mean has a bootstrap interval (Agarwal et al., 2021).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rewind.arrays import Array

LEVEL = 0.95
BORROWED = 2  # runs
Sample = Sequence[Array]  # one (..., runs) for each task
RESAMPLES = 10_000


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
    redrawn = {
        key: runs[generator.integers(len(runs), size=(resamples, len(runs)))]  # (resamples, runs), with replacement
        for key, runs in tasks.items()
    }
    drawn = [[redrawn[id(task)] for task in sample] for sample in samples]
    low, high = np.quantile(statistic(*drawn), [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return Estimate(value, low, high)


# Intervals of means


class Term(NamedTuple):
    """A mean over runs in a weighted sum; typical: the usual variance of runs there, None where it is not known."""

    weight: float
    runs: Array
    typical: float | None = None


class Measured(NamedTuple):
    """A number, its standard error and degrees of freedom; the error is None if some mean is of one run."""

    value: float
    error: float | None
    freedom: float = math.inf

    @property
    def estimate(self) -> Estimate:
        if self.error is None:
            return Estimate(self.value)
        reach = t_quantile(LEVEL, self.freedom) * self.error
        return Estimate(self.value, self.value - reach, self.value + reach)

    def p(self, against: float = 0.0) -> float:
        """Of two sides: how easily chance makes a number so far from `against`."""
        if self.error is None:
            return 1.0
        apart = abs(self.value - against)
        if self.error == 0.0:
            return 0.0 if apart else 1.0
        return t_tails(apart / self.error, self.freedom)


def combined(terms: Iterable[Term]) -> Measured:
    """A weighted sum of means over runs, its variance after Welch and Satterthwaite.

    An array in several terms is one mean: its weights add up.
    """
    merged: dict[int, Term] = {}
    for term in terms:
        earlier_term = merged.get(id(term.runs))
        merged[id(term.runs)] = (
            term if earlier_term is None else term._replace(weight=earlier_term.weight + term.weight)
        )
    used = [term for term in merged.values() if not math.isclose(term.weight, 0.0, abs_tol=1e-12)]
    value = float(sum(term.weight * term.runs.mean() for term in used))
    if any(len(term.runs) < 2 for term in used):
        return Measured(value, None)
    return welch(value, [(term.weight**2 * _variance(term) / len(term.runs), len(term.runs) - 1) for term in used])


def welch(value: float, parts: Sequence[tuple[float, int]]) -> Measured:
    """A sum of means of runs.

    parts: the squared standard error of each mean, as it counts in the sum, and its degrees of freedom
    """
    total = sum(squared for squared, _ in parts)
    if total == 0.0:
        return Measured(value, 0.0)
    return Measured(value, math.sqrt(total), total**2 / sum(squared**2 / freedom for squared, freedom in parts))


def _variance(term: Term) -> float:
    variance, freedom = float(term.runs.var(ddof=1)), len(term.runs) - 1
    borrowed = (
        variance if term.typical is None else (freedom * variance + BORROWED * term.typical) / (freedom + BORROWED)
    )
    return max(variance, borrowed)


def typical_variance(cells: Iterable[Array]) -> float | None:
    """The mean variance of the runs of several methods on one task; None where none has two runs."""
    variances = [float(runs.var(ddof=1)) for runs in cells if len(runs) > 1]
    return float(np.mean(variances)) if variances else None


def mean_over(tasks: Sequence[Array]) -> Measured:
    """The mean over tasks of the mean over runs."""
    return combined(Term(1 / len(tasks), runs) for runs in tasks)


def over_tasks(values: ArrayLike) -> Measured | None:
    """A mean over tasks that are themselves a sample: how it varies with other seeds and other tasks; None for one."""
    values = np.asarray(values, np.float64)
    if len(values) < 2:
        return None
    return Measured(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)), len(values) - 1)


def interval(values: ArrayLike) -> tuple[float, float] | None:
    """The 95% t interval of a mean over seeds; None for one value."""
    values = np.asarray(values, np.float64)
    if len(values) < 2:
        return None
    _, low, high = combined([Term(1.0, values)]).estimate
    return float(low), float(high)


def holm(ps: Sequence[float]) -> list[float]:
    """The p values of several questions, corrected for their number after Holm."""
    order = sorted(range(len(ps)), key=lambda place: ps[place])
    adjusted, least = [0.0] * len(ps), 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = least
    return adjusted


# Student's t, without SciPy


@lru_cache(maxsize=4096)
def t_quantile(level: float, freedom: float) -> float:
    """The t that |T| exceeds with probability 1 - level."""
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tails(middle, freedom) > 1 - level else (low, middle)
    return (low + high) / 2


def t_tails(t: float, freedom: float) -> float:
    """The probability that |T| exceeds t: the regularised incomplete beta function I_x(freedom / 2, 1 / 2)."""
    if math.isinf(freedom) or freedom > 1e7:
        return math.erfc(t / math.sqrt(2))
    x, a, b = freedom / (freedom + t * t), freedom / 2, 0.5
    if x >= 1.0:
        return 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny, c = 1e-300, 1.0
    d = 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 1000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + step * d) or tiny)
            c = (1 + step / c) or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return value
