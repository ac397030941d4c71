"""Train behaviour policies online by SAC: many runs and simulations together, with snapshots along the way.

While the device learns, the simulators act with the policy of the previous call.

    OUT/config.json       the plan
    OUT/curve.jsonl       a line per run and period: returns of the episodes that ended in it
    OUT/snapshots/*.npz   the policies of all runs at one step, half precision
    OUT/*.checkpoint      to resume; unfinished episodes are then started again
"""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from rewind.arrays import Array
from rewind.checked_log import Record
from rewind.envs.make import FAST, make
from rewind.envs.vector import ArrayEnv
from rewind.errors import DataError, UsageError, unknown_name
from rewind.files import read_json, read_npz, whole_file, write_json
from rewind.progress import steps_bar
from rewind.signals import stop_signals
from rewind.training.checkpoint import differences, read_latest, write_checkpoint
from rewind.training.log import JsonLines
from rewind.training.options import Stopped
from rewind_lab.behaviour.sac import SAC, Learners, draw, grown, pack
from rewind_lab.behaviour.walk import AntWalk, Walk

PERIOD = 10_000  # steps per line of the curve
CHECKPOINT_SECONDS = 600.0  # between checkpoints


@dataclass(frozen=True)
class BehaviourPlan:
    """What to train. Steps are transitions of each run, and updates of its networks.

    task: Hopper-v4, HalfCheetah-v4, Walker2d-v4, or ant: the walker of AntMaze
    copies: simulations of each run
    rounds: steps of each simulation between two calls of the device, which makes copies * rounds updates
    random: steps with random actions before learning starts
    early, late: steps between two snapshots, up to `early_until` and after it
    walks: ways to train the ant; each has a run of every seed
    threads: of each walk's simulator, 0 for all cores
    """

    task: str
    steps: int = 1_000_000
    seeds: tuple[int, ...] = (0, 1, 2, 3)
    copies: int = 32
    rounds: int = 4
    batch_size: int = 256
    capacity: int = 1_000_000
    random: int = 10_000
    discount: float = 0.99
    early: int = 20_000
    early_until: int = 400_000
    late: int = 100_000
    walks: tuple[Walk, ...] = (Walk(),)
    threads: int = 0

    @property
    def together(self) -> int:
        """Transitions of each run between two calls of the device."""
        return self.copies * self.rounds

    def snapshot_due(self, before: int, now: int) -> bool:
        every = self.early if now <= self.early_until else self.late
        return now // every > before // every or now >= self.steps


def make_task(task: str, num_envs: int, walk: Walk = Walk(), threads: int = 0) -> ArrayEnv:  # noqa: B008
    """The simulations of a task, which are reset one by one."""
    if task == "ant":
        return AntWalk(num_envs, walk, threads=threads)
    if task not in FAST:
        raise unknown_name("task of behaviour policies", task, (*FAST, "ant"))
    env = make(task, num_envs, autoreset_mode="Disabled", threads=threads)
    assert isinstance(env, ArrayEnv)
    return env


class TimeOver(Stopped):
    """The time limit is reached; everything is saved."""

    exit_status = 0


class Players:
    """The simulations of all seeds of one walk, and the returns of the episodes they finish.

    step: step from which training resumes; it seeds the episodes
    """

    def __init__(self, plan: BehaviourPlan, step: int = 0, walk: Walk = Walk()) -> None:  # noqa: B008
        self.runs, self.copies = len(plan.seeds), plan.copies
        self.env = make_task(plan.task, self.runs * self.copies, walk, plan.threads)
        self.stream = np.random.default_rng([plan.seeds[0], step])
        self.observations, _ = self.env.reset(seed=1000 * plan.seeds[0] + step)
        self.returns = np.zeros(self.runs * self.copies)
        self.lengths = np.zeros(self.runs * self.copies, np.int64)
        self.ended: list[list[tuple[float, int]]] = [[] for _ in range(self.runs)]

    def play(self, rounds: int, actors: tuple[list[Array], list[Array]] | None) -> Array:
        """(runs, copies * rounds, width) new transitions. actors: None for random actions"""
        rows = [self._step(actors) for _ in range(rounds)]
        return np.concatenate(rows, axis=1)

    def _step(self, actors: tuple[list[Array], list[Array]] | None) -> Array:
        shape = (self.runs, self.copies, *(self.env.single_action_space.shape or ()))
        seen = self.observations.reshape(self.runs, self.copies, -1)
        if actors is None:
            actions = self.stream.uniform(-1.0, 1.0, shape).astype(np.float32)
        else:
            actions = draw(*actors, seen, self.stream.standard_normal(shape, np.float32))
        following, rewards, terminated, truncated, _ = self.env.step(actions.reshape(-1, shape[-1]))
        rows = pack(
            seen, actions, following.reshape(seen.shape), rewards.reshape(shape[:2]), terminated.reshape(shape[:2])
        )
        self.returns += rewards
        self.lengths += 1
        done = terminated | truncated
        if done.any():
            for index in np.flatnonzero(done):
                self.ended[index // self.copies].append((self.returns[index], int(self.lengths[index])))
            self.returns[done], self.lengths[done] = 0.0, 0
            following, _ = self.env.reset(options={"reset_mask": done})
        self.observations = following
        return rows

    def take_ended(self) -> list[list[tuple[float, int]]]:
        """The returns and lengths of episodes that ended since the last call, run by run."""
        ended, self.ended = self.ended, [[] for _ in range(self.runs)]
        return ended


class AllPlayers:
    """The simulations of all walks, each on a thread of its own; runs are in the order of walks, then seeds."""

    def __init__(self, plan: BehaviourPlan, step: int) -> None:
        self.groups = [Players(plan, step, walk) for walk in plan.walks]
        self.env = self.groups[0].env
        self._pool = ThreadPoolExecutor(len(self.groups))

    def play(self, rounds: int, actors: tuple[list[Array], list[Array]] | None) -> Array:
        def part(index: int) -> Array:
            group = self.groups[index]
            own = slice(index * group.runs, (index + 1) * group.runs)
            ours = None if actors is None else ([w[own] for w in actors[0]], [b[own] for b in actors[1]])
            return group.play(rounds, ours)

        return np.concatenate(list(self._pool.map(part, range(len(self.groups)))))

    def take_ended(self) -> list[list[tuple[float, int]]]:
        return [ended for group in self.groups for ended in group.take_ended()]

    def take_counts(self) -> list[dict[str, float]]:
        """Of each run of the ant, since the last call: the share of steps on its back, goals per 1000 steps."""
        lines: list[dict[str, float]] = []
        for group in self.groups:
            counts = getattr(group.env, "counts", None)
            if counts is None:
                lines += [{}] * group.runs
                continue
            for steps, backs, goals in counts.reshape(3, group.runs, -1).sum(2).T:
                lines.append({"back": round(backs / max(steps, 1), 4), "goals": round(1000 * goals / max(steps, 1), 3)})
            counts[:] = 0.0
        return lines


class Online:
    """One training and its folder."""

    def __init__(self, plan: BehaviourPlan, out: Path, resume: bool = False) -> None:
        if not plan.seeds:
            raise UsageError("expected at least one seed")
        for name in ("steps", "copies", "rounds", "batch_size", "capacity"):
            if getattr(plan, name) < 1:
                raise UsageError(f"{name} is {getattr(plan, name)}; expected at least 1")
        self.plan, self.out = plan, out
        saved = self._prepare(resume)
        self.step = 0 if saved is None else int(saved["step"])
        self.players = AllPlayers(plan, self.step)
        env = self.players.env
        sizes = ((env.single_observation_space.shape or (0,))[0], (env.single_action_space.shape or (0,))[0])
        agent = SAC(*sizes, discount=plan.discount)
        seeds, capacity = list(plan.seeds) * len(plan.walks), min(plan.capacity, plan.steps)
        self.learners = Learners(agent, seeds, capacity, plan.together, plan.together, plan.batch_size)
        if saved is not None:
            self._load(saved)
        (out / "snapshots").mkdir(parents=True, exist_ok=True)
        if self.step < plan.steps:  # otherwise the training is finished, and its plan is kept
            write_json(out / "config.json", asdict(plan))

    def _prepare(self, resume: bool) -> dict[str, Any] | None:
        """The checkpoint to resume from, None for a new folder. Raises an error if the folder has another plan."""
        path = self.out / "config.json"
        config = json.loads(json.dumps(asdict(self.plan)))
        if not path.exists():
            return None
        if not resume:
            raise UsageError(f"{self.out} already contains a training: --resume it, or choose another folder")
        saved = read_json(path)
        changed = [line for line in differences(saved, config) if not line.startswith("steps")]
        if changed:
            raise UsageError(f"{self.out} has another configuration: {'; '.join(changed)}")
        content, problems = read_latest(self.out)
        if content is None:
            reason = "; ".join(problems) or "no checkpoint yet"
            raise UsageError(f"nothing to resume in {self.out}: {reason}; remove the folder to start again")
        return content

    def _load(self, content: dict[str, Any]) -> None:
        self.learners.calls = content["calls"]
        like = (self.learners.state, self.learners.rings)
        leaves = [jax.numpy.asarray(leaf) for leaf in content["leaves"]]
        self.learners.state, rings = jax.tree.unflatten(jax.tree.structure(like), leaves)
        self.learners.rings = grown(rings, self.learners.rings.rows.shape[1])  # more steps may need larger ones

    def train(self, budget: float | None = None) -> None:
        """Train to the end, or for `budget` seconds; then save everything, to resume later."""
        plan, learners = self.plan, self.learners
        begun = saved = time.monotonic()
        bar = steps_bar(f"{plan.task}, {len(plan.seeds)} runs", plan.steps, self.step)
        curve = JsonLines(self.out, self.step, range(len(plan.seeds) * len(plan.walks)), name="curve.jsonl")
        actors = learners.actors()
        metrics: dict[str, Any] = {}
        with closing(bar), closing(curve), stop_signals() as stop:
            rows = self.players.play(plan.rounds, actors if self.step > plan.random else None)
            while self.step < plan.steps:
                before, self.step = self.step, self.step + plan.together
                warm = self.step > plan.random
                if warm:
                    metrics = learners.learn(rows)  # returns at once: the device works while the simulators play
                else:
                    learners.keep(rows)
                rows = self.players.play(plan.rounds, actors if warm else None)
                if warm:
                    actors = learners.actors()
                if plan.snapshot_due(before, self.step):
                    self._snapshot(actors)
                finished = self.step >= plan.steps
                if finished or self.step // PERIOD > before // PERIOD:
                    curve.write(list(self._records(metrics, time.monotonic() - begun)))
                bar.update(self.step - bar.n)
                over = bool(stop) or (budget is not None and time.monotonic() - begun > budget)
                if over or finished or time.monotonic() - saved > CHECKPOINT_SECONDS:
                    self._save()
                    saved = time.monotonic()
                if over and not finished:
                    where = f"at step {self.step:,} of {plan.steps:,}; --resume continues {self.out}"
                    raise Stopped(f"stopped {where}") if stop else TimeOver(f"time limit reached {where}")

    def _snapshot(self, actors: tuple[list[Array], list[Array]]) -> None:
        weights, biases = actors
        arrays: dict[str, Any] = {f"w{layer}": weight.astype(np.float16) for layer, weight in enumerate(weights)}
        arrays |= {f"b{layer}": bias.astype(np.float16) for layer, bias in enumerate(biases)}
        with whole_file(self.out / "snapshots" / f"step-{self.step:010d}.npz") as temporary:
            np.savez(temporary, **arrays)

    def _records(self, metrics: dict[str, Any], seconds: float) -> Iterator[Record]:
        """A line of the curve for each run."""
        figures = {name: np.asarray(values) for name, values in metrics.items()}
        counts = self.players.take_counts()
        for run, ended in enumerate(self.players.take_ended()):
            line: Record = {"step": self.step, "run": run, "episodes": len(ended), "seconds": round(seconds, 1)}
            line |= counts[run]
            if ended:
                returns, lengths = np.array(ended).T
                line |= {"return": round(float(returns.mean()), 2), "length": round(float(lengths.mean()), 1)}
            yield line | {name: round(float(values[run]), 4) for name, values in figures.items()}

    def _save(self) -> None:
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves((self.learners.state, self.learners.rings))]
        write_checkpoint(self.out, self.step, {"step": self.step, "calls": self.learners.calls, "leaves": leaves})


def snapshots(folder: Path) -> Iterator[tuple[int, list[Array], list[Array]]]:
    """The policies of all runs, step by step: weights and biases, (runs, ...) each."""
    for path in sorted((folder / "snapshots").glob("step-*.npz")):
        try:
            arrays = read_npz(path)
            layers = range(len(arrays) // 2)
            weights = [arrays[f"w{layer}"].astype(np.float32) for layer in layers]
            biases = [arrays[f"b{layer}"].astype(np.float32) for layer in layers]
        except (DataError, KeyError) as error:
            raise DataError(f"the snapshot {path} is damaged; delete it to choose from the others") from error
        yield int(path.stem.removeprefix("step-")), weights, biases
