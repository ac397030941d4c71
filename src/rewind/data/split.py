"""Which trajectories are trained on, and which are held out to evaluate policies."""

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError, UsageError


def split(trajectories: int, hold_out: float, seed: int = 0) -> tuple[Array, Array]:
    """The trajectories to train on, and those held out, each in their order: the same for the same arguments.

    trajectories: how many there are
    hold_out: the fraction held out; at least one trajectory, and at least one stays to train on
    """
    check_hold_out(hold_out, seed)
    if trajectories < 2:
        raise DataError(f"{trajectories} trajectory cannot be split: leave --hold-out away, or give more data")
    count = min(max(1, round(hold_out * trajectories)), trajectories - 1)
    order = np.random.default_rng([seed, trajectories]).permutation(trajectories)
    return np.sort(order[count:]), np.sort(order[:count])


def check_hold_out(hold_out: float, seed: int) -> None:
    if not 0.0 <= hold_out < 1.0:
        raise UsageError(f"hold_out is {hold_out:g}; expected a fraction from 0 to less than 1, such as 0.1")
    if seed < 0:
        raise UsageError(f"hold_out_seed is {seed}; expected 0 or more")
