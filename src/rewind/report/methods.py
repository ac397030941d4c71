"""What methods and agents are called on a page."""

from typing import NamedTuple

from rewind.agents.settings import agent_label

# Samplers in the paper's order, and two names that it has for TR: with a beta of 0, and with its own beta for the data.
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
FAMILIES = {
    "Targets": ("sarsa", "weighted"),
    "Quality": ("return", "avg_reward", "uqm_reward", "uhm_reward", "min_reward", "max_reward"),
    "Lower uncertainty": ("lower_mean_unc", "lower_lqm_unc", "lower_uqm_unc"),
    "Higher uncertainty": ("higher_mean_unc", "higher_lqm_unc", "higher_uqm_unc"),
}
_ORDER = ("td3_bc", "iql", "edac", "rebrac", "bc", "dqn", "discrete_iql", "discrete_bc")  # of a page
ALGORITHMS = {name: agent_label(name) for name in _ORDER}


class Method(NamedTuple):
    """A sampler with a beta; and where runs are of several settings, those that set it apart."""

    sampler: str
    beta: float = 1.0
    variant: str = ""

    @property
    def label(self) -> str:
        """The sampler's name, and the beta where it is not 1."""
        name = LABELS.get(self.sampler, self.sampler)
        if self.beta != 1 and self.sampler != "baseline":
            name = LABELS["sarsa"] if (self.sampler, self.beta) == ("tr", 0) else f"{name}, β {self.beta:g}"
        return f"{name} ({self.variant})" if self.variant else name


def short(dataset: str) -> str:
    """A data set without where it comes from and its version."""
    name = dataset.rsplit("/", 1)[-1].removeprefix("ogbench-")
    stem, _, version = name.rpartition("-v")
    return stem if version.isdigit() else name
