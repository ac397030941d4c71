"""What is learned: agents as pure functions on pytrees, one file each (docs/agents.md)."""

from collections.abc import Callable, Mapping
from typing import Any

from rewind.agents.agent import Agent, Batch, number, shape
from rewind.agents.bc import BC
from rewind.agents.edac import EDAC
from rewind.agents.iql import IQL
from rewind.agents.td3_bc import TD3BC

AGENTS: Mapping[str, Callable[..., Agent[Any]]] = {"bc": BC, "edac": EDAC, "iql": IQL, "td3_bc": TD3BC}

__all__ = ["AGENTS", "BC", "EDAC", "IQL", "TD3BC", "Agent", "Batch", "number", "shape"]
