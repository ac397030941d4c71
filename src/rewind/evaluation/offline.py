"""Offline evaluation: what policies are worth at the start of a trajectory, from the log alone, and by how much.

    result = evaluate_offline(data, {"iql": load_policy("runs/a/policies/000"), "bc": load_policy(...)})
    result.estimate("iql")           # Estimate(value, low, high): discounted, in the log's own rewards
    result.difference("iql", "bc")   # paired: both are fitted to the same resamples of the log
    result.difference("iql")         # against the log's own policy

Intervals cover what another log of this size would change, and the networks' first weights. They do not cover what the
log never shows: a policy that acts where the log has no data may be worth anything.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories
from rewind.data.folder import in_memory
from rewind.errors import DataError, UsageError
from rewind.evaluation.diagnose import monte_carlo
from rewind.evaluation.fqe import Choices, FitSettings, LoggedRows, Scale, fitted_values
from rewind.evaluation.offline_table import LOG
from rewind.statistics import Estimate, Measured, bootstrap, mean
from rewind.targets import target_bounds
from rewind.training.spec import with_vectors

Acts = Callable[[Array], Any]  # (rows, observation) -> (rows, action), or whole numbers (rows,)


@dataclass(frozen=True, eq=False)
class OfflineEvaluation:
    """Values at the first states of the trajectories of a log.

    names: of the policies, in the order they were given; the log's own policy comes first
    means: (policies, members) mean over all trajectories
    resampled: (policies, members) mean over the member's own resample
    drift, left: (policies,) see `FittedValues`: large where more steps are needed
    monte_carlo: the mean discounted return of the log, with its bootstrap interval over trajectories. A time-out ends
        the sum: where rewards are positive, `cut` trajectories make it too small
    best_return: the highest discounted return of a trajectory
    cut: trajectories whose time-out came so early that it shows (discount^length above 1%)
    possible: the lowest and the highest value that the rewards of the log allow, beyond which no interval goes
    """

    names: tuple[str, ...]
    means: Array
    resampled: Array
    drift: Array
    left: Array
    discount: float
    monte_carlo: Estimate
    cut: int
    best_return: float
    trajectories: int
    settings: FitSettings
    possible: tuple[float, float] = (-np.inf, np.inf)

    def estimate(self, name: str) -> Estimate:
        return Estimate(*(float(np.clip(bound, *self.possible)) for bound in self._whole(name)))

    def difference(self, name: str, other: str = LOG) -> Estimate:
        """What the first is worth more than the other, with the interval of the paired difference."""
        one, two = self._at(name), self._at(other)
        return self._estimate(self.means[one] - self.means[two], self.resampled[one] - self.resampled[two])

    def ranked(self) -> list[str]:
        """The policies, the best estimate first; without the log's own."""
        order = np.argsort(-self.means[1:].mean(1), kind="stable")
        return [self.names[1 + at] for at in order]

    def tied(self, name: str) -> bool:
        """Whether the data cannot tell it from the best: the interval of the paired difference holds 0."""
        best = self.ranked()[0]
        return name == best or bool(self.difference(best, name).low <= 0.0)

    def moved(self, name: str) -> float:
        """Its drift."""
        return float(self.drift[self._at(name)])

    def unsettled(self, name: str) -> bool:
        """Whether more steps would change its estimate by much, compared with its interval."""
        value, low, _ = self._whole(name)
        half, drift, left = value - low, abs(self.moved(name)), abs(float(self.left[self._at(name)]))
        return bool(drift > half / 2 or (drift > half / 10 and left > half))

    def _whole(self, name: str) -> Estimate:
        """Its estimate, whose interval may go beyond what is possible."""
        at = self._at(name)
        return self._estimate(self.means[at], self.resampled[at])

    def _at(self, name: str) -> int:
        if name not in self.names:
            raise UsageError(f"no policy '{name}'; there are: {', '.join(self.names)}")
        return self.names.index(name)

    def _estimate(self, means: Array, resampled: Array) -> Estimate:
        """The members' mean. Their spread is the standard error; that of their own mean comes on top."""
        members = len(means)
        value, error = float(means.mean()), float(resampled.std(ddof=1)) * (1 + 1 / members) ** 0.5
        return Measured(value, error, members - 1).estimate


def evaluate_offline(
    data: Trajectories,
    policies: Mapping[str, Acts],
    discount: float = 0.99,
    settings: FitSettings | None = None,
) -> OfflineEvaluation:
    """Fitted Q evaluation of all policies, and of the log's own.

    data: trajectories that none of the policies was trained on, with the rewards that count
    """
    if not policies or LOG in policies:
        raise UsageError(f"expected one policy or more, and none called '{LOG}'")
    if not 0.0 <= discount < 1.0:
        raise UsageError(f"discount is {discount}; expected at least 0 and less than 1")
    settings = settings or FitSettings()
    if not data.transitions.sum():
        raise DataError("the data has no transition with a known successor")
    log = LogView(data, policies)
    whole = monte_carlo(data, discount, cut=True)
    low, high = target_bounds(data.rewards, discount)
    starts = whole[data.starts]
    scale = Scale(discount, float(starts.mean()), float(whole.std()) or 1.0, low, high)
    fitted = fitted_values(data, log.rows(), log.choices(), scale, settings)
    weights = fitted.counts / fitted.counts.sum(1, keepdims=True)
    return OfflineEvaluation(
        names=(LOG, *policies),
        means=fitted.values.mean(2),
        resampled=(fitted.values * weights).sum(2),
        drift=fitted.drift,
        left=fitted.left,
        discount=discount,
        monte_carlo=bootstrap(mean, [starts]),
        cut=int(np.isnan(monte_carlo(data, discount)[data.starts]).sum()),
        best_return=float(starts.max()),
        trajectories=len(data),
        settings=settings,
        possible=(low, high),
    )


class LogView:
    """A log and what policies do in it, as networks take it: standardised observations, actions within -1 and 1 or
    one-hot.

    chosen: (rows,) or (rows, action) by policy: what it does in each state of the log
    """

    def __init__(self, data: Trajectories, policies: Mapping[str, Acts]) -> None:
        data = in_memory(with_vectors(data))
        if data.observations.ndim != 2:
            raise DataError(f"each observation has shape {data.observations.shape[1:]}; expected a vector")
        self.data = data
        self.successors = data.observations[np.minimum(np.arange(data.rows) + 1, data.rows - 1)]
        self.successors[data.ends] = data.final_observations
        self.chosen = {name: _acted(name, act, data.observations) for name, act in policies.items()}
        self.following = {name: _acted(name, act, self.successors) for name, act in policies.items()}
        kinds = {actions.ndim for actions in self.chosen.values()}
        if len(kinds) > 1:
            raise UsageError("some policies have discrete actions and some do not: evaluate them apart")
        self.discrete = kinds == {1}
        self.logged = _numbers(data.actions) if self.discrete else data.actions.reshape(data.rows, -1)
        every = [self.logged, *self.chosen.values(), *self.following.values()]
        self.actions = int(max(actions.max() for actions in every)) + 1 if self.discrete else self.logged.shape[1]
        low, high = self.logged.min(0), self.logged.max(0)
        self.middle, self.half = (low + high) / 2, np.maximum((high - low) / 2, 1e-6)

    def encoded(self, actions: Array) -> Array:
        if self.discrete:
            return np.asarray(np.eye(self.actions, dtype=np.float32)[actions])
        if actions.shape[1:] != self.logged.shape[1:]:
            raise UsageError(f"a policy gives {actions.shape[1]} numbers per action, the log {self.logged.shape[1]}")
        return np.asarray((actions - self.middle) / self.half, np.float32)

    def rows(self) -> LoggedRows:
        data = self.data
        centre = data.observations.mean(0, dtype=np.float64)
        spread = data.observations.std(0, dtype=np.float64) + 1e-3
        observations, successors = (
            ((states - centre) / spread).astype(np.float32) for states in (data.observations, self.successors)
        )
        return LoggedRows(observations, self.encoded(self.logged), data.rewards, successors, data.terminals)

    def choices(self) -> Choices:
        """The log's own policy first: it does next what was done next, which a time-out leaves unknown."""
        data = self.data
        logged = self.encoded(self.logged)
        following = logged[np.minimum(np.arange(data.rows) + 1, data.rows - 1)]
        following[data.ends] = logged[data.ends]
        following_known = np.ones((1 + len(self.chosen), data.rows), np.float32)
        following_known[0, data.ends] = data.terminated
        return Choices(
            np.stack([following, *(self.encoded(actions) for actions in self.following.values())]),
            following_known,
            np.stack([logged[data.starts], *(self.encoded(a[data.starts]) for a in self.chosen.values())]),
        )

    def log_prob(self, name: str) -> Array | None:
        """(rows,) of the logged actions under a policy: 0 where it does the same, else -inf; None if continuous."""
        return np.where(self.chosen[name] == self.logged, 0.0, -np.inf) if self.discrete else None

    def distances(self, name: str) -> Array:
        """(rows,) how far the policy is from what was done: root mean square over columns in half-ranges of the log's
        actions, so that 2 is from one end to the other; of discrete actions, 1 where it is another one."""
        if self.discrete:
            return np.asarray(self.chosen[name] != self.logged, np.float64)
        apart = (self.chosen[name] - self.logged) / self.half
        return np.asarray(np.sqrt(np.square(apart, dtype=np.float64).mean(1)))


def _acted(name: str, act: Acts, observations: Array) -> Array:
    actions = np.asarray(act(observations))
    if len(actions) != len(observations) or actions.ndim > 2 or not np.isfinite(actions).all():
        raise UsageError(
            f"policy '{name}' gave actions of shape {actions.shape} for {len(observations)} states, or NaN"
        )
    return actions


def _numbers(actions: Array) -> Array:
    """Discrete actions as whole numbers: they may be logged one-hot."""
    numbers = actions.argmax(1) if actions.ndim == 2 and actions.shape[1] > 1 else actions.reshape(len(actions))
    if (numbers != np.round(numbers)).any() or numbers.min() < 0:
        raise DataError(f"the policies have discrete actions; the log's are {numbers[:3]}")
    return numbers.astype(np.int64)
