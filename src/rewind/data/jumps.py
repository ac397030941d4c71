"""Where flat data jumps, though no flag and no successor says so."""

from __future__ import annotations

import numpy as np

from rewind.arrays import Array
from rewind.data.checks import CHUNK_ROWS

FEWEST_STEPS = 1_000  # below, too few large steps are left to know how large they get
SAMPLE = 100_000  # rows that quantiles are taken from, at most
TAIL = (0.95, 0.99)  # the quantiles of a column's steps from which its largest ones are foretold
FALSE_ALARMS = 0.1  # expected per data set
SMOOTH = 0.1  # of a column's range: what an ordinary large step may cover at most


def jumps(observations: Array, ends: Array) -> Array:
    """(rows,) whether the step from a row to the next is too large to be one; the last row never is.

    A column shows jumps if it is smooth: if 99% of its steps cover at most a tenth of its range. Positions are,
    velocities are not: a foot that hits the ground changes them at once. How large steps get in a smooth column is
    foretold from its own 95% and 99% quantiles, as if the tail went on as a power law,

        size exceeded by a share p of the steps  =  q99 * (0.01 / p) ** g,   g = log(q99 / q95) / log 5,

    taken at the p that lets one data set in ten have one false alarm, and at least 2 * q99. A power law is the heaviest
    tail there is, so the limit errs towards finding nothing: what a reset moves by less than the data's own steps
    cannot be seen in observations alone.

    ends: (rows,) steps that are known to end a trajectory, which say nothing about ordinary ones
    """
    flat = observations.reshape(len(observations), -1)
    jumped = np.zeros(len(flat), dtype=bool)
    ordinary = ~ends[:-1]
    steps = int(np.count_nonzero(ordinary))
    if steps < FEWEST_STEPS:
        return jumped
    share = FALSE_ALARMS / (steps * flat.shape[1])
    sample = np.arange(0, len(ordinary), 1 + len(ordinary) // SAMPLE)
    sample = sample[ordinary[sample]]
    limits = np.array([_limit(column[sample], column[sample + 1], share) for column in flat.T])
    for begin in range(0, len(ordinary), CHUNK_ROWS):
        piece = flat[begin : begin + CHUNK_ROWS + 1]
        jumped[begin : begin + len(piece) - 1] = (_sizes(piece[:-1], piece[1:]) > limits).any(axis=1)
    return jumped


def _sizes(before: Array, after: Array) -> Array:
    return np.abs(np.subtract(after, before, dtype=np.float32))


def _limit(before: Array, after: Array, share: float) -> float:
    """The size that no ordinary step of this column reaches; infinite where the column cannot tell."""
    low, high = map(float, np.quantile(_sizes(before, after), TAIL))
    smallest, largest = map(float, np.quantile(before, (1 - TAIL[1], TAIL[1])))
    if low <= 0 or high > SMOOTH * (largest - smallest):
        return float("inf")
    exponent = np.log(high / low) / np.log((1 - TAIL[0]) / (1 - TAIL[1]))
    return float(high * max(2.0, ((1 - TAIL[1]) / share) ** exponent))
