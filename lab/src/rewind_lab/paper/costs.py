"""Which runs are trained together, and how long that will take: a guess, put right by what finished groups took."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path
from statistics import median
from typing import Any, Self

from rewind.evaluation.protocol import LAST, evaluation_steps
from rewind.files import read_json
from rewind.progress import say
from rewind.run_spec import RunSpec
from rewind_lab.bench.train import VARIANTS, BenchTrain
from rewind_lab.paper.clock import Deadline
from rewind_lab.paper.definitions import TableDefinition
from rewind_lab.paper.results import FinishedGroup, Index

SpecGroup = list[RunSpec]
COMPILING = 15.0  # seconds for each variant of table 5
START = 30.0  # seconds: data onto the device, compilation, first environments

# Microseconds per update of a group: (whatever its size, for each run). `rewind bench train`, one H200, batch 256
# (lab/results/bench): one run and 128 of TD3+BC, one and 64 of IQL and EDAC. BC has no critics: a third of TD3+BC.
ON_GPU = {"td3_bc": (62.0, 7.74), "iql": (91.0, 9.9), "edac": (223.0, 100.6), "bc": (20.0, 2.6)}
ON_GPU["rebrac"] = (105.0, 32.1)  # one run and 24 (h200/rebrac.json and rebrac_24.json)
FUSED = 0.6  # times as long with fused kernels (48 runs of TD3+BC, lab/results/paper)
ON_CPU = 2964.0 / 7.74  # times as long for each run, on two cores (lab/results/bench/td3_bc_cpu.json)

# Of an evaluation: steps of an episode at most, and microseconds of one core for a step (`rewind bench envs`, two cores
# that were busy; Adroit and others are not measured).
EPISODES = {"mujoco": (1000, 90.0), "antmaze": (1000, 500.0), "adroit": (200, 300.0), "other": (400, 5.0)}
EPISODES["ogbench"] = (200, 3000.0)  # cube-single
POLICY_CALL = 0.0005  # seconds, for all runs at once
CORES = 16  # of the machine with that GPU


class CostEstimate:
    """Seconds that groups will take on a device.

    device: as in the results, "gpu NVIDIA H200", or its first word, which is what guesses and earlier groups go by
    cores: that play the episodes; None: those of this machine, or of the one with the benchmarked GPU
    fused: whether the networks are single kernels
    """

    def __init__(
        self, index: Index, device: str = "gpu", points: int = 10, cores: int | None = None, *, fused: bool = False
    ) -> None:
        self.kind, self.points, self.fused = device.split()[0], points, fused
        self.cores = cores or (CORES if device == "gpu" else os.cpu_count() or 1)
        groups = [group for group in index.groups.values() if group.device.split()[0] == self.kind]
        known = [(group, group.training) for group in groups if group.training is not None]
        self._training = _ratios(
            (group, training / self._guess_training(group.algorithm, group.steps, group.runs))
            for group, training in known
            if (group.kernels == "fused") == fused
        )
        self._rest = _ratios((group, self._rest_ratio(group, training)) for group, training in known)

    def seconds(self, spec: RunSpec, runs: int) -> float:
        """Of a group of so many runs like this one, from its start to its results."""
        key = (spec.suite, spec.algorithm)
        evaluations = len(evaluation_steps(spec.steps, max(1, spec.steps // self.points)))
        training = self._guess_training(spec.algorithm, spec.steps, runs) * self._training(key)
        rest = self._guess_rest(spec.suite, evaluations, runs * spec.episodes, training) * self._rest(key)
        # The last evaluations follow the last update; on a CPU, they come before it.
        last = 0 if self.kind == "cpu" else min(evaluations, LAST)
        return training + rest + last * _play(spec.suite, runs * spec.episodes, self.cores)

    def with_points(self, points: int) -> Self:
        """The same for so many evaluations on the way."""
        other = copy(self)
        other.points = points
        return other

    def evaluation(self, spec: RunSpec, runs: int) -> float:
        """Seconds of one evaluation of such a group."""
        # Beside a GPU nobody times them.
        ratio = self._rest((spec.suite, spec.algorithm)) if self.kind == "cpu" else 1.0
        return _play(spec.suite, runs * spec.episodes, self.cores) * ratio

    def least(self, spec: RunSpec, runs: int) -> float:
        """Seconds below which such a group is not worth its start: that, and two evaluations."""
        rest = self._rest((spec.suite, spec.algorithm))
        return START * rest + 2 * self.evaluation(spec, runs)

    def most(self, spec: RunSpec, seconds: float, limit: int) -> int:
        """How many runs like this one fit into so many seconds; `limit` at most, 0 where not even one fits."""
        fitting = [runs for runs in range(1, limit + 1) if self.seconds(spec, runs) <= seconds]
        return max(fitting, default=0)

    def _guess_training(self, algorithm: str, steps: int, runs: int) -> float:
        fixed, each = ON_GPU[algorithm]
        if self.kind == "cpu":
            fixed, each = 0.0, each * ON_CPU
        elif self.fused:
            fixed, each = fixed * FUSED, each * FUSED
        return steps * (fixed + each * runs) / 1e6

    def _guess_rest(self, suite: str, evaluations: int, episodes: int, training: float) -> float:
        """What else comes before the last update. Beside a GPU's training evaluations are free, up to its length."""
        play = _play(suite, episodes, self.cores)
        if self.kind == "cpu":
            return START + evaluations * play
        return START + max(0.0, (evaluations - LAST) * play - training)

    def _rest_ratio(self, group: FinishedGroup, training: float) -> float:
        guess = self._guess_rest(group.suite, group.evaluations, group.runs * group.episodes, training)
        return max(group.seconds - training, 0.0) / guess


def _play(suite: str, episodes: int, cores: int) -> float:
    """A guess of the seconds that so many episodes take together."""
    steps, each = EPISODES[suite]
    return steps * (POLICY_CALL + episodes * each / 1e6 / cores)


def _ratios(ratios: Iterable[tuple[FinishedGroup, float]]) -> Callable[[tuple[str, str]], float]:
    """By how much to multiply a guess: the median over groups of that suite and algorithm, or over all, or 1."""
    found: dict[tuple[str, str], list[float]] = {}
    for group, ratio in ratios:
        found.setdefault((group.suite, group.algorithm), []).append(ratio)
    every = [value for values in found.values() for value in values]
    return lambda key: median(found.get(key) or every or [1.0])


def next_group(left: Sequence[RunSpec], estimate: CostEstimate, seconds: float, most: int) -> SpecGroup:
    """The first run that is left, and others that share its program, as many as fit; none where none does.

    Those on the same data set come first, then those on the next one: fewer sets are needed at a time.

    left: the most valuable first
    seconds: what a group may take
    most: runs of a group, at most
    """
    if not left:
        return []
    same = [spec for spec in left if spec.program == left[0].program]
    places = {name: place for place, name in enumerate(datasets_of(same))}
    same.sort(key=lambda spec: places[spec.dataset])
    return same[: estimate.most(left[0], seconds, min(most, len(same)))]


def datasets_of(specs: Iterable[RunSpec]) -> list[str]:
    """Each once, in the order in which they come."""
    return list(dict.fromkeys(spec.dataset for spec in specs))


def pack(left: Sequence[RunSpec], estimate: CostEstimate, seconds: float, most: int) -> Iterator[SpecGroup]:
    """All groups, in order. A run that takes longer than `seconds` alone still gets a group, which calls continue."""
    left = list(left)
    while left:
        group = next_group(left, estimate, seconds, most) or next_group(left, estimate, float("inf"), 1)
        taken = set(group)
        left = [spec for spec in left if spec not in taken]
        yield group


# Table 5: what sampling costs, measured side by side in one engine (`rewind bench train`)


def cost_path(out: Path) -> Path:
    return out / "cost.json"


def cost_done(definition: TableDefinition, out: Path) -> bool:
    """Whether all numbers of runs were measured."""
    path = cost_path(out)
    if not path.exists():
        return False
    figures = read_json(path)
    return all(str(runs) in figures["by_runs"] for runs in _runs(definition, figures["device"]))


def measure_cost(definition: TableDefinition, out: Path, deadline: Deadline, device: str) -> None:
    """Measure unless it was, and unless there is no time for it."""
    if cost_done(definition, out):
        return
    settings: dict[str, Any] = {key: value for key, value in definition.more.items() if key != "runs"}
    bench = BenchTrain(runs=_runs(definition, device), json=cost_path(out), **settings)
    seconds = _seconds(bench, device)
    if seconds > deadline.left:
        say(f"table {definition.name}: measuring takes about {seconds / 60:.0f} min, more than the time that is left")
        return
    bench.run()


def _runs(definition: TableDefinition, device: str) -> tuple[int, ...]:
    """On a CPU one run uses all cores: there is nothing to pack."""
    return (1,) if device.startswith("cpu") else tuple(definition.more["runs"])


def _seconds(bench: BenchTrain, device: str) -> float:
    fixed, each = ON_GPU[bench.algorithm]
    factor = ON_CPU if device.startswith("cpu") else 1.0
    updates = len(VARIANTS) * (bench.rounds + 2) * bench.steps
    return sum(len(VARIANTS) * COMPILING + updates * (fixed + each * factor * runs) / 1e6 for runs in bench.runs)
