"""A process of its own that evaluates policies: `python -m rewind.evaluation.player`.

In threads of the process that trains, planning and evaluating wait for each other's Python code, and with a hundred
runs the accelerator for both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np

from rewind.arrays import Array
from rewind.evaluation.evaluate import Act, Evaluator
from rewind.policy import layers_in, named_layers, tanh_mlp
from rewind.processes import available_cores, never, serve

Arrays = Mapping[str, Array]

TOGETHER = 8  # runs that act on one core
MOST = 6  # simulators that are kept, as many as a group may have tasks: they are large
OF_RUNS = ("mean", "scale", "max_action", "middle")  # what networks have besides layers
# The training that it is beside comes first: what is added to the process's niceness, and its share of the cores.
MODEST, SHARE = 19, 0.75


@dataclass(frozen=True)
class Networks:
    """The policies of several runs, as `rewind.policy` has one.

    weights, biases: each (runs, in, out), (runs, 1, out)
    mean, scale: (runs, 1, observation)
    max_action, middle: (runs, 1, action) half the range of each action, and its middle
    """

    weights: Sequence[Array]
    biases: Sequence[Array]
    mean: Array
    scale: Array
    max_action: Array
    middle: Array

    def __call__(self, observations: Array) -> Array:
        """(runs, episodes, observation) -> (runs, episodes, action); on many cores where there are many runs."""
        x = ((observations - self.mean) / self.scale).astype(np.float32)
        parts = [slice(begin, begin + TOGETHER) for begin in range(0, len(x), TOGETHER)]
        if len(parts) == 1:
            return self._act(x, parts[0])
        return np.concatenate(list(_threads().map(lambda part: self._act(x, part), parts)))

    def arrays(self) -> dict[str, Array]:
        """As they are in an archive."""
        own = {name: getattr(self, name) for name in OF_RUNS}
        return {**own, "layers": np.array(len(self.weights)), **named_layers(self.weights, self.biases)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Networks:
        """middle: evaluations that an earlier version has left have none."""
        arrays = {"middle": np.zeros((len(arrays["mean"]), 1, 1), np.float32), **arrays}
        return cls(*layers_in(arrays, int(arrays["layers"])), *(arrays[name] for name in OF_RUNS))

    def of(self, rows: Sequence[int]) -> Networks:
        """Those of some runs."""
        weights, biases = ([layer[rows] for layer in layers] for layers in (self.weights, self.biases))
        return Networks(weights, biases, *(getattr(self, name)[rows] for name in OF_RUNS))

    def _act(self, x: Array, part: slice) -> Array:
        weights, biases = ([layer[part] for layer in layers] for layers in (self.weights, self.biases))
        return tanh_mlp(x[part], weights, biases, self.max_action[part], self.middle[part])


def _cores() -> int:
    return max(1, int(SHARE * available_cores()))


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_cores(), thread_name_prefix="policies")


def main() -> None:
    """Evaluate until nobody asks any more."""
    if hasattr(os, "nice"):
        os.nice(MODEST)
    evaluators: dict[tuple[str, int, int], Evaluator] = {}

    def answer(message: Arrays) -> Arrays:
        seeds = message["seeds"].tolist()
        key = (str(message["environment"]), len(seeds), int(message["episodes"]))
        if key not in evaluators:
            if len(evaluators) == MOST:
                evaluators.pop(next(iter(evaluators)))
            evaluators[key] = Evaluator(*key, threads=_cores())
        return summary(evaluators[key], Networks.from_arrays(message), seeds)

    serve(answer)


def summary(evaluator: Evaluator, act: Act, seeds: list[int], stop: Callable[[], bool] = never) -> dict[str, Array]:
    """(runs,) each: mean score, return and length."""
    result = evaluator(act, seeds, stop)
    return {"score": result.score, "return": result.returns.mean(axis=1), "length": result.lengths.mean(axis=1)}


if __name__ == "__main__":
    main()
