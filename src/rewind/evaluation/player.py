"""A process of its own that evaluates policies: `python -m rewind.evaluation.player`.

In threads of the process that trains, planning and evaluating wait for each other's Python code, and with a hundred
runs the accelerator for both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from rewind.arrays import Array
from rewind.evaluation.evaluate import Act, Evaluator
from rewind.policy import layers_in, tanh_mlp
from rewind.processes import available_cores, never, serve

Arrays = Mapping[str, Array]

TOGETHER = 8  # runs that act on one core
MOST = 6  # simulators that are kept, as many as a group may have tasks: they are large
OF_RUNS = ("mean", "scale", "max_action", "middle", "weight_", "bias_")  # how the names of their arrays begin
# The training that it is beside comes first: what is added to the process's niceness, and its share of the cores.
MODEST, SHARE = 19, 0.75


@dataclass(frozen=True)
class Networks:
    """The policies of several runs, as `rewind.policy` has one.

    arrays: mean, scale (runs, 1, observation); max_action, middle (runs, 1, action), half the range of each action and
        its middle; weight_0 (runs, in, out), bias_0 (runs, 1, out), weight_1 ...
    """

    arrays: Arrays

    @property
    def depth(self) -> int:
        return sum(name.startswith("weight_") for name in self.arrays)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Networks:
        """Those in an archive with other arrays. Evaluations that an earlier version has left have no `middle`."""
        arrays = {"middle": np.zeros((len(arrays["mean"]), 1, 1), np.float32), **arrays}
        return cls({name: array for name, array in arrays.items() if name.startswith(OF_RUNS)})

    def __call__(self, observations: Array) -> Array:
        """(runs, episodes, observation) -> (runs, episodes, action); on many cores where there are many runs."""
        parts = [slice(begin, begin + TOGETHER) for begin in range(0, len(observations), TOGETHER)]
        if len(parts) == 1:
            return self._act(observations)
        return np.concatenate(list(_threads().map(lambda part: self.of(part)._act(observations[part]), parts)))

    def of(self, runs: Sequence[int] | slice) -> Networks:
        """Those of some runs."""
        return Networks({name: array[runs] for name, array in self.arrays.items()})

    def _act(self, observations: Array) -> Array:
        arrays = self.arrays
        x = ((observations - arrays["mean"]) / arrays["scale"]).astype(np.float32)
        return tanh_mlp(x, *layers_in(arrays, self.depth), arrays["max_action"], arrays["middle"])


def cores_beside() -> int:
    """How many cores an evaluation takes beside a training."""
    return max(1, int(SHARE * available_cores()))


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores_beside(), thread_name_prefix="policies")


@lru_cache(MOST)
def _evaluator(environment: str, runs: int, episodes: int) -> Evaluator:
    return Evaluator(environment, runs, episodes, threads=cores_beside())


def _answer(message: Arrays) -> Arrays:
    seeds = message["seeds"].tolist()
    evaluator = _evaluator(str(message["environment"]), len(seeds), int(message["episodes"]))
    return summary(evaluator, Networks.from_arrays(message), seeds)


def summary(evaluator: Evaluator, act: Act, seeds: list[int], stop: Callable[[], bool] = never) -> dict[str, Array]:
    """(runs,) each: mean score, return and length."""
    result = evaluator(act, seeds, stop)
    return {"score": result.score, "return": result.returns.mean(axis=1), "length": result.lengths.mean(axis=1)}


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(MODEST)
    serve(_answer)
