"""Figures that others have published about D4RL's files and of OGBench's, to compare rebuilt data with."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from rewind.data.catalogue import entry, normalised_score


@dataclass(frozen=True)
class Published:
    """The figures of one data set; None if not published, as far as we know.

    transitions: their number, rounded if `about`
    trajectories: their number if they end at terminals | timeouts; on AntMaze most are fragments of one step
    mean_return, best_return: mean over the trajectories, and the highest
    cloned: scores of behaviour cloning on all the data, and on the best tenth of its trajectories
    walker: on AntMaze, what its walker's episodes are like if they stop at their own goal (see published.toml)
    """

    name: str
    transitions: int | None
    about: bool
    trajectories: int
    mean_return: float | None
    best_return: float | None = None
    cloned: tuple[float, float] | None = None
    walker: Mapping[str, float] = field(default_factory=dict)

    @property
    def mean_score(self) -> float | None:
        return None if self.mean_return is None else normalised_score(self.name, self.mean_return)

    @property
    def best_score(self) -> float | None:
        return None if self.best_return is None else normalised_score(self.name, self.best_return)


def published(name: str) -> Published:
    figures = _figures().get(name, {})
    mean, best = figures.get("mean_return"), figures.get("best_return")
    if "joined" in figures:
        parts = [published(part) for part in figures["joined"]]
        total = sum(part.trajectories * (part.mean_return or 0.0) for part in parts)
        mean = total / sum(part.trajectories for part in parts)
        best = max(part.best_return or 0.0 for part in parts)
    counts = (figures.get("transitions"), figures.get("about", False), entry(name).episodes)
    cloned = tuple(figures["cloned"]) if "cloned" in figures else None
    return Published(name, *counts, mean, best, cloned, figures.get("walker", {}))


@cache
def _figures() -> dict[str, dict[str, Any]]:
    return _toml("published.toml")


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("rewind_lab.cards").joinpath(name).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class OGBenchMeans:
    """Published means over the five tasks of OGBench's data sets.

    checked: whether they were looked up in their source
    """

    source: str
    checked: bool
    means: dict[str, dict[str, float]]

    def of(self, name: str, algorithm: str) -> float | None:
        """Of a data set, cube-single-play; None where none is known."""
        return self.means.get(name, {}).get(algorithm)


@cache
def ogbench_means() -> OGBenchMeans:
    return OGBenchMeans(**_toml("ogbench.toml"))
