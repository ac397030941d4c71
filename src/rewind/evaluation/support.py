"""Whether the log shows what a policy does: in states like those of the log, was something like it ever done?

A fit cannot know what follows an action that the log never shows in such a state: it extrapolates, and the estimate may
be far off, mostly too high, with a narrow interval. Take a state of the log and its nearest states in other
trajectories. The policy's action is unsupported there if it is further from all that was done in those than 95% of the
log's own actions are; of discrete actions, if it was done in none of them. The log's own actions set the limit, so no
unit matters.
"""

import numpy as np

from rewind.arrays import Array
from rewind.evaluation.offline import LogView

STATES = 1_000  # that are looked at
AMONG = 20_000  # rows that neighbours are found among
NEIGHBOURS = 10
USUAL_SHARE = 0.95  # of the log's own actions that are within the limit


class Support:
    """limit: distance from what was done nearby, beyond which an action is unsupported
    allowed: share of unsupported actions that is no concern: as many as the log itself has, and 5% at least
    """

    def __init__(self, log: LogView, seed: int = 0) -> None:
        stream, rows, data = np.random.default_rng(seed), log.rows(), log.data
        among = np.sort(stream.permutation(data.rows)[:AMONG])
        self._states = np.sort(stream.permutation(data.rows)[:STATES])
        # Neighbours are of other trajectories: those of its own are nearly the same row.
        trajectory_of_row = np.repeat(np.arange(len(data)), data.lengths) if len(data) > 1 else np.arange(data.rows)
        neighbours = among[_nearest(rows.observations, trajectory_of_row, self._states, among)]
        self._log, self._done = log, rows.actions[neighbours]  # (states, neighbours, action)
        logged = self._distances(log.logged)
        self.limit = 0.0 if log.discrete else float(np.quantile(logged, USUAL_SHARE))
        self.allowed = max(1 - USUAL_SHARE, float((logged > self.limit).mean()))
        self._unsupported = {
            name: float((self._distances(actions) > self.limit).mean()) for name, actions in log.chosen.items()
        }

    def unsupported(self, name: str) -> float:
        """The share of a policy's actions that are."""
        return self._unsupported[name]

    def supports(self, name: str) -> bool:
        return self.unsupported(name) <= self.allowed

    def _distances(self, actions: Array) -> Array:
        """(states,) to the nearest that was done nearby, root mean square over columns."""
        apart = self._log.encoded(actions[self._states])[:, None] - self._done
        return np.asarray(np.sqrt(np.square(apart).mean(2)).min(1))


def _nearest(observations: Array, trajectory_of_row: Array, states: Array, among: Array) -> Array:
    """(states, neighbours) positions in `among` of the nearest rows of other trajectories."""
    others, owners = observations[among], trajectory_of_row[among]
    squares, count = np.square(others).sum(1), min(NEIGHBOURS, len(among))
    neighbours = np.empty((len(states), count), np.int64)
    for at, row in enumerate(states):
        apart = squares - 2 * (others @ observations[row])
        apart[owners == trajectory_of_row[row]] = np.inf
        neighbours[at] = np.argpartition(apart, count - 1)[:count]
    return neighbours
