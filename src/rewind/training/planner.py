"""The host's part: plans for all runs, on all cores, while the device works."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewind.compiled import compiled
from rewind.data import Trajectories
from rewind.memory import Plan, TrajectoryReplay
from rewind.training.spec import Memory, Run

Array = NDArray[Any]

QUANTILES = 4  # visits are counted by quarter of the trajectories, ranked by return, lowest first


@dataclass
class Planned:
    """The plans of one block, of all runs."""

    plans: list[Plan]
    indices: Array  # (runs, steps, batch) int32
    fresh: Array  # (runs, steps, batch) bool
    visits: Array  # (runs, QUANTILES) share of the rows that come from each quarter of the trajectories
    delay: Array  # (runs,) steps between the newest uncertainty the ranks knew and the middle of the plan


@compiled
def pack(
    indices: Array, fresh: Array, trajectories: Array, quantile: Array, rows: Array, starts: Array, visits: Array
) -> None:
    """A plan as the device wants it, and what it visits. In one loop, so that Python's lock is not held meanwhile."""
    rows[:] = indices
    starts[:] = fresh
    visits[:] = 0.0
    for trajectory in trajectories.ravel():
        visits[quantile[trajectory]] += 1.0 / trajectories.size


class Planner:
    """The memories of a group of runs."""

    def __init__(self, data: Trajectories, runs: Sequence[Run], batch_size: int, threads: int | None = None) -> None:
        self.memories: list[Memory] = [run.sampler.memory(run.seed) for run in runs]
        for memory in self.memories:
            memory.load_offline_dataset(data)
        self.batch_size = batch_size
        self.dynamic = np.array([isinstance(m, TrajectoryReplay) and m.dynamic for m in self.memories])
        order = np.argsort(np.argsort(data.returns, kind="stable"))
        self._quantile = order * QUANTILES // len(order)
        self._pool = ThreadPoolExecutor(threads or os.cpu_count() or 1, thread_name_prefix="planner")
        self._fed_step = np.zeros(len(runs), np.int64)
        self.seconds = 0.0  # spent planning and feeding so far

    def plan(self, steps: int) -> Planned:
        begin = time.perf_counter()
        shape = (len(self.memories), steps, self.batch_size)
        indices, fresh = np.empty(shape, np.int32), np.empty(shape, bool)
        visits, delay = np.empty((len(self.memories), QUANTILES)), np.zeros(len(self.memories))

        def one(run: int) -> Plan:
            plan = self.memories[run].plan(steps, self.batch_size)
            pack(plan.indices, plan.fresh, plan.trajectories, self._quantile, indices[run], fresh[run], visits[run])
            if self.dynamic[run]:
                delay[run] = plan.first_step + steps / 2 - self._fed_step[run]
            return plan

        plans = list(self._pool.map(one, range(len(self.memories))))
        self.seconds += time.perf_counter() - begin
        return Planned(plans, indices, fresh, visits, delay)

    def feed(self, plans: Sequence[Plan | None], uncertainty: Array, alive: Array) -> None:
        """Hand back the critics' disagreement; a run that has died keeps its ranks."""

        def one(run: int) -> None:
            plan = plans[run]
            assert plan is not None
            self.memories[run].update_uncertainty(uncertainty[run], plan)
            self._fed_step[run] = plan.first_step + len(plan)

        begin = time.perf_counter()
        list(self._pool.map(one, np.flatnonzero(self.dynamic & alive)))
        self.seconds += time.perf_counter() - begin

    def state(self) -> list[dict[str, Any]]:
        return list(self._pool.map(lambda memory: memory.state_dict(), self.memories))

    def load_state(self, states: Sequence[dict[str, Any]]) -> None:
        for memory, state in zip(self.memories, states, strict=True):
            memory.load_state_dict(state)
        self._fed_step = np.array([int(state.get("fed_step", 0)) for state in states])

    def close(self) -> None:
        self._pool.shutdown()
