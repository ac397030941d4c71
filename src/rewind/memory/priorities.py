"""Trajectory priorities: six of quality, six of uncertainty, and how `auto` chooses (section 5 of the paper).

A priority is one function from grouped numbers to one number per trajectory, and one line here; or, in another package,
an entry point of the group "rewind.priorities" (`rewind.registry`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories
from rewind.errors import DataError, UsageError, unknown_name
from rewind.memory.ragged import Ragged
from rewind.registry import Registry


def total(numbers: Ragged) -> Array:
    return numbers.sum()


def mean(numbers: Ragged) -> Array:
    return numbers.mean()


def upper_quartile_mean(numbers: Ragged) -> Array:
    return numbers.upper_mean(0.25)


def upper_half_mean(numbers: Ragged) -> Array:
    return numbers.upper_mean(0.5)


def lower_quartile_mean(numbers: Ragged) -> Array:
    return numbers.lower_mean(0.25)


def minimum(numbers: Ragged) -> Array:
    return numbers.min()


def maximum(numbers: Ragged) -> Array:
    return numbers.max()


@dataclass(frozen=True)
class Priority:
    """What a trajectory is ranked by: a summary of its rewards, or of the critics' disagreement along it.

    sign: -1 ranks low values first. The paper takes the reciprocal; only ranks are used, and a negative has the same
    ranks and is defined at zero.
    """

    metric: Callable[[Ragged], Array]
    of: str = "rewards"  # or "uncertainty": known only while training
    sign: float = 1.0

    @property
    def dynamic(self) -> bool:
        return self.of == "uncertainty"

    def values(self, numbers: Ragged) -> Array:
        return self.sign * self.metric(numbers)


_PAPER = {
    "return": Priority(total),
    "avg_reward": Priority(mean),
    "uqm_reward": Priority(upper_quartile_mean),
    "uhm_reward": Priority(upper_half_mean),
    "min_reward": Priority(minimum),
    "max_reward": Priority(maximum),
    "lower_mean_unc": Priority(mean, "uncertainty", -1.0),
    "lower_lqm_unc": Priority(lower_quartile_mean, "uncertainty", -1.0),
    "lower_uqm_unc": Priority(upper_quartile_mean, "uncertainty", -1.0),
    "higher_mean_unc": Priority(mean, "uncertainty"),
    "higher_lqm_unc": Priority(lower_quartile_mean, "uncertainty"),
    "higher_uqm_unc": Priority(upper_quartile_mean, "uncertainty"),
}

PRIORITIES: Registry[Priority] = Registry("priority", "rewind.priorities", _PAPER)

# Rewards are sparse when at least this share of them equals the most frequent value.
SPARSE_SHARE = 0.95


@dataclass(frozen=True)
class Choice:
    """What `auto` chose for a data set, and the numbers behind it."""

    priority: str
    label: str  # "sparse" or "dense"
    share: float  # of the rewards that equal the most frequent value
    value: float  # that value
    because: str

    def __str__(self) -> str:
        return f"priority 'auto' chose '{self.priority}', as the paper advises: {self.because}"


def choose(data: Trajectories, label: str | None = None) -> Choice:
    """The paper's summary table: quality (average reward) on sparse rewards, lower uncertainty (UQM) on dense ones.

    label: "sparse" or "dense" where it is known from elsewhere; otherwise the rewards decide.
    """
    values, counts = np.unique(data.rewards, return_counts=True)
    share, value = float(counts.max() / counts.sum()), float(values[counts.argmax()])
    measured = f"the commonest reward, {value:g}, is {share:.1%} of {data.rows:,} ({len(values):,} different values)"
    if label is None:
        label = "sparse" if share >= SPARSE_SHARE else "dense"
        because = f"{measured}, so rewards are {label} (sparse from {SPARSE_SHARE:.0%})"
    else:
        because = f"the catalogue calls {data.name} {label}; {measured}"
    return Choice("avg_reward" if label == "sparse" else "lower_uqm_unc", label, share, value, because)


def rewards_of(data: Trajectories) -> Ragged:
    return Ragged(data.rewards, data.starts, data.lengths)


def check_priority(priority: object) -> None:
    """A known name, or one finite number per trajectory."""
    if isinstance(priority, str):
        if priority not in ("uniform", "auto") and priority not in PRIORITIES:
            raise unknown_name("priority", priority, ("uniform", *PRIORITIES, "auto"))
        return
    try:
        array = np.asarray(priority, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(
            f"priority is {type(priority).__name__}; expected a name or one number per trajectory"
        ) from None
    if array.ndim != 1:
        raise UsageError(f"priority has shape {array.shape}; expected one number per trajectory")
    if not np.isfinite(array).all():
        where = int(np.argmin(np.isfinite(array)))
        raise DataError(f"priority of trajectory {where} is {array[where]}; expected a finite number")
