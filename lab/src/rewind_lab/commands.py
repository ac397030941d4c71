"""The lab's commands: `rewind paper`, `bench`, `behaviour` and `house`. Found through entry points."""

from dataclasses import make_dataclass
from typing import Annotated, Any, Union

from rewind.cli.arguments import subcommand
from rewind_lab.behaviour import commands as behaviour
from rewind_lab.bench.determinism import BenchDeterminism
from rewind_lab.bench.envs import BenchEnvs
from rewind_lab.bench.evaluation import BenchEvaluation
from rewind_lab.bench.memory import BenchMemory
from rewind_lab.bench.peers import BenchPeers
from rewind_lab.bench.train import BenchTrain
from rewind_lab.house.commands import HouseDraw, HouseLines, HouseWalk
from rewind_lab.paper import commands as paper
from rewind_lab.paper.report.commands import PaperBeside, PaperCloned, PaperReport


def _command(name: str, help: str, *kinds: type) -> Any:
    """A command whose subcommands are these classes: `PaperRun` is `rewind paper run`."""
    subcommands = tuple(Annotated[kind, subcommand(kind.__name__.removeprefix(name).lower())] for kind in kinds)
    namespace = {"__doc__": help, "run": lambda self: self.command.run()}
    return make_dataclass(name, [("command", Union[subcommands])], namespace=namespace)  # noqa: UP007  made here


Behaviour = _command(
    "Behaviour",
    "Policies that data sets are made with: train them, choose them, look at them.",
    *(behaviour.BehaviourList, behaviour.BehaviourTrain, behaviour.BehaviourShip),
    *(behaviour.BehaviourCurves, behaviour.BehaviourWalker, behaviour.BehaviourLikeness),
)
Bench = _command(
    "Bench",
    "Benchmarks: costs as ratios, measured side by side in one run.",
    *(BenchMemory, BenchPeers, BenchTrain, BenchDeterminism, BenchEnvs, BenchEvaluation),
)
House = _command(
    "House",
    "The code itself: rooms and floors, the walk of a transition, lines.",
    *(HouseDraw, HouseWalk, HouseLines),
)
Paper = _command(
    "Paper",
    "The paper, rerun: its tables as data, a runner that survives, one table of results.",
    *(paper.PaperRun, paper.PaperFinish, paper.PaperStatus, paper.PaperCollect, paper.PaperAside),
    *(paper.PaperList, paper.PaperSettings, PaperReport, PaperBeside, PaperCloned),
)
COMMANDS = {"paper": Paper, "bench": Bench, "behaviour": Behaviour, "house": House}
