"""A process of its own that plays evaluations.

In threads of the process that trains, planning and playing wait for each other's Python code, and with a hundred runs
the accelerator for both.
"""

from __future__ import annotations

import io
import os
import selectors
import subprocess
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rewind.errors import RewindError
from rewind.evaluation.evaluate import Act, Evaluator
from rewind.policy import layers_in, named_layers, tanh_mlp
from rewind.processes import answering, start

Array = NDArray[Any]
Arrays = Mapping[str, Array]

TOGETHER = 8  # runs that act on one core
MOST = 4  # simulators that are kept: they are large
OF_RUNS = ("mean", "scale", "max_action")  # what networks have besides layers
LOOK = 0.1  # seconds after which a thread that waits can be stopped
# The training that it is beside comes first: what is added to the process's niceness, and its share of the cores.
MODEST, SHARE = 19, 0.75


@dataclass(frozen=True)
class Networks:
    """The policies of several runs, as `rewind.policy` has one.

    weights, biases: each (runs, in, out), (runs, 1, out)
    mean, scale: (runs, 1, observation)
    max_action: (runs, 1, 1)
    """

    weights: Sequence[Array]
    biases: Sequence[Array]
    mean: Array
    scale: Array
    max_action: Array

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
        return cls(*layers_in(arrays, int(arrays["layers"])), *(arrays[name] for name in OF_RUNS))

    def of(self, rows: Sequence[int]) -> Networks:
        """Those of some runs."""
        weights, biases = ([layer[rows] for layer in layers] for layers in (self.weights, self.biases))
        return Networks(weights, biases, self.mean[rows], self.scale[rows], self.max_action[rows])

    def _act(self, x: Array, part: slice) -> Array:
        weights, biases = ([layer[part] for layer in layers] for layers in (self.weights, self.biases))
        return tanh_mlp(x[part], weights, biases, self.max_action[part])


def _cores() -> int:
    return max(1, int(SHARE * (os.cpu_count() or 1)))


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_cores(), thread_name_prefix="policies")


class CannotPlay(RewindError):
    """Not in a process of its own: it does not know the environment, or is gone."""


class Player:
    """The process. It is started when it is needed, and ends when nobody holds this object any more."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._end: Callable[[], Any] = lambda: None

    def __call__(self, environment: str, episodes: int, networks: Networks, seeds: list[int]) -> dict[str, Array]:
        """Mean score, return and length of each run: `Evaluator` in the other process."""
        order = {"environment": np.array(environment), "episodes": np.array(episodes), "seeds": np.array(seeds)}
        try:
            answer = self._ask({**order, **networks.arrays()})
        except BaseException:  # whoever asks next must not get this answer
            self._end()
            self._process = None
            raise
        if "error" in answer:
            raise CannotPlay(str(answer["error"]))
        return dict(answer)

    def _ask(self, order: Arrays) -> Arrays:
        if self._process is None:
            self._process = start("rewind.evaluation.player")
            self._end = weakref.finalize(self, _kill, self._process)
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            send(process.stdin, order)
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                while not selector.select(LOOK):
                    pass
            answer = receive(process.stdout)
        except OSError:  # a broken pipe: it is gone
            answer = None
        if answer is None:
            raise CannotPlay(f"the process that plays evaluations ended with status {process.wait()}")
        return answer


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def send(stream: BinaryIO | Any, arrays: Arrays) -> None:
    buffer = io.BytesIO()
    contents: dict[str, Any] = dict(arrays)  # Any: NumPy's own types mistake the names
    np.savez(buffer, **contents)
    stream.write(len(buffer.getbuffer()).to_bytes(8, "little"))
    stream.write(buffer.getbuffer())
    stream.flush()


def receive(stream: BinaryIO | Any) -> Arrays | None:
    """None where nothing more comes."""
    size = int.from_bytes(header, "little") if len(header := stream.read(8)) == 8 else None
    if size is None or len(content := stream.read(size)) < size:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


# The other process


def main() -> None:
    """Play what is ordered until there are no more orders."""
    orders, answers = answering()
    if hasattr(os, "nice"):
        os.nice(MODEST)
    evaluators: dict[tuple[str, int, int], Evaluator] = {}
    while (order := receive(orders)) is not None:
        try:
            answer = _play(order, evaluators)
        except RewindError as error:
            answer = {"error": np.array(str(error))}
        try:
            send(answers, answer)
        except BrokenPipeError:  # nobody waits for it any more
            os._exit(1)


def _play(order: Arrays, evaluators: dict[tuple[str, int, int], Evaluator]) -> Arrays:
    seeds = order["seeds"].tolist()
    key = (str(order["environment"]), len(seeds), int(order["episodes"]))
    if key not in evaluators:
        if len(evaluators) == MOST:
            evaluators.pop(next(iter(evaluators)))
        evaluators[key] = Evaluator(*key, threads=_cores())
    return summary(evaluators[key], Networks.from_arrays(order), seeds)


def summary(evaluator: Evaluator, act: Act, seeds: list[int]) -> dict[str, Array]:
    """(runs,) each: mean score, return and length."""
    result = evaluator(act, seeds)
    return {"score": result.score, "return": result.returns.mean(axis=1), "length": result.lengths.mean(axis=1)}


if __name__ == "__main__":
    main()
