"""The host's part: plans for all runs, on all cores, while the device works."""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.compiled import compiled
from rewind.data import Trajectories
from rewind.memory import Plan, TrajectoryReplay
from rewind.training.spec import Memory, Run

THREADS = 4  # at most: between compiled loops they wait for each other's Python code, and more of them for longer
QUANTILES = 4  # visits are counted by quarter of the trajectories, ranked by return, lowest first


@dataclass
class Planned:
    """The plans of one block, of all runs."""

    plans: list[Plan]  # views into the two arrays below
    indices: Array  # (runs, steps, batch) int32
    fresh: Array  # (runs, steps, batch) bool
    visits: Array  # (runs, QUANTILES) share of the rows that come from each quarter of the trajectories
    delay: Array  # (runs,) steps between the newest uncertainty the ranks knew and the middle of the plan
    used: Any = None  # something that is ready when the device no longer reads the arrays
    table: Array | None = None  # where data is on the disk, the rows of these plans, which threads read
    places: Array | None = None  # (runs, steps, batch) int32 where the planned rows are in that table
    reading: Sequence[Future[None]] = ()

    def ready(self) -> tuple[Array, Array, Array | None]:
        """The rows of all steps, their `fresh`, and the table they are rows of, once it is read. None: of all rows"""
        for piece in self.reading:
            piece.result()
        return (self.indices if self.places is None else self.places), self.fresh, self.table


def empty_block(runs: int, steps: int, batch_size: int) -> Planned:
    shape = (runs, steps, batch_size)
    indices, fresh, trajectories = np.empty(shape, np.int32), np.empty(shape, bool), np.empty(shape, np.int32)
    plans = [Plan(indices[run], fresh[run], trajectories[run], 0) for run in range(runs)]
    return Planned(plans, indices, fresh, np.empty((runs, QUANTILES)), np.zeros(runs))


@compiled
def count_visits(trajectories: Array, quantile: Array, visits: Array) -> None:
    """The share of rows from each quarter of the trajectories, as seen in every tenth batch."""
    visits[:] = 0.0
    for step in range(0, trajectories.shape[0], 10):
        for trajectory in trajectories[step]:
            visits[quantile[trajectory]] += 1.0
    visits /= visits.sum()


def _quantiles(returns: Array) -> Array:
    """(trajectories,) which quarter by return each is in."""
    order = np.argsort(np.argsort(returns, kind="stable"))
    return order * QUANTILES // len(order)


class Planner:
    """The memories of a group of runs.

    data: what each of them learns from

    Blocks are filled in turns, and their memory is used again: a million steps of a hundred runs are 150 GB of plans,
    and asking the system for fresh pages took most of the time of planning.
    """

    TURNS = 3  # one on the device, one waiting for it, one being filled

    def __init__(self, data: Sequence[Trajectories], runs: Sequence[Run], batch_size: int) -> None:
        self.memories: list[Memory] = [run.sampler.memory(run.seed) for run in runs]
        for memory, trajectories in zip(self.memories, data, strict=True):
            memory.load_offline_dataset(trajectories)
        self.batch_size = batch_size
        ranked = (isinstance(memory, TrajectoryReplay) and memory.dynamic for memory in self.memories)
        self.dynamic = [run for run, dynamic in enumerate(ranked) if dynamic]  # whose ranks follow the critics
        quantiles = {id(trajectories): _quantiles(trajectories.returns) for trajectories in data}
        self._quantiles = [quantiles[id(trajectories)] for trajectories in data]
        self._threads = min(THREADS, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="planner")
        self._fed_step = np.zeros(len(runs), np.int64)
        self._blocks: dict[int, list[Planned]] = {}  # by number of steps, longest unused first
        self.seconds = 0.0  # spent planning and feeding so far
        self.waited = 0.0  # for the device

    def plan(self, steps: int) -> Planned:
        block = self._next_block(steps)
        begin = time.perf_counter()

        def plan_run(run: int) -> None:
            plan = self.memories[run].plan(steps, self.batch_size, into=block.plans[run])
            count_visits(plan.trajectories, self._quantiles[run], block.visits[run])

        self._for_each(plan_run, range(len(self.memories)))
        for run in self.dynamic:
            block.delay[run] = block.plans[run].first_step + steps / 2 - self._fed_step[run]
        self.seconds += time.perf_counter() - begin
        return block

    def _next_block(self, steps: int) -> Planned:
        blocks = self._blocks.setdefault(steps, [])
        if len(blocks) < self.TURNS:
            block = empty_block(len(self.memories), steps, self.batch_size)
        else:
            block = blocks.pop(0)
            if block.used is not None:
                begin = time.perf_counter()
                block.used.block_until_ready()
                self.waited += time.perf_counter() - begin
        blocks.append(block)
        return block

    def feed(self, plans: Sequence[Plan | None], uncertainty: Array, alive: Array) -> None:
        """Hand back the critics' disagreement; a run that has died keeps its ranks.

        uncertainty: (dynamic runs, steps, batch)
        """

        def feed_run(at: int) -> None:
            run = self.dynamic[at]
            plan = plans[run]
            assert plan is not None
            self.memories[run].update_uncertainty(uncertainty[at], plan)
            self._fed_step[run] = plan.first_step + len(plan)

        begin = time.perf_counter()
        self._for_each(feed_run, [at for at, run in enumerate(self.dynamic) if alive[run]])
        self.seconds += time.perf_counter() - begin

    def _for_each(self, work: Callable[[int], None], runs: Sequence[int]) -> None:
        """On all threads, a share of the runs each: handing over every single one cost a fifth of the time."""

        def share(first: int) -> None:
            for run in runs[first :: self._threads]:
                work(run)

        list(self._pool.map(share, range(self._threads)))

    def state(self) -> list[dict[str, Any]]:
        return list(self._pool.map(lambda memory: memory.snapshot(), self.memories))

    def load_state(self, states: Sequence[dict[str, Any]]) -> None:
        for memory, state in zip(self.memories, states, strict=True):
            memory.load_state_dict(state)
        self._fed_step = np.array([int(state.get("fed_step", 0)) for state in states])

    def close(self) -> None:
        self._pool.shutdown()
