"""TableDefinition 5: what sampling costs, measured side by side in one engine (`rewind bench train`)."""

from pathlib import Path
from typing import Any

from rewind.files import read_json
from rewind.progress import say
from rewind_lab.bench.train import VARIANTS, BenchTrain
from rewind_lab.paper.clock import Deadline
from rewind_lab.paper.costs import ON_CPU, ON_GPU
from rewind_lab.paper.definitions import TableDefinition

COMPILING = 15.0  # seconds for each variant


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
