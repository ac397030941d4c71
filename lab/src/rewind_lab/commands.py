"""The lab's commands: `rewind paper`, `bench`, `behaviour`, `house` and `data cards`. Found through entry points."""

from rewind.cli.arguments import command
from rewind_lab.behaviour import commands as behaviour
from rewind_lab.bench.determinism import BenchDeterminism
from rewind_lab.bench.envs import BenchEnvs
from rewind_lab.bench.evaluation import BenchEvaluation
from rewind_lab.bench.larger import BenchLarger
from rewind_lab.bench.memory import BenchMemory
from rewind_lab.bench.peers import BenchPeers
from rewind_lab.bench.ranking_command import BenchRanking
from rewind_lab.bench.tables import BenchTables
from rewind_lab.bench.train import BenchTrain
from rewind_lab.cards.commands import Data
from rewind_lab.house.commands import HouseDraw, HouseLines, HouseWalk
from rewind_lab.paper import commands as paper
from rewind_lab.paper.report.commands import PaperBeside, PaperChoice, PaperCloned, PaperReport

Behaviour = command(
    "Behaviour",
    "Train, choose and measure the policies that data sets are made with.\n\nExample: rewind behaviour list",
    *(behaviour.BehaviourList, behaviour.BehaviourTrain, behaviour.BehaviourShip),
    *(behaviour.BehaviourCurves, behaviour.BehaviourWalker, behaviour.BehaviourLikeness, behaviour.BehaviourEndings),
)
Bench = command(
    "Bench",
    "Measure costs as ratios, side by side in one run.\n\nExample: rewind bench memory",
    *(BenchMemory, BenchPeers, BenchTrain, BenchDeterminism, BenchEnvs, BenchEvaluation),
    *(BenchLarger, BenchRanking, BenchTables),
)
House = command(
    "House",
    "Show how the code is built: packages, imports, the path of a transition, lines.\n\nExample: rewind house walk",
    *(HouseDraw, HouseWalk, HouseLines),
)
Paper = command(
    "Paper",
    "Rerun the paper's tables, and report the results.\n\nExample: rewind paper list",
    *(paper.PaperRun, paper.PaperFinish, paper.PaperStatus, paper.PaperCollect, paper.PaperAside),
    *(paper.PaperList, paper.PaperSettings, PaperReport, PaperBeside, PaperCloned, PaperChoice),
)
COMMANDS = {"data": Data, "paper": Paper, "bench": Bench, "behaviour": Behaviour, "house": House}
