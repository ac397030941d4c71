"""Every draw has the probabilities of eq. 5 over the available trajectories, whatever the mode of reuse."""

import warnings

import numpy as np
import pytest

from rewind import Plan, TrajectoryReplay
from rewind.memory.ranks import average_ranks
from tests.helpers import make


def weights_of(values, alpha):
    """Eq. 5 from its definition: rank 1 for the highest value, ties share the mean of their ranks."""
    ranks = [1 + np.sum(values > v) + (np.sum(values == v) - 1) / 2 for v in values]
    return np.array(ranks) ** -alpha


class Available:
    """The set of available trajectories, kept in the most literal way."""

    def __init__(self, n, reuse):
        self.n, self.reuse = n, reuse
        self.holders = [0] * n
        self.used = set()

    def now(self):
        if self.reuse == "replacement":
            return set(range(self.n))
        free = {t for t in range(self.n) if self.holders[t] == 0}
        if self.reuse == "epoch":
            if not free - self.used:
                self.used = set()
                # those in the middle of a sweep were used in the epoch that ends now, not in the new one
            free -= self.used
        return free or set(range(self.n))

    def hold(self, trajectory):
        self.holders[trajectory] += 1
        self.used.add(trajectory)

    def release(self, trajectory):
        self.holders[trajectory] -= 1


def z_scores(plan_by_step, weights_by_step, n, reuse):
    """How far the draws are from eq. 5, per trajectory, in standard deviations; and the number of draws.

    drawn - probability, summed over all draws, is a martingale: its variance is the sum of p (1 - p).
    """
    available = Available(n, reuse)
    difference, variance, draws = np.zeros(n), np.zeros(n), 0
    playing = [None] * plan_by_step.fresh.shape[1]
    for step in range(len(plan_by_step)):
        started = np.flatnonzero(plan_by_step.fresh[step])
        for slot in started:
            if playing[slot] is not None:
                available.release(playing[slot])
        for slot in started:
            candidates = sorted(available.now())
            probability = np.zeros(n)
            probability[candidates] = weights_by_step(step)[candidates]
            probability /= probability.sum()
            drawn = plan_by_step.trajectories[step, slot]
            assert probability[drawn] > 0, "an unavailable trajectory was drawn"
            difference -= probability
            difference[drawn] += 1
            variance += probability * (1 - probability)
            available.hold(drawn)
            playing[slot] = drawn
            draws += 1
    # Where fewer than five draws are expected to vary, the normal limit says nothing; a handful too many still counts.
    return difference / np.sqrt(np.maximum(variance, 5.0)), draws


@pytest.mark.parametrize("reuse", ["on_finish", "epoch", "replacement"])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 5.0])
@pytest.mark.parametrize(("n", "batch_size"), [(9, 3), (6, 5), (4, 4), (3, 7)])
def test_draws_follow_eq_5(reuse, alpha, n, batch_size):
    data = make(np.random.default_rng(n).integers(1, 5, n), known=1.0)
    memory = TrajectoryReplay(priority="return", alpha=alpha, reuse=reuse, seed=7)
    memory.load_offline_dataset(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = memory.plan(6000, batch_size)
    weights = weights_of(data.returns, alpha)
    z, draws = z_scores(plan, lambda step: weights, n, reuse)
    assert draws > 1500
    assert np.abs(z).max() < 4.5, z


def test_two_slots_drawn_at_once_have_the_enumerated_joint_distribution():
    n, steps = 4, 40_000
    data = make(np.ones(n, int), known=1.0, rewards=np.array([3.0, 1.0, 2.0, 2.0]))
    memory = TrajectoryReplay(priority="return", seed=0)
    memory.load_offline_dataset(data)
    plan = memory.plan(steps, 2)
    p = weights_of(data.returns, 1.0)
    p /= p.sum()
    for i in range(n):
        for j in range(n):
            exact = 0.0 if i == j else p[i] * p[j] / (1 - p[i])
            observed = np.mean((plan.trajectories[:, 0] == i) & (plan.trajectories[:, 1] == j))
            assert abs(observed - exact) < 4.5 * np.sqrt(exact * (1 - exact) / steps) + 1e-12, (i, j)


def test_draws_are_exact_where_almost_all_probability_is_held():
    """alpha 5, one trajectory more than slots: the guide table fails nearly always and the tree must answer."""
    n = 40
    data = make(np.random.default_rng(0).integers(2, 6, n), known=1.0)
    memory = TrajectoryReplay(priority="return", alpha=5.0, seed=1)
    memory.load_offline_dataset(data)
    plan = memory.plan(1500, n - 1)
    weights = weights_of(data.returns, 5.0)
    z, _ = z_scores(plan, lambda step: weights, n, "on_finish")
    assert np.abs(z).max() < 4.5, z


@pytest.mark.parametrize("reuse", ["on_finish", "epoch", "replacement"])
def test_draws_follow_eq_5_while_uncertainty_changes_the_ranks(reuse):
    n, batch_size, steps = 7, 3, 4000
    rng = np.random.default_rng(5)
    data = make(rng.integers(1, 5, n), known=1.0)
    memory = TrajectoryReplay(priority="lower_mean_unc", reuse=reuse, seed=3)
    memory.load_offline_dataset(data)
    batches, weights = [], []
    newest, values = np.zeros(data.rows, np.float32), np.full(n, np.inf)  # of each row; of each trajectory
    for _ in range(steps):
        weights.append(weights_of(values, 1.0))
        batch = memory.sample(batch_size)
        uncertainty = rng.random(batch_size).astype(np.float32)
        memory.update_uncertainty(uncertainty)
        batches.append(batch)
        for slot, trajectory in enumerate(batch.trajectories):
            newest[batch.indices[slot]] = uncertainty[slot]
            if batch.timesteps[slot] == 0:
                of_trajectory = newest[data.starts[trajectory] :][: data.lengths[trajectory]]
                values[trajectory] = -np.float32(of_trajectory.astype(np.float64).mean())
    plan = Plan(
        indices=np.array([batch.indices for batch in batches]),
        fresh=np.array([batch.fresh for batch in batches]),
        trajectories=np.array([batch.trajectories for batch in batches]),
        first_step=0,
    )
    z, _ = z_scores(plan, lambda step: weights[step], n, reuse)
    assert np.abs(z).max() < 4.5, z


def test_ties_share_the_average_rank():
    assert average_ranks(np.array([1.0, 5.0, 5.0, 0.0])).tolist() == [3.0, 1.5, 1.5, 4.0]
    assert average_ranks(np.zeros(5)).tolist() == [3.0] * 5


def test_average_ranks_equal_their_definition():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 50):
        values = rng.integers(0, 6, n).astype(float)
        assert np.allclose(average_ranks(values), weights_of(values, -1.0))


def test_probabilities_are_those_of_eq_5():
    data = make([3, 4, 2, 6], known=1.0)
    memory = TrajectoryReplay(priority="avg_reward", alpha=2.0, seed=0)
    memory.load_offline_dataset(data)
    means = data.returns / data.lengths
    expected = weights_of(means, 2.0)
    assert np.allclose(memory.probabilities(), expected / expected.sum())


def test_given_numbers_are_a_priority():
    data = make([3, 4, 2, 6], known=1.0)
    memory = TrajectoryReplay(priority=[1.0, 4.0, 2.0, 3.0], seed=0)
    memory.load_offline_dataset(data)
    expected = np.array([1 / 4, 1 / 1, 1 / 3, 1 / 2])
    assert np.allclose(memory.probabilities(), expected / expected.sum())
