"""The oracle of the weighted target."""

from __future__ import annotations

from typing import Any

import numpy as np


def lambda_return(rewards: Any, bootstraps: Any, terminated: bool, discount: float, beta: float) -> Any:
    """The lambda-return of a trajectory as its definition has it, a mixture of n-step returns; lambda = 1 - beta."""
    length, share = len(rewards), 1 - beta
    values = np.asarray(bootstraps).astype(np.float64)
    if terminated:
        values[-1] = 0.0
    powers = discount ** np.arange(length + 1)
    result = np.empty(length)
    for t in range(length):
        steps = np.arange(1, length - t + 1)
        n_step = [
            powers[:n] @ np.asarray(rewards[t : t + n], np.float64) + powers[n] * values[t + n - 1] for n in steps
        ]
        weights = (1 - share) * share ** (steps - 1)
        weights[-1] = share ** (steps[-1] - 1)
        result[t] = weights @ n_step
    return result
