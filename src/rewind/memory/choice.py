"""What suits which data: by the paper's summary table (priority "paper"), or by our own runs (priority "auto")."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from rewind.data import Trajectories
from rewind.data.catalogue import known_label
from rewind.table import counted

SPARSE_SHARE = 0.95  # rewards are sparse when at least this share of them equals the most frequent value
PAPER = {"sparse": "avg_reward", "dense": "lower_uqm_unc"}
RULES = ("paper", "auto")


@cache
def recommended() -> Mapping[str, Any]:
    """The table of what our runs recommend, by "sparse" and "dense"."""
    return tomllib.loads((resources.files("rewind.memory") / "recommended.toml").read_text(encoding="utf-8"))


def caution() -> str:
    """Why the table is provisional, as a sentence; nothing once the recommendation has passed its test."""
    why = recommended()["provisional"]
    return f" Provisional: {why}." if why else ""


@dataclass(frozen=True)
class Choice:
    """What was chosen for a data set, and the numbers behind it."""

    priority: str
    label: str  # "sparse" or "dense"
    share: float  # of the rewards that equal the most frequent value
    value: float  # that value
    because: str
    rule: str = "paper"  # or "auto"

    def __str__(self) -> str:
        chosen = f"priority '{self.rule}' chose '{self.priority}'"
        if self.rule == "paper":
            return f"{chosen}, as the paper advises: {self.because}"
        evidence = recommended()[self.label]["evidence"]["priority"]
        return f"{chosen}{self.meaning}: {self.because}; {evidence}.{caution()}"

    @property
    def meaning(self) -> str:
        """What `uniform` means here, where our runs recommend what no priority can be."""
        if self.rule != "auto" or recommended()[self.label]["sampler"] != "baseline":
            return ""
        return " (no priority: plain TR; for such rewards our runs recommend UniformReplay, --samplers baseline)"


def choose(data: Trajectories, label: str | None = None, rule: str = "paper") -> Choice:
    """The priority for a data set.

    label: "sparse" or "dense"; default: the catalogue's for this data set, otherwise the rewards decide
    rule: "paper": quality (average reward) on sparse rewards, lower uncertainty (UQM) on dense ones; "auto": what our
        runs recommend
    """
    label = label or known_label(data.name)
    values, counts = np.unique(data.rewards, return_counts=True)
    share, value = float(counts.max() / counts.sum()), float(values[counts.argmax()]) + 0.0  # not -0
    if 1 < len(values) == data.rows:
        measured = f"all {data.rows:,} rewards are different"
    else:
        different = counted(len(values), "different value")
        measured = f"the commonest reward, {value:g}, is {share:.1%} of {data.rows:,} ({different})"
    if rule == "auto" and len(values) == 1:  # no trajectory's mean reward is above another's
        label, because = "dense", f"all {data.rows:,} rewards are {value:g}, so nothing ranks the trajectories"
    elif label is None:
        label = "sparse" if share >= SPARSE_SHARE else "dense"
        because = f"{measured}, so rewards are {label} (sparse from {SPARSE_SHARE:.0%})"
    else:
        because = f"the catalogue calls {data.name} {label}; {measured}"
    priority = PAPER[label] if rule == "paper" else recommended()[label]["priority"]
    return Choice(priority, label, share, value, because, rule)
