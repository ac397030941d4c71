"""How a run sees the data: which trajectories it learns from, and what is done to their rewards."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories
from rewind.data.split import check_hold_out, split
from rewind.errors import UsageError, unknown_name

REWARDS = ("raw", "minus_one", "times_100", "return_range")
WITHOUT_HOLD_OUT = {"hold_out": 0.0, "hold_out_seed": 0}


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
