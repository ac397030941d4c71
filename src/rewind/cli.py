"""The command `rewind`: parses, calls, prints. What a command does is in the room it belongs to."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import rewind
from rewind.behaviour import training_commands
from rewind.behaviour.commands import DataBuild
from rewind.behaviour.training_commands import BehaviourList, BehaviourShip, BehaviourTrain, BehaviourWalker
from rewind.bench.determinism import BenchDeterminism
from rewind.bench.envs import BenchEnvs
from rewind.bench.evaluation import BenchEvaluation
from rewind.bench.memory import BenchMemory
from rewind.bench.peers import BenchPeers
from rewind.bench.train import BenchTrain
from rewind.data import commands as data_commands
from rewind.errors import RewindError, require
from rewind.experiments.commands import Toy
from rewind.experiments.demo_command import Demo
from rewind.experiments.paper import commands as paper_commands
from rewind.experiments.train_command import Train
from rewind.report import commands as report_commands
from rewind.report import policy_commands
from rewind.report.commands import Mazes, Sweeps
from rewind.report.policy_commands import Watch
from rewind.report.results_command import Report

if TYPE_CHECKING:
    import tyro
else:
    try:
        tyro = require("tyro", "cli")
    except RewindError as error:
        sys.exit(f"rewind: {error}")

command = tyro.conf.subcommand


@dataclass
class DataGet(data_commands.DataGet):
    """Bring the published file of a data set into the cache folder ($REWIND_DATA, or ~/.rewind/data)."""

    source: Annotated[
        Path | None, tyro.conf.arg(name="from", help="Take the file from here instead of the network.")
    ] = None


@dataclass
class Export(policy_commands.Export):
    """Write a trained policy for other programs."""

    policy: tyro.conf.Positional[Path]


@dataclass
class DataCards(report_commands.DataCards):
    """Write a page for each rebuilt data set, beside D4RL's published figures; builds what is not there."""

    names: tyro.conf.Positional[tuple[str, ...]] = ()


@dataclass
class Data:
    """Data sets: what is known, what is here, how to get it."""

    command: (
        Annotated[data_commands.DataList, command("list")]
        | Annotated[tyro.conf.PositionalRequiredArgs[data_commands.DataInfo], command("info")]
        | Annotated[tyro.conf.PositionalRequiredArgs[DataGet], command("get")]
        | Annotated[tyro.conf.PositionalRequiredArgs[DataBuild], command("build")]
        | Annotated[DataCards, command("cards")]
    )

    def run(self) -> None:
        self.command.run()


@dataclass(frozen=True)
class BehaviourCurves(training_commands.BehaviourCurves):
    """Draw how behaviour policies learned: returns of the training episodes against steps."""

    curves: tyro.conf.Positional[tuple[Path, ...]] = ()


@dataclass
class Behaviour:
    """Policies that data sets are made with: train them, choose them, look at them."""

    command: (
        Annotated[BehaviourList, command("list")]
        | Annotated[tyro.conf.PositionalRequiredArgs[BehaviourTrain], command("train")]
        | Annotated[tyro.conf.PositionalRequiredArgs[BehaviourShip], command("ship")]
        | Annotated[BehaviourCurves, command("curves")]
        | Annotated[BehaviourWalker, command("walker")]
    )

    def run(self) -> None:
        self.command.run()


@dataclass
class Bench:
    """Benchmarks: costs as ratios, measured side by side in one run."""

    command: (
        Annotated[BenchMemory, command("memory")]
        | Annotated[BenchPeers, command("peers")]
        | Annotated[BenchTrain, command("train")]
        | Annotated[BenchDeterminism, command("determinism")]
        | Annotated[BenchEnvs, command("envs")]
        | Annotated[BenchEvaluation, command("evaluation")]
    )

    def run(self) -> None:
        self.command.run()


@dataclass
class Paper:
    """The paper, rerun: its tables as data, a runner that survives, one table of results."""

    command: (
        Annotated[paper_commands.PaperRun, command("run")]
        | Annotated[paper_commands.PaperFinish, command("finish")]
        | Annotated[paper_commands.PaperStatus, command("status")]
        | Annotated[paper_commands.PaperCollect, command("collect")]
        | Annotated[paper_commands.PaperAside, command("aside")]
        | Annotated[paper_commands.PaperList, command("list")]
        | Annotated[paper_commands.PaperSettings, command("settings")]
        | Annotated[paper_commands.PaperBeside, command("beside")]
    )

    def run(self) -> None:
        self.command.run()


Command = (
    Annotated[Demo, command("demo")]
    | Annotated[Train, command("train")]
    | Annotated[tyro.conf.PositionalRequiredArgs[Watch], command("watch")]
    | Annotated[Export, command("export")]
    | Annotated[tyro.conf.PositionalRequiredArgs[Report], command("report")]
    | Annotated[Toy, command("toy")]
    | Annotated[Sweeps, command("sweeps")]
    | Annotated[Mazes, command("mazes")]
    | Annotated[tyro.conf.PositionalRequiredArgs[data_commands.Inspect], command("inspect")]
    | Annotated[Data, command("data")]
    | Annotated[Behaviour, command("behaviour")]
    | Annotated[Bench, command("bench")]
    | Annotated[Paper, command("paper")]
)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """What the library warns of is one line on stderr, once, without the place in our code where it was noticed."""
    told: set[str] = set()
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if category is not UserWarning:
                usual(message, category, *where, **more)
            elif str(message) not in told:
                told.add(str(message))
                print(f"rewind: {message}", file=sys.stderr)

        warnings.showwarning = show
        yield


def _command(arguments: list[str]) -> Any:
    return tyro.cli(
        Command,
        prog="rewind",
        description="Trajectory Replay for offline reinforcement learning.",
        args=arguments,
        config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.OmitArgPrefixes),
    )


def main(arguments: list[str] | None = None) -> None:
    """Run one command; what Rewind refuses is one line on stderr and an exit status, mostly 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments in (["--version"], ["-V"]):
        print(f"rewind {rewind.__version__}")
        return
    try:
        with plain_warnings():
            _command(arguments).run()
    except RewindError as error:
        print(f"rewind: {error}", file=sys.stderr)
        sys.exit(error.exit_status)
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:  # a file that cannot be read or written
        if error.filename is None:
            raise
        print(f"rewind: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("rewind: stopped", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
