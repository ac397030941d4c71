"""What the paper printed: its tables as data, to stand beside ours."""

import csv
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from rewind.arrays import Array
from rewind.errors import unknown_name
from rewind.statistics import deviation

SUITES = {"mujoco": "MuJoCo", "antmaze": "AntMaze", "adroit": "Adroit"}  # a row of this name is the suite's total
ALL_SUITES = SUITES | {"ogbench": "OGBench"}


@dataclass(frozen=True)
class Printed:
    """A number of the paper; std is None where it prints none."""

    mean: float
    std: float | None = None

    def __str__(self) -> str:
        return f"{self.mean:.1f}" + ("" if self.std is None else f" ± {self.std:.1f}")


def in_print(scores: Array) -> Printed:
    """Scores of ours as the paper would print them."""
    return Printed(float(scores.mean()), deviation(scores))


Table = dict[str, dict[str, Printed | None]]  # row -> column -> what is printed; None: the paper has a dash

_FILES = resources.files("rewind_lab.paper") / "published"


def published_names() -> list[str]:
    return sorted(path.name.removesuffix(".csv") for path in _FILES.iterdir() if path.name.endswith(".csv"))


@cache
def published(name: str) -> Table:
    """A table of the paper as it is printed, misprints included (`slips` lists those).

    Rows are data sets by D4RL's names, and suites. Columns are 'algorithm method', where a method is a sampler, or
    sarsa, weighted (both on tr), original (from the algorithm's own paper).
    """
    if name not in published_names():
        raise unknown_name("published table", name, published_names())
    lines = (_FILES / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(lines)
    return {row.pop("row"): {column: _printed(cell) for column, cell in row.items()} for row in rows}


def _printed(cell: str) -> Printed | None:
    if cell == "-":
        return None
    mean, _, std = cell.partition("±")
    return Printed(float(mean), float(std) if std else None)


@cache
def slips() -> list[dict[str, Any]]:
    """Where the paper's tables contradict themselves: table, rows, columns, what is wrong."""
    found: list[dict[str, Any]] = tomllib.loads((_FILES / "slips.toml").read_text(encoding="utf-8"))["slips"]
    return found
