"""The lab's commands: `rewind paper`, `bench`, `behaviour` and `house`. Found through entry points."""

from dataclasses import dataclass
from typing import Annotated

from rewind.cli.arguments import subcommand
from rewind_lab.behaviour.commands import (
    BehaviourCurves,
    BehaviourLikeness,
    BehaviourList,
    BehaviourShip,
    BehaviourTrain,
    BehaviourWalker,
)
from rewind_lab.bench.determinism import BenchDeterminism
from rewind_lab.bench.envs import BenchEnvs
from rewind_lab.bench.evaluation import BenchEvaluation
from rewind_lab.bench.larger import BenchLarger
from rewind_lab.bench.memory import BenchMemory
from rewind_lab.bench.peers import BenchPeers
from rewind_lab.bench.train import BenchTrain
from rewind_lab.house.commands import HouseDraw, HouseLines, HouseWalk
from rewind_lab.paper import commands as paper
from rewind_lab.paper.report.commands import PaperBeside, PaperCloned, PaperReport


@dataclass
class Behaviour:
    """Policies that data sets are made with: train them, choose them, look at them."""

    command: (
        Annotated[BehaviourList, subcommand("list")]
        | Annotated[BehaviourTrain, subcommand("train")]
        | Annotated[BehaviourShip, subcommand("ship")]
        | Annotated[BehaviourCurves, subcommand("curves")]
        | Annotated[BehaviourWalker, subcommand("walker")]
        | Annotated[BehaviourLikeness, subcommand("likeness")]
    )

    def run(self) -> None:
        self.command.run()


@dataclass
class Bench:
    """Benchmarks: costs as ratios, measured side by side in one run."""

    command: (
        Annotated[BenchMemory, subcommand("memory")]
        | Annotated[BenchPeers, subcommand("peers")]
        | Annotated[BenchTrain, subcommand("train")]
        | Annotated[BenchDeterminism, subcommand("determinism")]
        | Annotated[BenchEnvs, subcommand("envs")]
        | Annotated[BenchEvaluation, subcommand("evaluation")]
        | Annotated[BenchLarger, subcommand("larger")]
    )

    def run(self) -> None:
        self.command.run()


@dataclass
class House:
    """The code itself: rooms and floors, the walk of a transition, lines."""

    command: (
        Annotated[HouseDraw, subcommand("draw")]
        | Annotated[HouseWalk, subcommand("walk")]
        | Annotated[HouseLines, subcommand("lines")]
    )

    def run(self) -> None:
        self.command.run()


@dataclass
class Paper:
    """The paper, rerun: its tables as data, a runner that survives, one table of results."""

    command: (
        Annotated[paper.PaperRun, subcommand("run")]
        | Annotated[paper.PaperFinish, subcommand("finish")]
        | Annotated[paper.PaperStatus, subcommand("status")]
        | Annotated[paper.PaperCollect, subcommand("collect")]
        | Annotated[paper.PaperAside, subcommand("aside")]
        | Annotated[paper.PaperList, subcommand("list")]
        | Annotated[paper.PaperSettings, subcommand("settings")]
        | Annotated[PaperReport, subcommand("report")]
        | Annotated[PaperBeside, subcommand("beside")]
        | Annotated[PaperCloned, subcommand("cloned")]
    )

    def run(self) -> None:
        self.command.run()


COMMANDS = {"paper": Paper, "bench": Bench, "behaviour": Behaviour, "house": House}
