"""Replay memories: they decide which transitions come next."""

from rewind.memory.ahead import ReadAhead
from rewind.memory.batch import Batch, Plan
from rewind.memory.choice import Choice, choose
from rewind.memory.priorities import PRIORITIES, Priority
from rewind.memory.trajectory_replay import TrajectoryReplay
from rewind.memory.transition_replay import PrioritizedReplay, UniformReplay

__all__ = [
    "PRIORITIES",
    "Batch",
    "Choice",
    "Plan",
    "PrioritizedReplay",
    "Priority",
    "ReadAhead",
    "TrajectoryReplay",
    "UniformReplay",
    "choose",
]
