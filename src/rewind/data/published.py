"""Figures that others have published about D4RL's files, to compare rebuilt data with."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from rewind.data.catalogue import entry, normalised_score


@dataclass(frozen=True)
class Published:
    """The figures of one data set; None if not published, as far as we know.

    transitions: their number, rounded if `about`
    trajectories: their number if they end at terminals | timeouts; on AntMaze most are fragments of one step
    mean_return: mean over the trajectories
    """

    name: str
    transitions: int | None
    about: bool
    trajectories: int
    mean_return: float | None

    @property
    def mean_score(self) -> float | None:
        """The mean normalised return."""
        return None if self.mean_return is None else normalised_score(self.name, self.mean_return)


def published(name: str) -> Published:
    """The published figures of a catalogued data set."""
    figures = _figures().get(name, {})
    mean = figures.get("mean_return")
    if "joined" in figures:
        parts = [published(part) for part in figures["joined"]]
        total = sum(part.trajectories * (part.mean_return or 0.0) for part in parts)
        mean = total / sum(part.trajectories for part in parts)
    return Published(name, figures.get("transitions"), figures.get("about", False), entry(name).episodes, mean)


@cache
def _figures() -> dict[str, dict[str, Any]]:
    return tomllib.loads(resources.files("rewind.data").joinpath("published.toml").read_text(encoding="utf-8"))
