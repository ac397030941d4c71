"""Rewind: a replay memory for offline reinforcement learning that plays logged trajectories backward."""

from rewind.data import Trajectories, load
from rewind.errors import DataError, MissingExtra, RewindError, UsageError
from rewind.guard import GuardedPolicy
from rewind.memory import Batch, Plan, PrioritizedReplay, TrajectoryReplay, UniformReplay
from rewind.policy import Policy, load_policy
from rewind.targets import LambdaWindow, WeightedTarget, lambda_window, target_bounds, weighted_target
from rewind.version import __version__ as __version__

__all__ = [
    "Batch",
    "DataError",
    "GuardedPolicy",
    "LambdaWindow",
    "MissingExtra",
    "Plan",
    "Policy",
    "PrioritizedReplay",
    "RewindError",
    "Trajectories",
    "TrajectoryReplay",
    "UniformReplay",
    "UsageError",
    "WeightedTarget",
    "lambda_window",
    "load",
    "load_policy",
    "target_bounds",
    "weighted_target",
]
