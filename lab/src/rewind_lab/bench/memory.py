"""`rewind bench memory`: the time of planning and sampling."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rewind.cli.arguments import Rare
from rewind.data import Trajectories
from rewind.files import write_json
from rewind.memory import TrajectoryReplay
from rewind.table import table
from rewind_lab.bench.timing import machine, side_by_side

OBSERVATIONS, ACTIONS = 17, 6
PLAN_STEPS, DYNAMIC_STEPS = 1000, 100
SCALING_LENGTH = 50


@dataclass
class BenchMemory:
    """Measure planning and sampling: microseconds per batch, and ratios.

    Example: rewind bench memory --size 1000000
    """

    size: int = 1_000_000
    """Transitions in the data."""
    batch_size: int = 256
    """Slots."""
    rounds: int = 15
    """Number of measurements, in turns; the median counts."""
    most_trajectories: Rare[int] = 1_000_000
    """Maximum number of trajectories in the scaling test; a million takes 0.5 GB of memory."""
    json: Rare[Path | None] = None
    """Also write the figures to this file."""

    def run(self) -> None:
        figures: dict[str, Any] = {"machine": machine(), "size": self.size, "batch_size": self.batch_size}
        lengths = {"long": (400, 600), "short": (1, 5)}
        data = {name: random_trajectories(self.size, *bounds) for name, bounds in lengths.items()}
        figures["plan_us_per_batch"] = self._plans(data)
        figures["sample"] = self._samples(data["long"])
        figures["scaling_us_per_batch"] = self._scaling()
        figures["cores"] = self._cores(data["long"])
        print_figures(figures)
        if self.json is not None:
            write_json(self.json, figures)

    def _plans(self, data: dict[str, Trajectories]) -> dict[str, float]:
        """Static priorities: plans of 1000 batches. Dynamic ones: plans of 100, each followed by its uncertainty."""
        result: dict[str, float] = {}
        for lengths, trajectories in data.items():
            for priority in ("uniform", "uqm_reward", "lower_uqm_unc"):
                memory = loaded(trajectories, priority)
                steps = DYNAMIC_STEPS if memory.dynamic else PLAN_STEPS
                job = self._planning(memory, steps)
                for _ in range(2 * self.rounds):
                    job()  # compiles, starts the first sweeps, and visits most trajectories
                # One after the other, not in turns: in use, a memory has its arrays in the caches.
                seconds = side_by_side({priority: job}, 3 * self.rounds)
                result[f"{priority}, {lengths}"] = seconds[priority] / steps * 1e6
        return result

    def _planning(self, memory: TrajectoryReplay, steps: int) -> Callable[[], None]:
        rng = np.random.default_rng(0)
        values = [rng.random((steps, self.batch_size), dtype=np.float32) for _ in range(8)]  # 8, to vary them
        turn = 0

        def job() -> None:
            nonlocal turn
            plan = memory.plan(steps, self.batch_size)
            if memory.dynamic:
                memory.update_uncertainty(values[turn % len(values)], plan)
                turn += 1

        return job

    def _samples(self, data: Trajectories) -> dict[str, float]:
        """`sample` compared with `np.take` of planned rows, of the five fields an agent learns from."""
        memory, other = loaded(data, "uniform", seed=0), loaded(data, "uniform", seed=1)  # other rows: not in the cache
        successors = data.observations  # of the same size: only the time matters
        terminals = np.zeros(data.rows, bool)
        fields = (data.observations, data.actions, data.rewards, successors, terminals)
        plan = other.plan(self.rounds * 200 + 1, self.batch_size)
        step = iter(range(len(plan)))

        def take() -> None:
            rows = plan.indices[next(step)]
            for field in fields:
                field.take(rows, axis=0)

        memory.sample(self.batch_size)
        jobs = {"sample": lambda: memory.sample(self.batch_size), "take": take}
        seconds = side_by_side(jobs, self.rounds * 200)
        per_batch = {f"{name}_us": 1e6 * taken for name, taken in seconds.items()}
        return {**per_batch, "ratio": seconds["sample"] / seconds["take"]}

    def _scaling(self) -> dict[str, float]:
        """Planning over 10^2 to 10^6 trajectories of equal length."""
        counts = [10**k for k in range(2, 7) if 10**k <= self.most_trajectories]
        jobs: dict[str, Callable[[], object]] = {}
        for priority in ("uniform", "return"):
            for count in counts:
                memory = loaded(equal_trajectories(count), priority)
                jobs[f"{priority}, {count:,}"] = self._planning(memory, PLAN_STEPS)
        for job in jobs.values():
            job()
        return {name: s / PLAN_STEPS * 1e6 for name, s in side_by_side(jobs, self.rounds).items()}

    def _cores(self, data: Trajectories) -> dict[str, float]:
        """The plans of many memories on one thread, and on all cores."""
        cores = machine()["cores"]
        jobs = [self._planning(loaded(data, "uqm_reward", seed), PLAN_STEPS) for seed in range(4 * cores)]

        def on(threads: int) -> Callable[[], object]:
            pool = ThreadPoolExecutor(threads)
            return lambda: list(pool.map(lambda job: job(), jobs))

        seconds = side_by_side({"one": on(1), "all": on(cores)}, self.rounds)
        return {"cores": cores, "speed_up": seconds["one"] / seconds["all"]}


def random_trajectories(rows: int, shortest: int, longest: int) -> Trajectories:
    """Random data of the size of a MuJoCo set, in trajectories of random length."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(shortest, longest + 1, 2 * rows // (shortest + longest))
    rows = int(lengths.sum())
    return Trajectories(
        observations=rng.standard_normal((rows, OBSERVATIONS), dtype=np.float32),
        actions=rng.uniform(-1, 1, (rows, ACTIONS)).astype(np.float32),
        rewards=rng.standard_normal(rows, dtype=np.float32),
        lengths=lengths,
        terminated=rng.random(len(lengths)) < 0.5,
        final_observations=rng.standard_normal((len(lengths), OBSERVATIONS), dtype=np.float32),
        final_known=np.ones(len(lengths), bool),
    )


def equal_trajectories(count: int) -> Trajectories:
    """Trajectories of one length with almost no data, which planning does not read."""
    rows = count * SCALING_LENGTH
    return Trajectories(
        observations=np.zeros(rows, np.uint8),
        actions=np.zeros(rows, np.uint8),
        rewards=np.random.default_rng(0).random(rows, dtype=np.float32),
        lengths=np.full(count, SCALING_LENGTH),
        terminated=np.ones(count, bool),
        final_observations=np.zeros(count, np.uint8),
        final_known=np.ones(count, bool),
    )


def loaded(data: Trajectories, priority: str, seed: int = 0) -> TrajectoryReplay:
    memory = TrajectoryReplay(priority, seed=seed)
    memory.load_offline_dataset(data)
    return memory


def print_figures(figures: dict[str, Any]) -> None:
    where = figures["machine"]
    numba = "with Numba" if where["numba"] else "without Numba"
    print(f"{figures['size']:,} transitions, batch {figures['batch_size']}; {where['processor']}, {numba}\n")
    rows = [{"plan": name, "us per batch": f"{us:.2f}"} for name, us in figures["plan_us_per_batch"].items()]
    print(table(rows))
    print("long: trajectories of about 500 steps; short: of 1 to 5; plans of 1000 batches, of 100 with uncertainty\n")
    sample = figures["sample"]
    taken = f"sample {sample['sample_us']:.1f} us, np.take of five fields {sample['take_us']:.1f} us"
    print(f"{taken}: {sample['ratio']:.2f} times\n")
    rows = [{"trajectories": name, "us per batch": f"{us:.2f}"} for name, us in figures["scaling_us_per_batch"].items()]
    print(table(rows))
    print(f"each of {SCALING_LENGTH} steps\n")
    cores = figures["cores"]
    print(f"many memories on {cores['cores']} cores: {cores['speed_up']:.2f} times as fast as on one")
