"""The data as runs see it: which trajectories, what is done to their rewards, and one table of rows on the device."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from rewind.agents import Transitions
from rewind.agents.agent import Agent, Window
from rewind.arrays import Array
from rewind.compiled import HAVE_NUMBA, compiled
from rewind.data import Trajectories, load
from rewind.data.parts import lazy
from rewind.data.split import check_hold_out, split
from rewind.errors import UsageError, unknown_name

REWARDS = ("raw", "minus_one", "times_100", "return_range")
WITHOUT_HOLD_OUT = {"hold_out": 0.0, "hold_out_seed": 0}
ROWS_AT_A_TIME = 65_536


def loaded(dataset: Any) -> Trajectories:
    """What `rewind.load` makes of it."""
    return dataset if isinstance(dataset, Trajectories) else load(dataset)


@dataclass(frozen=True)
class View:
    """How a run sees the data: what is done to it before a memory or an agent gets it."""

    rewards: str = "raw"
    """raw, minus_one (r - 1), times_100 (r * 100) or return_range (r * 1000 / (largest return - smallest return))"""
    normalise_states: bool = False
    """Observations minus their mean, divided by their standard deviation plus 1e-3."""
    top: float = 1.0
    """Only this fraction of the trajectories, the best by return."""
    action_bounds: tuple[tuple[float, float], ...] | None = None
    """The smallest and the largest action of each column; None: -1 and 1, or the data's where it goes beyond"""
    hold_out: float = 0.0
    """This fraction of the trajectories is never trained on."""
    hold_out_seed: int = 0
    """Which trajectories are held out."""

    def __post_init__(self) -> None:
        if self.rewards not in REWARDS:
            raise unknown_name("reward transform", self.rewards, REWARDS)
        if not 0.0 < self.top <= 1.0:
            raise UsageError(f"top is {self.top}; expected a fraction above 0, at most 1")
        check_hold_out(self.hold_out, self.hold_out_seed)

    def apply(self, data: Trajectories) -> Trajectories:
        """The data with its rewards transformed and its trajectories chosen; states are normalised on the device."""
        trained_on = self._trained_on(data)
        return self._transform(trained_on)(trained_on)

    def held_out(self, data: Trajectories) -> Trajectories | None:
        """The trajectories that are never trained on, with the rewards transformed as in training; None without any."""
        if not self.hold_out:
            return None
        _, held_out = split(len(data), self.hold_out, self.hold_out_seed)
        return self._transform(self._trained_on(data))(data.select(held_out))

    def describe(self) -> dict[str, Any]:
        """For configuration files; without what is off: that of an older version has no such fields."""
        described = {name: value for name, value in asdict(self).items() if value is not None}
        return described if self.hold_out else {k: v for k, v in described.items() if k not in WITHOUT_HOLD_OUT}

    def _trained_on(self, data: Trajectories) -> Trajectories:
        if self.hold_out:
            data = data.select(split(len(data), self.hold_out, self.hold_out_seed)[0])
        return data if self.top == 1.0 else data.select(best_fraction(data.returns, self.top))

    def _transform(self, trained_on: Trajectories) -> Callable[[Trajectories], Trajectories]:
        """What is done to rewards; numbers that come from the data come from what is trained on."""
        if self.rewards == "raw":
            return lambda data: data
        if self.rewards == "minus_one":
            return lambda data: data.map_rewards(lambda rewards: rewards - 1, "r - 1")
        if self.rewards == "times_100":
            return lambda data: data.map_rewards(lambda rewards: rewards * 100, "r * 100")
        spread = float(trained_on.returns.max() - trained_on.returns.min())
        if spread == 0:
            raise UsageError("rewards 'return_range' need trajectories of different returns; here all are equal")
        return lambda data: data.map_rewards(lambda r: r * np.float32(1000 / spread), f"r * 1000 / {spread:g}")


def best_fraction(returns: Array, top: float) -> Array:
    """Which trajectories have the highest returns: at least one, ties in the order of the data."""
    count = max(1, math.ceil(top * len(returns) - 1e-9))  # 0.1 * 30 is a little more than 3
    return np.sort(np.argsort(-np.asarray(returns), kind="stable")[:count])


class Normaliser(NamedTuple):
    """What was subtracted from observations, or actions, and what they were divided by."""

    mean: NDArray[Any]
    scale: NDArray[Any]

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray((values - self.mean) / self.scale)

    def undo(self, values: Any) -> Any:
        return values * self.scale + self.mean


def stacked(normalisers: Sequence[Normaliser]) -> Normaliser:
    """Of several runs at once, for arrays of (runs, rows, numbers)."""
    mean, scale = (np.stack(parts)[:, None] for parts in zip(*normalisers, strict=True))
    return Normaliser(mean, scale)


AS_THEY_ARE = Normaliser(np.zeros(1, np.float32), np.ones(1, np.float32))


def make_normaliser(data: Trajectories, normalise: bool) -> Normaliser:
    width = data.observations.shape[1]
    if not normalise:
        return Normaliser(np.zeros(width, np.float32), np.ones(width, np.float32))
    seen = lazy(data.observations)
    mean, scale = seen.mean(0, dtype=np.float64), seen.std(0, dtype=np.float64) + 1e-3
    return Normaliser(mean.astype(np.float32), scale.astype(np.float32))


class Source(NamedTuple):
    """A data set as some runs see it, where its rows begin in the table, and what these runs are never trained on."""

    data: Trajectories
    normaliser: Normaliser
    actions: Normaliser = AS_THEY_ARE
    first: int = 0
    held_out: Trajectories | None = None


# How a row of the table ends. 0: with another transition of its trajectory; or with the last step of its trajectory,
# which is no transition; or with the end of the trajectory, by time-out or terminal.
LAST_STEP, TIMED_OUT, TERMINAL = 0.25, 0.5, 1.0


class DeviceTable(NamedTuple):
    """Rows of (observation, next observation, action, reward, end) side by side: one gather brings a batch."""

    rows: jax.Array  # (rows, 2 * observation + action + 2)

    def batch(self, indices: jax.Array, fresh: jax.Array, agent: Agent[Any]) -> Transitions:
        """The transitions at `indices`, of any shape, as an agent takes them."""
        observation, action = agent.observation_size, agent.action_size
        gathered = self.rows[indices]
        ends = np.cumsum([observation, observation, action])
        observations, successors, actions, rest = jnp.split(gathered, ends, axis=-1)
        end = rest[..., 1]
        batch = Transitions(observations, actions, rest[..., 0], successors, end > TIMED_OUT, fresh)
        if agent.window > 1:
            indices = indices[..., None] + np.arange(agent.window)  # beyond the table: its last row
            _, successors, _, rest = jnp.split(self.rows[indices, observation:], ends - observation, axis=-1)
            end = rest[..., 1]
            batch = batch._replace(window=Window(rest[..., 0], end > TIMED_OUT, end > 0, successors))
        if agent.next_actions:
            following = self.rows[indices + 1, ends[1] : ends[2]]
            batch = batch._replace(next_actions=following, next_known=end < TIMED_OUT)
        return batch


def make_table(sources: Sequence[Source]) -> DeviceTable:
    """Put data on the device. Steps that are no transitions get a row too; nobody plans it."""
    count = sum(source.data.rows for source in sources)
    table = np.empty((count, table_width(sources[0].data)), np.float32)
    for source in sources:
        ends = end_column(source.data)
        for begin in range(0, source.data.rows, ROWS_AT_A_TIME):  # a piece at a time: normalised copies are large
            rows = np.arange(begin, min(begin + ROWS_AT_A_TIME, source.data.rows))
            fill_rows(table[source.first + begin : source.first + begin + len(rows)], rows, source, ends)
    return DeviceTable(jnp.asarray(table))


def table_width(data: Trajectories) -> int:
    return int(2 * data.observations.shape[1] + data.actions.shape[1] + 2)


def end_column(data: Trajectories) -> NDArray[Any]:
    """(rows,) how each row ends."""
    ends = np.zeros(data.rows, np.float32)
    played = data.transitions > 0
    ends[(data.starts + data.transitions - 1)[played]] = LAST_STEP
    ends[data.ends] = TIMED_OUT
    ends[data.terminals] = TERMINAL
    return ends


def fill_rows(table: NDArray[Any], rows: NDArray[Any], source: Source, ends: NDArray[Any]) -> None:
    """Write these rows of the data, in ascending order, into a table of as many.

    ends: (rows of the data,) see `end_column`
    """
    data, normaliser, actions = source[:3]
    (last,) = (ends.take(rows) >= TIMED_OUT).nonzero()  # inner terminals too, whose successor is the next row
    trajectory = data.trajectory_of(rows[last])
    last, trajectory = (array[data.ends[trajectory] == rows[last]] for array in (last, trajectory))
    finals = data.final_observations[trajectory]
    observation = data.observations.shape[1]
    if HAVE_NUMBA and _plain_floats(data.observations, data.actions, *normaliser, *actions):
        means, scales = (np.broadcast_to(part, data.actions.shape[1]) for part in actions)
        _fill_in_one_pass(
            table, rows, data.observations, data.actions, data.rewards, ends, *normaliser, means, scales
        )  # fmt: skip
        table[last, observation : 2 * observation] = normaliser(finals)
        return
    table[:, :observation] = normaliser(data.observations.take(rows, axis=0))
    after = data.observations.take(rows + 1, axis=0, mode="clip")
    after[last] = finals
    table[:, observation : 2 * observation] = normaliser(after)
    table[:, 2 * observation : -2] = actions(data.actions.take(rows, axis=0))
    table[:, -2] = data.rewards.take(rows)
    table[:, -1] = ends.take(rows)


def _plain_floats(*arrays: Any) -> bool:
    """Whether a compiled loop can read them: not rows that are converted as they are read, nor integer actions."""
    return all(isinstance(array, np.ndarray) and array.dtype == np.float32 for array in arrays)


@compiled
def _fill_in_one_pass(
    table: Array, rows: Array, observations: Array, actions: Array, rewards: Array, ends: Array,
    mean: Array, scale: Array, action_mean: Array, action_scale: Array,
) -> None:  # fmt: skip
    """What NumPy does in eight passes, a fifth of the time: readers of the disk must keep up with a GPU."""
    width, size = observations.shape[1], actions.shape[1]
    for place in range(len(rows)):
        row = rows[place]
        after = min(row + 1, len(observations) - 1)
        for column in range(width):
            table[place, column] = (observations[row, column] - mean[column]) / scale[column]
            table[place, width + column] = (observations[after, column] - mean[column]) / scale[column]
        for column in range(size):
            table[place, 2 * width + column] = (actions[row, column] - action_mean[column]) / action_scale[column]
        table[place, 2 * width + size] = rewards[row]
        table[place, 2 * width + size + 1] = ends[row]
