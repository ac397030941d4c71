"""Data of every kind: discrete actions, images, dict observations, extra columns."""

import numpy as np

from rewind import Trajectories
from rewind.data.parts import each_part

KINDS = ("discrete", "image", "dict", "extras")
LENGTHS = np.array([5, 1, 9, 3, 4, 7])


def data_of(kind, lengths=LENGTHS, seed=0):
    """Trajectories whose every row is unique in each of its parts."""
    rng = np.random.default_rng(seed)
    rows, count = int(lengths.sum()), len(lengths)
    images = rng.integers(0, 256, (rows + count, 4, 4, 3), dtype=np.uint8)
    states = rng.standard_normal((rows + count, 3), dtype=np.float32)
    observations = {"dict": {"state": states, "image": images, "room": np.arange(rows + count)}, "image": images}
    both = observations.get(kind, states)
    discrete = kind in ("discrete", "dict")
    extras = {"log_prob": rng.standard_normal(rows), "costs": rng.integers(0, 2, (rows, 2))}
    return Trajectories(
        observations=each_part(lambda part: part[:rows], both),
        actions=rng.integers(0, 4, rows) if discrete else rng.uniform(-1, 1, (rows, 2)),
        rewards=rng.standard_normal(rows),
        lengths=lengths,
        terminated=rng.random(count) < 0.5,
        final_observations=each_part(lambda part: part[rows:], both),
        final_known=np.ones(count, bool),
        extras=extras if kind in ("extras", "dict") else {},
    )
