"""`rewind bench evaluation`: the time of an evaluation, relative to training, in one run."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rewind.cli.arguments import Rare
from rewind.data import Trajectories
from rewind.envs import make
from rewind.envs.make import FAST
from rewind.errors import UsageError, require_training, unknown_name
from rewind.evaluation import Evaluation, Evaluator
from rewind.files import write_json
from rewind.rebuilt.collect import play, to_trajectories
from rewind.rebuilt.players import UniformPlayer
from rewind.rebuilt.recipes import RANDOM, Recipe
from rewind.table import table
from rewind_lab.bench.timing import machine, side_by_side
from rewind_lab.bench.train import training_job

TRAINING, AS_IS, LONGEST = "training", "evaluation", "evaluation to the horizon"
PACKAGES = ("jax", "mujoco", "gymnasium")


@dataclass
class BenchEvaluation:
    """Measure the time to evaluate many runs, and the time of their updates between two evaluations.

    Example: rewind bench evaluation --environment Hopper-v4 --runs 128
    """

    environment: str = "Hopper-v4"
    """Hopper-v4, HalfCheetah-v4 or Walker2d-v4."""
    algorithm: str = "td3_bc"
    """td3_bc, iql, edac or bc."""
    runs: int = 128
    """Policies trained and evaluated together."""
    episodes: int = 10
    """Episodes of each policy."""
    updates: int = 20_000
    """Updates of each run between two evaluations."""
    size: Rare[int] = 1_000_000
    """Transitions in the data, made by random actions in the environment."""
    batch_size: Rare[int] = 256
    """Transitions per update."""
    rounds: Rare[int] = 3
    """Number of measurements, in turns; the median counts."""
    threads: Rare[int] = 0
    """Threads of the simulator, 0 for all cores."""
    json: Rare[Path | None] = None
    """Also write the figures to this file."""

    def run(self) -> None:
        self._check()
        figures = self.measure()
        print_figures(figures)
        if self.json is not None:
            write_json(self.json, figures)

    def _check(self) -> None:
        if self.environment not in FAST:
            raise unknown_name("environment of this benchmark", self.environment, FAST)
        for name in ("runs", "episodes", "updates", "size", "batch_size", "rounds"):
            if getattr(self, name) < 1:
                raise UsageError(f"--{name.replace('_', '-')} is {getattr(self, name)}; expected at least 1")
        require_training()

    def measure(self) -> dict[str, Any]:
        """Measure all jobs in turns, after each has run once, so that nothing compiles in a measurement."""
        from rewind.evaluation.scoring import acting
        from rewind.training import make_runs
        from rewind.training.engine import device_kind
        from rewind.training.group import Group

        data = wandering(self.environment, self.size, self.threads)
        runs = make_runs(data, self.algorithm, samplers=["baseline"], seeds=range(self.runs))
        group = Group(data, runs, range(self.runs), self.batch_size)
        played: dict[str, Evaluation] = {}

        def evaluation(name: str, evaluator: Evaluator) -> None:
            played[name] = evaluator(acting(group), seed=group.step)

        judge = partial(Evaluator, self.environment, self.runs, self.episodes, threads=self.threads)
        jobs: dict[str, Callable[[], None]] = {
            TRAINING: training_job(group, self.updates),
            AS_IS: partial(evaluation, AS_IS, judge()),
            LONGEST: partial(evaluation, LONGEST, judge(terminate_when_unhealthy=False)),
        }
        first = side_by_side(jobs, 1)
        measured = side_by_side(jobs, self.rounds)
        return {
            "machine": machine() | {package: version(package) for package in PACKAGES},
            "device": device_kind(),
            **{name: value for name, value in asdict(self).items() if name != "json"},
            "data": {"transitions": data.rows, "made by": "random actions"},
            "seconds": measured,
            "first_call_seconds": first,
            "ratio_to_training": {name: measured[name] / measured[TRAINING] for name in (AS_IS, LONGEST)},
            "episode_length": {name: lengths(result) for name, result in played.items()},
            "us_per_run_update": measured[TRAINING] / self.runs / self.updates * 1e6,
            "us_per_environment_step": {
                name: measured[name] / result.lengths.sum() * 1e6 for name, result in played.items()
            },
        }


def lengths(result: Evaluation) -> dict[str, float]:
    of = result.lengths
    return {"mean": float(of.mean()), "shortest": int(of.min()), "longest": int(of.max())}


def wandering(name: str, rows: int, threads: int = 0) -> Trajectories:
    """At least `rows` transitions of random actions, in episodes that continue to the horizon."""
    env: Any = make(name, 1)
    horizon = env.max_episode_steps
    recipe = Recipe("wandering", name, min(rows, horizon), rows, (RANDOM,), width=-(-rows // horizon))
    env = make(name, recipe.width, terminate_when_unhealthy=False, autoreset_mode="Disabled", threads=threads)
    return to_trajectories(play(UniformPlayer(env), recipe, 0, 0, 0), recipe, {})


def print_figures(figures: dict[str, Any]) -> None:
    where = figures["machine"]
    what = f"{figures['algorithm']}, {figures['runs']} runs, batch {figures['batch_size']}; {figures['device']}"
    print(f"{what}; {where['processor']}, {where['cores']} cores, mujoco {where['mujoco']}\n")
    work = dict.fromkeys((AS_IS, LONGEST), f"{figures['episodes']} episodes a run on {figures['environment']}")
    work[TRAINING] = f"{figures['updates']:,} updates a run"
    rows = []
    for name, taken in figures["seconds"].items():
        length = figures["episode_length"].get(name, {"mean": None})["mean"]
        rows.append(
            {
                "": name,
                "work": work[name],
                "mean length": None if length is None else f"{length:.0f}",
                "seconds": f"{taken:.2f}",
                "to training": f"{figures['ratio_to_training'].get(name, 1.0):.3f}",
                "first call s": f"{figures['first_call_seconds'][name]:.1f}",
            }
        )
    print(table(rows))
    print("to the horizon: unhealthy robots continue, so that every episode has the maximum length")
