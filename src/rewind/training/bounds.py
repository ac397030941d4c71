"""What rewards can add up to: a Q beyond it has diverged, and targets can be kept within it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rewind.agents import Agent
from rewind.data import Trajectories, load
from rewind.errors import UsageError
from rewind.targets import target_bounds
from rewind.training.spec import Run, View, data_of, plain


def bound_targets(runs: Sequence[Run], data: Any) -> list[Run]:
    """The runs with targets that stay within what rewards like those they see can add up to.

    A critic that diverges then stops there. A bound that an agent has already is left as it is.

    data: what `rewind.load` takes
    """
    data = load(data)
    ranges: dict[tuple[int, View, float], tuple[float, float]] = {}
    result = []
    for run in runs:
        agent: Any = run.agent
        own = data_of(run, data)
        if not (hasattr(agent, "target_low") and hasattr(agent, "target_high")):
            raise UsageError(f"targets of {type(agent).__name__} cannot be bounded; those of td3_bc and iql can")
        key = (id(own), run.view, plain(agent.discount))
        if key not in ranges:
            ranges[key] = possible_q(run.view.apply(own), agent)
        if not np.isfinite(ranges[key]).all():
            raise UsageError(f"a discount of {key[-1]:g} bounds nothing; set target_low and target_high yourself")
        given = (agent.target_low, agent.target_high)
        low, high = (float(found if np.isinf(one) else one) for found, one in zip(ranges[key], given, strict=True))
        if low > high:
            raise UsageError(f"targets cannot be at least {low:g} and at most {high:g}; the data's: {ranges[key]}")
        result.append(replace(run, agent=replace(agent, target_low=low, target_high=high)))
    return result


def possible_q(data: Trajectories, agent: Agent[Any]) -> tuple[float, float]:
    """The least and the most that rewards like those of the data can add up to.

    Anything, for an agent without critics, and for one whose Q has a bonus for entropy besides.
    """
    discount = plain(getattr(agent, "discount", 1.0))
    if discount >= 1.0 or hasattr(agent, "target_entropy"):
        return -np.inf, np.inf
    return target_bounds(data.rewards, discount)
