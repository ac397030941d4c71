"""Figures over runs and tasks: against rliable's numbers, SciPy's, and figures worked out by hand."""

import numpy as np
import pytest

from rewind.statistics import bootstrap, deviation, improvement, iqm, mean, profile

# (runs, tasks), and what rliable 1.2.0 says of them: intervals from 20,000 resamples (5,000 where pairs are compared).
ONES = np.array(
    [
        [34, 24, 45, 58, 73, 52],
        [39, 34, 65, 83, 55, 25],
        [31, 82, 54, 15, 48, 27],
        [37, 40, 36, 61, 49, 38],
        [58, 67, 17, 45, 30, 47],
        [24, 50, 49, 44, 29, 42],
        [28, 23, 54, 28, 73, 64],
        [10, 55, 28, 51, 51, 10],
    ]
)
OTHERS = np.array(
    [
        [40, 40, 64, 21, 60, 23],
        [38, 28, 74, 56, 94, 58],
        [62, 62, 33, 44, 72, 37],
        [49, 45, 57, 38, 42, 50],
        [47, 28, 63, 19, 21, 19],
        [64, 38, 26, 22, 53, 24],
        [20, 57, 21, 39, 45, 36],
        [44, 72, 35, 20, 8, 41],
    ]
)
THRESHOLDS = [20, 40, 60, 80]
RLIABLE = {
    "mean": (43.375, 38.708, 48.021),
    "iqm": (42.875, 37.333, 48.25),
    "improvement": (0.50521, 0.38932, 0.62240),
}
RLIABLE_PROFILE = (
    [0.91667, 0.54167, 0.16667, 0.04167],
    [0.83333, 0.41667, 0.0625, 0.0],
    [0.97917, 0.66667, 0.27083, 0.10417],
)


def tasks(scores):
    return list(np.asarray(scores, float).T)


@pytest.mark.parametrize("statistic", [mean, iqm])
def test_figures_and_intervals_are_rliables(statistic):
    estimate = bootstrap(statistic, tasks(ONES))
    value, low, high = RLIABLE[statistic.__name__]
    assert estimate.value == pytest.approx(value)
    assert (estimate.low, estimate.high) == (pytest.approx(low, abs=0.25), pytest.approx(high, abs=0.25))


def test_probability_of_improvement_is_rliables():
    estimate = bootstrap(improvement, tasks(ONES), tasks(OTHERS))
    assert estimate == pytest.approx(RLIABLE["improvement"], abs=0.01)
    assert estimate.value == pytest.approx(RLIABLE["improvement"][0], abs=1e-5)


def test_performance_profiles_are_rliables():
    estimate = bootstrap(lambda sample: profile(sample, THRESHOLDS), tasks(ONES))
    for ours, theirs in zip(estimate, RLIABLE_PROFILE, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=0.011)


def test_the_interquartile_mean_is_a_trimmed_mean():
    stats = pytest.importorskip("scipy.stats")
    scores = np.random.default_rng(0).normal(size=(8, 5))
    assert iqm(tasks(scores)) == pytest.approx(stats.trim_mean(scores, 0.25, axis=None))


def test_the_interquartile_mean_counts_runs_on_a_quartile_in_part():
    """Of 1, 2, 6 the middle half is a fourth of 1 to 6's third each: (1/12 * 1 + 1/3 * 2 + 1/12 * 6) / (1/2)."""
    assert iqm(tasks([[1], [2], [6]])) == pytest.approx((1 / 12 + 2 / 3 + 6 / 12) * 2)


def test_the_probability_of_improvement_is_mann_whitneys():
    stats = pytest.importorskip("scipy.stats")
    ones, others = np.array([1.0, 2.0, 2.0, 5.0]), np.array([2.0, 0.0, 3.0])
    expected = stats.mannwhitneyu(ones, others).statistic / 12
    assert improvement([ones], [others]) == pytest.approx(expected)
    assert improvement([others], [ones]) == pytest.approx(1 - expected)


def test_a_task_counts_the_same_whatever_its_number_of_runs():
    few, many = np.array([10.0, 10.0]), np.full(8, 30.0)
    assert mean([few, many]) == 20
    assert iqm([few, many]) == pytest.approx(20)
    assert profile([few, many], [20])[0] == 0.5
    assert improvement([few, many], [few, few]) == 0.75


def test_runs_are_drawn_within_their_task():
    """Tasks that differ widely add no spread as long as the runs of each agree."""
    estimate = bootstrap(mean, [np.full(3, 0.0), np.full(3, 100.0)])
    assert estimate == (50, 50, 50)


def test_the_same_runs_on_both_sides_do_not_differ():
    def difference(ones, others):
        return mean(ones) - mean(others)

    runs, others = np.array([0.0, 50.0, 100.0]), np.array([10.0, 20.0, 30.0])
    assert bootstrap(difference, [runs], [runs]) == (0, 0, 0)
    shared = bootstrap(difference, [runs, others], [runs, others + 5])
    apart = bootstrap(difference, [runs, others], [runs.copy(), others + 5])
    assert shared.value == apart.value == -2.5
    assert shared.high - shared.low < 0.5 * (apart.high - apart.low)


def test_intervals_cover_what_they_should():
    """A mean of 20 normal runs: 95% intervals hold the truth about that often."""
    generator = np.random.default_rng(1)
    covered = 0
    for _ in range(300):
        found = bootstrap(mean, [generator.normal(size=20)], resamples=400)
        covered += found.low < 0 < found.high
    assert 0.88 < covered / 300 < 0.98


def test_one_run_gives_no_interval_and_no_deviation():
    one = np.array([3.0])
    assert bootstrap(mean, [one, np.array([1.0, 2.0])]) == (2.25, None, None)
    assert deviation(one) is None


def test_the_same_runs_give_the_same_interval():
    assert bootstrap(iqm, tasks(ONES)) == bootstrap(iqm, tasks(ONES))


def test_deviations_are_over_n_minus_one_as_in_the_paper():
    assert deviation([0, 4, 92]) == pytest.approx(52.0, abs=0.01)
