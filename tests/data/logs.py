"""Made-up logs for the tests of this folder."""

import numpy as np
from hypothesis import strategies as st

from rewind.data import Trajectories

FIELDS = ("observations", "actions", "rewards", "lengths", "terminated", "final_observations", "final_known")


def flat_log(lengths, terminated, seed=0, size=3, successors=True):
    """A D4RL-style dict with flags at the true ends."""
    rng = np.random.default_rng(seed)
    rows, last = sum(lengths), np.cumsum(lengths) - 1
    log = {
        "observations": rng.normal(size=(rows, size)).astype(np.float32),
        "actions": rng.uniform(-1, 1, size=(rows, 2)).astype(np.float32),
        "rewards": rng.normal(size=rows).astype(np.float32),
        "terminals": np.zeros(rows, bool),
        "timeouts": np.zeros(rows, bool),
    }
    log["terminals"][last] = terminated
    log["timeouts"][last] = ~np.asarray(terminated)
    if successors:
        log["next_observations"] = np.roll(log["observations"], -1, axis=0)
        log["next_observations"][last] = rng.normal(size=(len(last), size))
    return log


def ant_log(episodes=60, horizon=400, seed=0):
    """An ant in an open field as AntMaze-v0 logs it: (log, last row of each episode).

    It walks from a random start to a goal of its own. Within 0.5 of the one evaluation goal, at the origin, a row has
    reward 1 and a terminal, and the episode goes on. Time-outs are flagged every horizon + 1 rows, out of step with the
    episodes, and successors are not recorded. Positions are smooth; velocities change at once, by contacts.
    """
    rng = np.random.default_rng(seed)
    rows = episodes * horizon
    position, after = np.empty((rows, 2)), np.empty((rows, 2))
    for episode in range(episodes):
        at = rng.uniform(6, 16, 2) * rng.choice((-1, 1), 2)
        goal = np.zeros(2) if episode % 2 else rng.uniform(-16, 16, 2)
        for step in range(horizon):
            position[episode * horizon + step] = at
            away = goal - at
            at = after[episode * horizon + step] = (
                at + away / max(np.linalg.norm(away), 1.0) * rng.uniform(0.0, 0.25) + rng.normal(0, 0.05, 2)
            )
    velocity = rng.standard_t(3, size=(rows, 4))
    observations = np.concatenate([position, velocity], axis=1).astype(np.float32)
    last = np.arange(1, episodes + 1) * horizon - 1
    success = np.linalg.norm(after, axis=1) < 0.5
    timeouts = np.zeros(rows, bool)
    timeouts[horizon :: horizon + 1] = True
    log = {
        "observations": observations,
        "actions": rng.uniform(-1, 1, size=(rows, 2)).astype(np.float32),
        "rewards": success.astype(np.float32),
        "terminals": success,
        "timeouts": timeouts,
    }
    return log, last


def assert_equal(one, other, fields=FIELDS):
    for name in (*fields, "inner_terminals"):
        left, right = getattr(one, name), getattr(other, name)
        if left is None or right is None:
            assert left is right, name
            continue
        assert left.dtype == right.dtype, name
        np.testing.assert_array_equal(left, right, err_msg=name)


@st.composite
def trajectories(draw, finals_known=None):
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=6))
    rows, count = sum(lengths), len(lengths)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    observations = rng.normal(size=(rows + count, *draw(st.sampled_from([(3,), (2, 2), (1,)])))).astype(np.float32)
    discrete = draw(st.booleans())
    inner = rng.random(rows) < draw(st.sampled_from([0.0, 0.3]))
    inner[np.cumsum(lengths) - 1] = False
    return Trajectories(
        observations=observations[:rows],
        actions=rng.integers(0, 4, rows) if discrete else rng.normal(size=(rows, 2)),
        rewards=rng.normal(size=rows),
        lengths=np.array(lengths),
        terminated=rng.random(count) < 0.5,
        final_observations=observations[rows:],
        final_known=np.ones(count, bool) if finals_known else rng.random(count) < 0.5,
        name=draw(st.one_of(st.none(), st.text(max_size=8))),
        notes=draw(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=2)),
        inner_terminals=inner,
    )
