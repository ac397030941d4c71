"""`rewind behaviour`: policies that data sets are made with. What the commands take; what they do needs JAX."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional
from rewind.errors import require
from rewind.table import table


@dataclass(frozen=True)
class BehaviourTrain:
    """Train behaviour policies by SAC in a simulator: all seeds together, with snapshots along the way."""

    task: Positional[str]
    """Hopper-v4, HalfCheetah-v4, Walker2d-v4, or ant: the walker of AntMaze."""
    out: Path | None = None
    """Folder for snapshots and curve. Default: behaviour/TASK."""
    steps: int = 1_000_000
    """Transitions, and updates, of each seed."""
    seeds: tuple[int, ...] = (0, 1, 2, 3)
    """One run each."""
    copies: int = 32
    """Simulations of each run."""
    rounds: int = 4
    """Steps of each simulation between two calls of the device, which makes copies x rounds updates."""
    capacity: int = 1_000_000
    """Transitions each run keeps."""
    random: int = 10_000
    """Steps with random actions before learning starts."""
    minutes: float | None = None
    """Stop, saved, after this time."""
    resume: bool = False
    """Continue what the folder holds."""

    def run(self) -> None:
        for package, extra in (("jax", "train"), ("equinox", "train"), ("gymnasium", "envs"), ("mujoco", "envs")):
            require(package, extra)
        from rewind_lab.behaviour.online import Online, Plan

        out = Path("behaviour") / self.task if self.out is None else self.out
        plan = Plan(
            self.task, self.steps, self.seeds, self.copies, self.rounds, capacity=self.capacity, random=self.random
        )
        Online(plan, out, self.resume).train(None if self.minutes is None else 60.0 * self.minutes)
        print(f"wrote {out}; choose policies with: rewind behaviour ship {out}")


@dataclass(frozen=True)
class BehaviourShip:
    """Choose the policies of a training: expert, medium and the stages of its replay; for the ant, the best."""

    folder: Positional[Path]
    """What `rewind behaviour train` wrote."""
    out: Path = Path("policies")
    """Folder for one .npz file each."""
    seed_index: int | None = None
    """The run to take. Default: the one that ended best."""
    episodes: int = 10
    """Episodes each snapshot is judged by; the chosen ones play 100 more."""

    def run(self) -> None:
        require("mujoco", "envs")
        from rewind.rebuilt.shipped import described
        from rewind_lab.behaviour.judge import ship

        print(table(described(ship(self.folder, self.out, self.seed_index, self.episodes))))
        print(f"wrote {self.out}")


@dataclass(frozen=True)
class BehaviourList:
    """The policies that come with the package: how long they trained, what they return with drawn actions."""

    def run(self) -> None:
        from rewind.rebuilt.shipped import described, shipped

        print(table(described(shipped())))


@dataclass(frozen=True)
class BehaviourCurves:
    """Draw how behaviour policies learned: returns of the training episodes against steps."""

    curves: Positional[tuple[Path, ...]]
    """Files curve.jsonl of `rewind behaviour train`; a file's name, or its folder's, is its title."""
    out: Path = Path("curves")
    """Folder for behaviour_curves.png and .svg."""

    def run(self) -> None:
        from rewind_lab.behaviour.plot import draw_curves

        for path in draw_curves(self.curves, self.out):
            print(f"wrote {path}")


@dataclass(frozen=True)
class BehaviourWalker:
    """Measure how often the shipped ant reaches its own goal, maze by maze, with the recipe's noise."""

    policy: Path | None = None
    """A walker's .npz file. Default: the shipped one."""
    episodes: int = 200
    """In each maze."""
    seed: int = 0
    """Of the episodes."""
    json: Path | None = None
    """Also write the figures to this file."""

    def run(self) -> None:
        require("mujoco", "envs")
        from rewind.files import write_json
        from rewind_lab.behaviour.walker import measure

        rows = measure(self.policy, self.episodes, self.seed)
        print(table(rows))
        if self.json is not None:
            write_json(self.json, {"episodes": self.episodes, "seed": self.seed, "mazes": rows})
