"""`rewind behaviour`: train and choose the policies that make the rebuilt data. Training needs JAX."""

from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional, Rare
from rewind.errors import DataError, require, unknown_name
from rewind.files import read_json
from rewind.table import table


@dataclass(frozen=True)
class BehaviourTrain:
    """Train behaviour policies by SAC in a simulator, all seeds together, and save snapshots.

    Example: rewind behaviour train Hopper-v4 --steps 200000
    """

    task: Positional[str]
    """Hopper-v4, HalfCheetah-v4, Walker2d-v4, or ant (the walker of AntMaze)."""
    out: Path | None = None
    """Folder for snapshots and curve. Default: behaviour/TASK."""
    steps: int = 1_000_000
    """Transitions, and updates, of each seed."""
    seeds: tuple[int, ...] = (0, 1, 2, 3)
    """One run each."""
    copies: Rare[int] = 32
    """Simulations of each run."""
    rounds: Rare[int] = 4
    """Steps of each simulation between two calls of the device, each of which makes copies x rounds updates."""
    capacity: Rare[int] = 1_000_000
    """Transitions that each run stores."""
    random: Rare[int] = 10_000
    """Steps with random actions before learning starts."""
    minutes: float | None = None
    """Save and stop after this time."""
    resume: bool = False
    """Resume the training in the folder."""

    def run(self) -> None:
        for package, extra in (("jax", "train"), ("equinox", "train"), ("gymnasium", "envs"), ("mujoco", "envs")):
            require(package, extra)
        from rewind_lab.behaviour.online import BehaviourPlan, Online

        out = Path("behaviour") / self.task if self.out is None else self.out
        plan = BehaviourPlan(
            self.task, self.steps, self.seeds, self.copies, self.rounds, capacity=self.capacity, random=self.random
        )
        Online(plan, out, self.resume).train(None if self.minutes is None else 60.0 * self.minutes)
        print(f"wrote {out}; choose policies with: rewind behaviour ship {out}")


@dataclass(frozen=True)
class BehaviourShip:
    """Choose the policies of a training: expert, medium and the stages of its replay; for the ant, the best.

    Example: rewind behaviour ship behaviour/Hopper-v4
    """

    folder: Positional[Path]
    """Folder of `rewind behaviour train`."""
    out: Path = Path("policies")
    """Folder for one .npz file each."""
    seed_index: Rare[int | None] = None
    """Run to choose from. Default: the one with the best final return."""
    episodes: int = 10
    """Episodes to evaluate each snapshot; chosen ones are evaluated in 100 more."""

    def run(self) -> None:
        require("mujoco", "envs")
        from rewind_lab.behaviour.judge import ship
        from rewind_lab.behaviour.shipped import described

        print(table(described(ship(self.folder, self.out, self.seed_index, self.episodes))))
        print(f"wrote {self.out}")


@dataclass(frozen=True)
class BehaviourList:
    """List the policies that ship with Rewind, with their training steps and returns.

    Returns of the -v0 policies are in their files; those of others come from the repository's figures of data sets.

    Example: rewind behaviour list
    """

    cards: Rare[Path] = Path("docs/data_cards/cards.json")
    """Figures of `rewind data cards`, for the sets that one policy plays alone."""
    stages: Rare[Path] = Path("lab/results/behaviour/v1_mujoco.json")
    """Scores of the stages of medium-replay-v1."""

    def run(self) -> None:
        from rewind_lab.behaviour.shipped import described, measured_returns, shipped

        cards, stages = (read_json(path) if path.is_file() else {} for path in (self.cards, self.stages))
        print(table(described(shipped(), measured_returns(cards, stages))))
        print(
            "\nReturns are of 100 episodes, or of the data set in the last column. Without a figure: an ant, whose "
            "episodes\nreach goals (rewind data cards --check); Adroit's clones, which play half of a set; or "
            f"{self.cards} or\n{self.stages} is not here."
        )


@dataclass(frozen=True)
class BehaviourCurves:
    """Draw learning curves of behaviour policies: returns of the training episodes against steps.

    Example: rewind behaviour curves behaviour/Hopper-v4/curve.jsonl
    """

    curves: Positional[tuple[Path, ...]]
    """Files curve.jsonl of `rewind behaviour train`; the name of a file or of its folder is the title."""
    out: Path = Path("curves")
    """Folder for behaviour_curves.png and .svg."""

    def run(self) -> None:
        from rewind_lab.behaviour.plot import draw_curves

        for path in draw_curves(self.curves, self.out):
            print(f"wrote {path}")


@dataclass(frozen=True)
class BehaviourWalker:
    """Measure how often the ant of the -v0 sets, or another walker, reaches its own goal in each maze.

    The mazes, goals and noise are those of the -v0 sets. `rewind behaviour likeness` measures the ants of -v1.

    Example: rewind behaviour walker --episodes 200
    """

    policy: Path | None = None
    """A walker's .npz file. Default: the ant of the -v0 sets."""
    episodes: int = 200
    """Episodes in each maze."""
    seed: int = 0
    """Seed of the episodes."""
    json: Rare[Path | None] = None
    """Also write the figures to this file."""

    def run(self) -> None:
        require("mujoco", "envs")
        from rewind.files import write_json
        from rewind_lab.behaviour.shipped import measure

        rows = measure(self.policy, self.episodes, self.seed)
        print(table(rows))
        if self.json is not None:
            write_json(self.json, {"episodes": self.episodes, "seed": self.seed, "mazes": rows})


@dataclass(frozen=True)
class BehaviourLikeness:
    """Measure how the AntMaze -v1 sets differ from D4RL's, on all cores. Resumes where it stopped.

    Example: rewind behaviour likeness umaze
    """

    sets: Positional[tuple[str, ...]] = ()
    """umaze, umaze-diverse, medium-play, medium-diverse, large-play, large-diverse. Default: all."""
    out: Path = Path("docs/data_cards/likeness.json")
    """File for the figures, which `rewind data cards` reads. The episodes are kept beside it, in likeness.chunks."""
    rows: int = 1_000_000
    """Rows of each set with episodes that stop at their own goal."""
    ending_rows: Rare[int] = 400_000
    """Rows of each set with episodes that never stop, to count what each ending would give."""
    threads: Rare[int | None] = None
    """Number of processes. Default: one for each core."""

    def run(self) -> None:
        require("mujoco", "envs")
        from rewind.processes import available_cores
        from rewind_lab.behaviour.likeness import KINDS
        from rewind_lab.behaviour.measuring import measure_likeness

        unknown = [kind for kind in self.sets if kind not in KINDS]
        if unknown:
            raise unknown_name("set", unknown[0], KINDS)
        sizes = {"rows": self.rows, "ending_rows": self.ending_rows}
        measure_likeness(self.out, self.sets or KINDS, **sizes, threads=self.threads or available_cores())
        print(f"wrote {self.out}; see them with: rewind data cards --check")


@dataclass(frozen=True)
class BehaviourEndings:
    """Show how long episodes of the AntMaze -v1 sets continue after their goal, and the rule that chose it.

    Example: rewind behaviour endings
    """

    figures: Path = Path("docs/data_cards/likeness.json")
    """Figures of `rewind behaviour likeness`, with the fragments that each ending gives."""

    def run(self) -> None:
        from rewind_lab.cards.endings import RULE, chosen_endings

        if not self.figures.is_file():
            raise DataError(f"{self.figures} is missing; write it with: rewind behaviour likeness")
        found = chosen_endings(read_json(self.figures)["sets"])
        print(f"Fragments per million rows by ending. The rule: {RULE}.\n")
        print(table([ending.texts for ending in found]), end="\n\n")
        for ending in found:
            print(f"{ending.name}: {ending.why}")
