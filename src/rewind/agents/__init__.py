"""What is learned: agents as pure functions on pytrees, one file each (docs/agents.md).

To list the agents and to read their settings (`rewind.agents.settings`) needs no JAX: it is imported with an agent.
"""

from typing import TYPE_CHECKING, Any

from rewind.registry import Registry, import_attribute

if TYPE_CHECKING:
    from rewind.agents.agent import Agent, Transitions, number, shape
    from rewind.agents.bc import BC
    from rewind.agents.edac import EDAC
    from rewind.agents.iql import IQL
    from rewind.agents.rebrac import ReBRAC
    from rewind.agents.td3_bc import TD3BC

AGENTS: "Registry[type[Agent[Any]]]" = Registry(
    "algorithm",
    "rewind.agents",
    {
        "bc": "rewind.agents.bc:BC",
        "discrete_bc": "rewind.agents.discrete:DiscreteBC",
        "discrete_iql": "rewind.agents.discrete:DiscreteIQL",
        "dqn": "rewind.agents.dqn:DQN",
        "edac": "rewind.agents.edac:EDAC",
        "iql": "rewind.agents.iql:IQL",
        "rebrac": "rewind.agents.rebrac:ReBRAC",
        "td3_bc": "rewind.agents.td3_bc:TD3BC",
    },
    extra="train",
)

__all__ = ["AGENTS", "BC", "EDAC", "IQL", "TD3BC", "Agent", "ReBRAC", "Transitions", "number", "shape"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = {"BC": "bc", "EDAC": "edac", "IQL": "iql", "ReBRAC": "rebrac", "TD3BC": "td3_bc"}.get(name, "agent")
    return import_attribute(f"rewind.agents.{module}:{name}")
