"""The hyper-parameters that the papers give the agents, by suite and data set: the tables beside them. Needs no JAX.

A rebuilt data set (`rewind/...`) has the numbers of the D4RL set it is named after.
"""

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from rewind.agents import AGENTS
from rewind.data.catalogue import known_entry
from rewind.data.ogbench import family_of, suite_of
from rewind.errors import UsageError

VIEW = {"rewards": "raw", "normalise_states": False}  # how an agent sees data, where its table says nothing else


def agent_tables() -> list[str]:
    """The agents with a table of numbers."""
    return [name for name in AGENTS if "default" in _table(name)]


@cache
def _table(name: str) -> dict[str, Any]:
    file = resources.files("rewind.agents") / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def paper_row(algorithm: str, dataset: str | None) -> dict[str, Any] | None:
    """What the agent's table says for a data set; None where the paper does not use the agent on its suite."""
    table, published, name = _table(algorithm), known_entry(dataset), suite_of(dataset)
    if name not in table:
        return None
    suite = dict(table[name])
    of_set = suite.pop("sets", {}).get(family_of(dataset) if published is None else published.name, {})
    row = {**VIEW, **table["default"], **suite, **of_set}
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


def paper_settings(algorithm: str, dataset: str | None) -> dict[str, float]:
    """The hyper-parameters of the paper by the names of the agent's fields; empty where it gives none."""
    row = paper_row(algorithm, dataset) or {}
    return {name: value for name, value in row.items() if name not in (*VIEW, "batch_size")}


def agent_default(algorithm: str, name: str) -> Any:
    """What the agent's table says for all data; None where it says nothing."""
    return _table(algorithm).get("default", {}).get(name)


def paper_batch_size(algorithm: str, dataset: str | None) -> int:
    """Transitions per update; 256 where the agent's table has no other number."""
    size: int = (paper_row(algorithm, dataset) or {}).get("batch_size", 256)
    return size


def paper_view(algorithm: str, dataset: str | None) -> dict[str, Any]:
    """How the agent sees a data set: `rewards` and `normalise_states`; for unknown data the agent's default."""
    row = paper_row(algorithm, dataset) or {**VIEW, **_table(algorithm).get("default", {})}
    return {name: row[name] for name in VIEW}


def paper_beta(dataset: str | None) -> float | None:
    """The weighted target's beta for a data set; None where the paper gives none."""
    published = known_entry(dataset)
    return None if published is None else _table("beta").get(published.name)


def required_beta(dataset: str | None) -> float:
    """The same; an error where the paper gives none."""
    beta = paper_beta(dataset)
    if beta is None:
        raise UsageError(f"the paper gives no beta for {dataset or 'this data'}; choose one from 0 to 1")
    return beta


def agent_label(algorithm: str) -> str:
    """What people call the agent."""
    label: str = _table(algorithm).get("label", algorithm)
    return label


def has_critics(algorithm: str) -> bool:
    """Whether beta makes a difference to the agent; True for one of another package."""
    critics: bool = _table(algorithm).get("critics", True)
    return critics
