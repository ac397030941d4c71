"""The paper's names: methods (a sampler with a beta), the families of priorities, data sets and suites."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from rewind.data.catalogue import Entry, catalogue, known_entry
from rewind.memory import PRIORITIES
from rewind_lab.paper.datasets import Data, rebuilt
from rewind_lab.paper.published import SUITES as SUITE_ROWS
from rewind_lab.paper.published import published


class Method(NamedTuple):
    """A sampler with a beta, as runs have it; and on data that is not the paper's, settings that others there lack."""

    sampler: str
    beta: float = 1.0
    variant: str = ""

    @property
    def label(self) -> str:
        """What stands for itself, and the beta where it is not 1."""
        name = LABELS.get(self.sampler, self.sampler)
        if self.beta != 1 and self.sampler != "baseline":
            name = LABELS["sarsa"] if (self.sampler, self.beta) == ("tr", 0) else f"{name}, β {self.beta:g}"
        return f"{name} ({self.variant})" if self.variant else name


# The columns of the paper's tables, in its order.
LABELS = {
    "baseline": "Baseline",
    "tr": "TR",
    "sarsa": "SARSA",
    "weighted": "Weighted",
    "return": "Return",
    "avg_reward": "Avg. reward",
    "uqm_reward": "UQM reward",
    "uhm_reward": "UHM reward",
    "min_reward": "Min reward",
    "max_reward": "Max reward",
    "lower_mean_unc": "Lower mean unc.",
    "lower_lqm_unc": "Lower LQM unc.",
    "lower_uqm_unc": "Lower UQM unc.",
    "higher_mean_unc": "Higher mean unc.",
    "higher_lqm_unc": "Higher LQM unc.",
    "higher_uqm_unc": "Higher UQM unc.",
    "auto": "Auto",
}
ALGORITHMS = {"td3_bc": "TD3+BC", "iql": "IQL", "edac": "EDAC", "bc": "BC"}
SUITES = {"mujoco": "MuJoCo", "antmaze": "AntMaze", "adroit": "Adroit"}

QUALITY = tuple(name for name, priority in PRIORITIES.items() if not priority.dynamic)
LOWER = tuple(name for name in PRIORITIES if name.startswith("lower_"))
HIGHER = tuple(name for name in PRIORITIES if name.startswith("higher_"))


def method_of(name: str, dataset: str) -> Method | None:
    """What the paper's column `name` is on a data set; None where the paper gives no beta to weigh by."""
    if name == "sarsa":
        return Method("tr", 0.0)
    if name != "weighted":
        return Method(name)
    known = known_entry(dataset)
    return None if known is None or known.beta is None else Method("tr", known.beta)


@cache
def paper_sets() -> dict[str, Entry]:
    """The paper's data sets, in its order, by D4RL's names."""
    return {name: catalogue()[name] for name in published("table_2") if name not in SUITE_ROWS}


def name_here(paper_name: str, data: Data) -> str | None:
    """A data set of the paper as it is called in results on D4RL's or on rebuilt data; None where there is no such."""
    return paper_name if data == "d4rl" else rebuilt(paper_sets()[paper_name])


def source(dataset: str) -> Data | None:
    """Whether a data set is the paper's own or rebuilt after it; None for any other."""
    known = known_entry(dataset)
    if known is None or not known.paper:
        return None
    return "d4rl" if known.name == dataset else "rewind"


def short(dataset: str) -> str:
    """A data set without where it comes from and its version."""
    name = dataset.rsplit("/", 1)[-1]
    stem, _, version = name.rpartition("-v")
    return stem if version.isdigit() else name
