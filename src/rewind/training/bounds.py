"""What rewards can add up to: a Q beyond it has diverged, and targets can be kept within it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rewind.agents import AGENTS
from rewind.agents.agent import HIGH, LOW, Agent
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
        agent, own = run.agent, data_of(run, data)
        if agent.bounds is None:
            able = " and ".join(name for name, kind in AGENTS.items() if kind.has(LOW, HIGH))
            raise UsageError(f"targets of {type(agent).__name__} cannot be bounded; those of {able} can")
        key = (id(own), run.view, plain(agent.discount))
        if key not in ranges:
            ranges[key] = possible_q(run.view.apply(own), agent)
        if not np.isfinite(ranges[key]).all():
            raise UsageError(f"a discount of {key[-1]:g} bounds nothing; set target_low and target_high yourself")
        pairs = zip(ranges[key], agent.bounds, strict=True)
        low, high = (float(possible if np.isinf(given) else given) for possible, given in pairs)
        if low > high:
            raise UsageError(f"targets cannot be at least {low:g} and at most {high:g}; the data's: {ranges[key]}")
        result.append(replace(run, agent=agent.bounded(low, high)))
    return result


def possible_q(data: Trajectories, agent: Agent[Any]) -> tuple[float, float]:
    """The least and the most that rewards like those of the data can add up to.

    Anything, for an agent without critics, and for one whose Q has a bonus for entropy besides.
    """
    if agent.discount is None or plain(agent.discount) >= 1.0 or agent.entropy_bonus:
        return -np.inf, np.inf
    return target_bounds(data.rewards, plain(agent.discount))
