"""Data sets by the paper's names, D4RL's or rebuilt."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Literal

from rewind.agents.settings import paper_beta, paper_settings
from rewind.data.catalogue import Entry, catalogue, known_entry
from rewind_lab.paper.published import SUITES, published

Data = Literal["d4rl", "rewind"]


def data_names(names: Sequence[str], data: Data) -> list[str]:
    """Data sets by suite or name, as D4RL's or as the rebuilt ones of the same name; those without one are left out."""
    found: list[str | None] = []
    for name in names:
        if name == "all":
            turns = zip_longest(_of_suite("antmaze"), _of_suite("mujoco"))
            group = [each for pair in turns for each in pair if each is not None] + _of_suite("adroit")
        else:
            group = _of_suite(name) if name in SUITES else [name]
        for each in group:
            known = catalogue().get(each)
            found.append(each if known is None or data == "d4rl" else rebuilt(known))
    return list(dict.fromkeys(name for name in found if name is not None))


def _of_suite(suite: str) -> list[str]:
    """In the order of the paper's tables."""
    return [name for name in published("table_2") if name not in SUITES and catalogue()[name].suite == suite]


def rebuilt(known: Entry) -> str | None:
    """The rebuilt set of the same name that the paper's tables were run on, -v0; None where the nearest has another.

    Adroit's cloned sets were rebuilt only after those runs: no table has them.
    """
    name = f"{known.rebuilt.rpartition('-v')[0]}-v0"
    return name if known_entry(name) is known and "-cloned-" not in name else None


def hyper_parameters() -> list[dict[str, Any]]:
    """The paper's tables of hyper-parameters, by data set; None where the paper has none."""
    columns = {
        "TD3+BC alpha": ("td3_bc", "alpha"),
        "IQL tau": ("iql", "expectile"),
        "IQL beta": ("iql", "temperature"),
        "EDAC N": ("edac", "ensemble"),
        "EDAC eta": ("edac", "eta"),
    }
    return [
        {"data set": name, "beta": paper_beta(name)}
        | {column: paper_settings(agent, name).get(setting) for column, (agent, setting) in columns.items()}
        for name in data_names([*SUITES], "d4rl")
    ]
