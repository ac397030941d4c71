"""`rewind sweeps`: a picture of backward sweeps."""

from dataclasses import dataclass
from pathlib import Path

from rewind.demos.sweeps_plot import draw_sweeps, example
from rewind.errors import UsageError
from rewind.memory import TrajectoryReplay


@dataclass
class Sweeps:
    """Draw backward sweeps: five short trajectories, and the order in which a memory replays them.

    Example: rewind sweeps --priority return --out sweeps
    """

    out: Path = Path("sweeps")
    """Folder for sweeps.png and sweeps.svg."""
    slots: int = 3
    """Slots of the batch."""
    steps: int = 12
    """Updates to draw."""
    priority: str = "uniform"
    """Priority of the memory: uniform, or one by rewards, such as return."""
    seed: int = 3
    """Seed of the memory."""

    def run(self) -> None:
        memory = TrajectoryReplay(self.priority, seed=self.seed)
        memory.load_offline_dataset(example())
        if memory.dynamic:
            raise UsageError(f"priority {self.priority} needs the critics' uncertainty, but nothing is trained here")
        for path in draw_sweeps(memory, self.steps, self.slots, self.out):
            print(f"wrote {path}")
