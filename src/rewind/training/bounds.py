"""The range of possible returns: a Q outside it shows a diverging critic, and targets can be kept inside it."""

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
    """The runs with the targets of their critics kept within the returns that are possible with their rewards.

    This stops a critic that diverges. A finite bound that an agent already has stays.

    data: what `rewind.load` takes
    """
    data = load(data)
    ranges: dict[tuple[int, View, float], tuple[float, float]] = {}
    result = []
    for run in runs:
        agent, source = run.agent, data_of(run, data)
        if agent.bounds is None:
            able = " and ".join(name for name, kind in AGENTS.items() if kind.has(LOW, HIGH))
            raise UsageError(f"targets of {type(agent).__name__} cannot be bounded; those of {able} can")
        key = (id(source), run.view, plain(agent.discount))
        if key not in ranges:
            ranges[key] = possible_q(run.view.apply(source), agent)
        if not np.isfinite(ranges[key]).all():
            raise UsageError(f"a discount of {key[-1]:g} bounds nothing; set target_low and target_high yourself")
        pairs = zip(ranges[key], agent.bounds, strict=True)
        low, high = (float(possible if np.isinf(given) else given) for possible, given in pairs)
        if low > high:
            raise UsageError(f"targets cannot be at least {low:g} and at most {high:g}; the data's: {ranges[key]}")
        result.append(replace(run, agent=agent.bounded(low, high)))
    return result


def possible_q(data: Trajectories, agent: Agent[Any]) -> tuple[float, float]:
    """The smallest and the largest return that is possible with the rewards of the data.

    Infinite for an agent without critics, and for one whose Q includes an entropy bonus.
    """
    if agent.discount is None or plain(agent.discount) >= 1.0 or agent.entropy_bonus:
        return -np.inf, np.inf
    return target_bounds(data.rewards, plain(agent.discount))
