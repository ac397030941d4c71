"""Trajectory priorities: six of quality, six of uncertainty (section 5 of the paper), and one of ours.

A priority is one function from grouped numbers to one number per trajectory, and one line here; or, in another package,
an entry point of the group "rewind.priorities" (`rewind.registry`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories
from rewind.data.parts import each_part, side_by_side
from rewind.errors import DataError, RewindError, UsageError, one_line, unknown_name
from rewind.memory.choice import RULES
from rewind.memory.ragged import Ragged
from rewind.registry import Registry

# Of `rewind train`, that are no priorities: what to take in Python.
SAMPLERS = {"tr": "plain Trajectory Replay is priority='uniform'", "baseline": "uniform sampling is UniformReplay()"}
ROUNDING = 1e-6  # of the largest return: what is smaller, a fit leaves by rounding, and ranks say nothing


def advantage(data: Trajectories) -> Array:
    """Return minus a linear fit of it to the first observation: better than other trajectories that start there."""
    returns = data.returns.astype(np.float64)
    first = side_by_side(each_part(lambda part: part[data.starts], data.observations))
    inputs = np.column_stack([first, np.ones(len(data))]).astype(np.float64)
    fit = inputs @ np.linalg.lstsq(inputs, returns, rcond=None)[0]
    left = (returns - fit).astype(np.float32)
    return np.where(np.abs(left) > ROUNDING * np.abs(returns).max(), left, 0.0).astype(np.float64)


@dataclass(frozen=True)
class Priority:
    """What a trajectory is ranked by: a summary of its rewards, or of the critics' disagreement along it.

    sign: -1 ranks low values first. The paper takes the reciprocal; only ranks are used, and a negative has the same
    ranks and is defined at zero.
    """

    metric: Callable[[Any], Array]
    of: str = "rewards"  # "uncertainty": known only while training; "trajectories": a function of all `Trajectories`
    sign: float = 1.0

    def __str__(self) -> str:
        return " ".join(["priority", *(repr(name) for name, priority in PRIORITIES.importable() if priority is self)])

    @property
    def dynamic(self) -> bool:
        return self.of == "uncertainty"

    def values(self, numbers: Any) -> Array:
        """(trajectories,) checked: the function may be somebody's own.

        numbers: `Ragged` or `Trajectories`
        """
        count = len(numbers.lengths)
        try:
            values = self.metric(numbers)
        except (RewindError, Warning):  # where warnings are errors
            raise
        except Exception as error:  # whatever somebody's function raises
            raise DataError(f"{self} raised {type(error).__name__}: {one_line(error)}") from error
        try:
            values = self.sign * np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"{self} returned {type(values).__name__}; expected one number per trajectory") from None
        if values.shape != (count,):
            raise DataError(
                f"{self} returned shape {values.shape} for {count:,} trajectories; expected ({count},): one number for "
                "each, such as its mean"
            )
        if count and not values.min() > -np.inf:  # so is NaN, which ranks nothing
            where = int(np.argmin(values > -np.inf))
            raise DataError(f"{self} returned {values[where]} for trajectory {where} of {count:,}; expected a number")
        return np.asarray(values)

    def of_data(self, data: Trajectories) -> Array:
        """(trajectories,) before any sweep; what is known only while training ranks best until it is visited."""
        if self.dynamic:
            return np.full(len(data), np.inf)
        ranked_by = data if self.of == "trajectories" else Ragged(data.rewards, data.starts, data.lengths)
        return self.values(ranked_by)


_UPPER_QUARTILE = partial(Ragged.upper_mean, fraction=0.25)
_LOWER_QUARTILE = partial(Ragged.lower_mean, fraction=0.25)
_OWN = {
    "return": Priority(Ragged.sum),
    "avg_reward": Priority(Ragged.mean),
    "uqm_reward": Priority(_UPPER_QUARTILE),
    "uhm_reward": Priority(partial(Ragged.upper_mean, fraction=0.5)),
    "min_reward": Priority(Ragged.min),
    "max_reward": Priority(Ragged.max),
    "lower_mean_unc": Priority(Ragged.mean, "uncertainty", -1.0),
    "lower_lqm_unc": Priority(_LOWER_QUARTILE, "uncertainty", -1.0),
    "lower_uqm_unc": Priority(_UPPER_QUARTILE, "uncertainty", -1.0),
    "higher_mean_unc": Priority(Ragged.mean, "uncertainty"),
    "higher_lqm_unc": Priority(_LOWER_QUARTILE, "uncertainty"),
    "higher_uqm_unc": Priority(_UPPER_QUARTILE, "uncertainty"),
    "advantage": Priority(advantage, "trajectories"),
}

_MEANT = ("uniform", "tr", "baseline", "given", *RULES)  # by memories, samplers and states
PRIORITIES: Registry[Priority] = Registry("priority", "rewind.priorities", _OWN, kind=Priority, reserved=_MEANT)


def given_values(priorities: Any, count: int) -> Array:
    """(count,) the numbers that somebody gives trajectories to be ranked by."""
    check_priority(priorities)
    values = np.array(priorities, dtype=np.float64)
    if len(values) != count:
        raise DataError(f"{len(values):,} priorities for {count:,} trajectories; expected one for each")
    return values


def check_addable(priority: Any) -> None:
    """Raise an error if values change with the trajectories that are added."""
    if isinstance(priority, str) and priority in PRIORITIES and PRIORITIES[priority].of == "trajectories":
        raise UsageError(f"priority '{priority}' compares all trajectories, so that none can be added")


def check_priority(priority: object) -> None:
    """A known name, or one finite number per trajectory."""
    if isinstance(priority, str):
        if (sampler := priority.lower()) in SAMPLERS:
            raise UsageError(f"{priority!r} is a sampler and no priority: {SAMPLERS[sampler]}")
        if priority not in ("uniform", *RULES) and priority not in PRIORITIES:
            raise unknown_name("priority", priority, ("uniform", *PRIORITIES, *RULES))
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
