"""Runs from rows: what each is a run of, its curve, its score; and those that are compared with the paper."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewind.envs.protocol import LAST
from rewind.memory import PRIORITIES
from rewind.report.paper.methods import Method, method_of, paper_entry, paper_sets

Array = NDArray[Any]
Row = dict[str, Any]
DYNAMIC_BLOCK = 100  # steps planned at once where ranks follow the critics, unless asked otherwise


class Protocol(NamedTuple):
    """All that a run's method leaves open. The defaults are the paper's, and Rewind's where the paper is silent."""

    steps: int = 1_000_000
    batch_size: int = 256
    reuse: str = "on_finish"
    exponent: float = 1.0
    stagger: bool = False
    block: int = DYNAMIC_BLOCK  # of plans whose ranks follow the critics; other plans are the same however they are cut
    settings: str = "{}"

    def against(self, standard: Protocol) -> str:
        """What is different, in words; nothing where nothing is."""
        settings = json.loads(self.settings)
        told = {
            "steps": f"{self.steps:,} steps",
            "batch_size": f"batches of {self.batch_size}",
            "reuse": f"reuse {self.reuse}",
            "exponent": f"exponent {self.exponent:g}",
            "stagger": "staggered starts" if self.stagger else "no staggered starts",
            "block": f"{self.block} steps planned at once",
            "settings": ", ".join(f"{name} {value}" for name, value in settings.items()) or "the paper's settings",
        }
        return ", ".join(told[name] for name in self._fields if getattr(self, name) != getattr(standard, name))


@dataclass(frozen=True)
class Run:
    """One trained run."""

    dataset: str
    suite: str
    algorithm: str
    method: Method
    protocol: Protocol
    seed: int
    steps: Array  # of its evaluations
    scores: Array  # NaN where there is none
    alive: bool
    row: Row  # its last row, for where it came from

    @property
    def score(self) -> float:
        """The paper's: the mean of the last five evaluations."""
        return float(self.scores[-LAST:].mean())


def runs_of(rows: Iterable[Row]) -> list[Run]:
    """The runs of a table of results, in its order."""
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row["run"], []).append(row)
    return [_run(sorted(own, key=lambda row: row["step"])) for own in grouped.values()]


def _run(rows: Sequence[Row]) -> Run:
    last = rows[-1]
    sampler = last["sampler"]
    dynamic = sampler in PRIORITIES and PRIORITIES[sampler].dynamic
    protocol = Protocol(
        last["steps"], last["batch_size"], last["reuse"], last["exponent"], last["stagger"],
        last["block"] if dynamic else DYNAMIC_BLOCK, last["settings"],
    )  # fmt: skip
    scores = [np.nan if row["score"] is None else row["score"] for row in rows]
    return Run(
        last["dataset"], last["suite"], last["algorithm"], Method(sampler, last["beta"]), protocol, last["seed"],
        np.array([row["step"] for row in rows]), np.array(scores, np.float64), all(row["alive"] for row in rows), last,
    )  # fmt: skip


class Results:
    """The runs that are compared: all of one protocol, the paper's where any run has it, otherwise the commonest.

    Runs of other protocols are kept apart: `variants`.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        counts = Counter(run.protocol for run in runs)
        paper = Protocol()
        self.protocol = paper if paper in counts else counts.most_common(1)[0][0]
        self.runs = [run for run in runs if run.protocol == self.protocol]
        self.variants = [run for run in runs if run.protocol != self.protocol]
        self._grouped: dict[tuple[str, str, Method], list[Run]] = {}
        for run in self.runs:
            self._grouped.setdefault((run.dataset, run.algorithm, run.method), []).append(run)
        self._scores = {key: scores_of(own) for key, own in self._grouped.items()}

    @property
    def datasets(self) -> list[str]:
        """The paper's first, in its order; then others by name."""
        order = {entry.rebuilt: place for place, entry in enumerate(paper_sets().values())}
        order |= {name: place for place, name in enumerate(paper_sets())}
        return sorted({run.dataset for run in self.runs}, key=lambda name: (order.get(name, len(order)), name))

    @property
    def algorithms(self) -> list[str]:
        return [name for name in ("td3_bc", "iql", "edac", "bc") if any(run.algorithm == name for run in self.runs)]

    def methods(self, dataset: str, algorithm: str) -> list[Method]:
        """Those that have runs, the paper's order first."""
        from rewind.report.paper.methods import LABELS

        order = {name: place for place, name in enumerate(LABELS)}
        found = [method for name, agent, method in self._grouped if (name, agent) == (dataset, algorithm)]
        return sorted(found, key=lambda method: (order.get(method.sampler, len(order)), -method.beta))

    def of(self, dataset: str, algorithm: str, method: Method) -> list[Run]:
        return self._grouped.get((dataset, algorithm, method), [])

    def scores(self, dataset: str, algorithm: str, name: str | Method) -> Array:
        """Of a method's runs that gave one, (runs,); `name` may be a column of the paper's tables.

        The same runs are the same array, which the bootstrap then draws from once.
        """
        method = name if isinstance(name, Method) else method_of(name, dataset)
        return NOTHING if method is None else self._scores.get((dataset, algorithm, method), NOTHING)

    def named(self, entry_name: str) -> str | None:
        """The data set here that is the paper's of this name, or is rebuilt after it."""
        return next((name for name in self.datasets if _is(name, entry_name)), None)


NOTHING: Array = np.empty(0)


def scores_of(runs: Iterable[Run]) -> Array:
    """Runs that broke count where they gave a number."""
    scores = np.array([run.score for run in runs])
    return scores[np.isfinite(scores)]


def _is(dataset: str, entry_name: str) -> bool:
    entry = paper_entry(dataset)
    return entry is not None and entry.name == entry_name


def source(dataset: str) -> str:
    """Where a data set comes from: d4rl (the paper's own), rewind (rebuilt after it), other."""
    entry = paper_entry(dataset)
    return "other" if entry is None else "d4rl" if entry.name == dataset else "rewind"
