"""Random data for tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from rewind import Trajectories


def make(lengths, seed=0, terminated=0.5, known=0.7, observation=3, action=2, rewards=None):
    """Trajectories whose every observation is unique, so that a wrong pairing cannot go unnoticed."""
    rng = np.random.default_rng(seed)
    lengths = np.asarray(lengths)
    rows, n = int(lengths.sum()), len(lengths)
    return Trajectories(
        observations=rng.standard_normal((rows, observation)),
        actions=rng.uniform(-1, 1, (rows, action)),
        rewards=rng.standard_normal(rows) if rewards is None else rewards,
        lengths=lengths,
        terminated=rng.random(n) < terminated,
        final_observations=rng.standard_normal((n, observation)),
        final_known=rng.random(n) < known,
    )


def ragged_lengths(max_trajectories=12, max_length=9):
    """Lists of trajectory lengths; the first has two steps at least, so that something can be replayed."""
    rest = st.lists(st.integers(1, max_length), max_size=max_trajectories - 1)
    return st.tuples(st.integers(2, max_length), rest).map(lambda pair: [pair[0], *pair[1]])


def lambda_return(rewards, bootstraps, terminal, discount, lam):
    """The forward-view lambda-return of every step of one trajectory, straight from its definition.

    bootstraps[t] is the value of the state after step t.
    """
    length = len(rewards)
    value = np.where(np.arange(length) == length - 1, 0.0 if terminal else bootstraps, bootstraps)
    result = np.zeros(length)
    for t in range(length):
        weight = 1.0
        reward = 0.0
        for n in range(1, length - t + 1):
            reward += discount ** (n - 1) * rewards[t + n - 1]
            n_step = reward + discount**n * value[t + n - 1]
            if n == length - t:
                result[t] += weight * n_step
            else:
                result[t] += weight * (1 - lam) * n_step
                weight *= lam
    return result
