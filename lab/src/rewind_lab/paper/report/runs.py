"""Runs from rows: what each is a run of, its curve, its score; and those that are compared with the paper."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewind.errors import DataError
from rewind.evaluation.protocol import EVERY, LAST, scored_steps
from rewind.memory import PRIORITIES
from rewind.table import text
from rewind_lab.paper.datasets import Data
from rewind_lab.paper.report.methods import ALGORITHMS, LABELS, Method, method_of, name_here, paper_sets, source
from rewind_lab.paper.results import Row
from rewind_lab.paper.specs import DEFAULT_BLOCK

Array = NDArray[Any]
NOTHING: Array = np.empty(0)


class Protocol(NamedTuple):
    """All that a run's method leaves open. The defaults are the paper's, and Rewind's where the paper is silent."""

    steps: int = 1_000_000
    batch_size: int = 256
    reuse: str = "on_finish"
    exponent: float = 1.0
    stagger: bool = False
    block: int = DEFAULT_BLOCK  # of plans whose ranks follow the critics; other plans are the same however they are cut
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
            "settings": ", ".join(f"{name} {text(value)}" for name, value in settings.items()) or "default settings",
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
    def q(self) -> float | None:
        """Its mean Q at the end; None where it was not recorded."""
        return self.row.get("q")

    @property
    def score(self) -> float:
        """The paper's: the mean of five at the end, 1000 steps apart, whatever was taken between them."""
        return float(self.scores[np.isin(self.steps, scored_steps(int(self.steps[-1])))].mean())

    @property
    def curve(self) -> tuple[Array, Array]:
        """Steps and scores; the paper's last five evaluations, which a chart cannot tell apart, are one point."""
        late = self.steps > self.steps[-1] - LAST * EVERY
        if self.steps[-1] < 10 * LAST * EVERY or not late.any():
            return self.steps, self.scores
        return np.append(self.steps[~late], self.steps[-1]), np.append(self.scores[~late], self.scores[late].mean())


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
        last["block"] if dynamic else DEFAULT_BLOCK, last["settings"],
    )  # fmt: skip
    scores = [np.nan if row["score"] is None else row["score"] for row in rows]
    return Run(
        last["dataset"], last["suite"], last["algorithm"], Method(sampler, last["beta"]), protocol, last["seed"],
        np.array([row["step"] for row in rows]), np.array(scores, np.float64), all(row["alive"] for row in rows), last,
    )  # fmt: skip


class Results:
    """The runs that are compared: on the paper's data sets all of one protocol, the paper's where any run has it,
    otherwise the commonest; on other data all there are.

    data: which of the paper's data sets are meant, D4RL's or the rebuilt ones; None: those with the most runs
    compared: with the paper; if not, the paper's data sets are like any other
    others: runs on the paper's data sets by other protocols
    """

    def __init__(self, runs: Sequence[Run], data: Data | None = None, compared: bool = True) -> None:
        if not runs:
            raise DataError("no finished runs: there is nothing to report")
        known = [run for run in runs if compared and source(run.dataset) is not None]
        other = [run for run in runs if not compared or source(run.dataset) is None]
        self.every = {run.row["run"]: run for run in runs}
        self.sources = Counter(where for run in known if (where := source(run.dataset)) is not None)
        self.data: Data = data or (self.sources.most_common(1)[0][0] if self.sources else "d4rl")
        self.protocol = _standard(known or runs)
        self.others = [run for run in known if run.protocol != self.protocol]
        self.runs = [run for run in known if run.protocol == self.protocol] + _named_variants(other)
        # Where the paper's beta is 1, TR stands in the weighted column; but not for an agent that nobody weighed.
        self._weighted = {run.algorithm for run in self.runs if run.method.sampler == "tr" and 0 < run.method.beta < 1}
        self._grouped: dict[tuple[str, str, Method], list[Run]] = {}
        for run in self.runs:
            self._grouped.setdefault((run.dataset, run.algorithm, run.method), []).append(run)
        self._scores = {key: scores_of(own) for key, own in self._grouped.items()}

    @property
    def datasets(self) -> list[str]:
        """Those of the paper in its order, then others by name."""
        order = {name_here(name, data): place for place, name in enumerate(paper_sets()) for data in ("d4rl", "rewind")}
        found = {run.dataset for run in self.runs}
        return sorted(found, key=lambda name: (source(name) or "z", order.get(name, 0), name))

    @property
    def algorithms(self) -> list[str]:
        return [name for name in ALGORITHMS if any(run.algorithm == name for run in self.runs)]

    def methods(self, dataset: str, algorithm: str) -> list[Method]:
        """Those that have runs, in the paper's order."""
        order = {name: place for place, name in enumerate(LABELS)}
        found = [method for name, agent, method in self._grouped if (name, agent) == (dataset, algorithm)]
        return sorted(found, key=lambda method: (order.get(method.sampler, len(order)), -method.beta, method.variant))

    def of(self, dataset: str, algorithm: str, name: str | Method) -> list[Run]:
        """A method's runs; `name` may be a column of the paper's tables."""
        method = self.method(dataset, algorithm, name)
        return [] if method is None else self._grouped.get((dataset, algorithm, method), [])

    def scores(self, dataset: str | None, algorithm: str, name: str | Method) -> Array:
        """Of a method's runs that gave one, (runs,); `name` may be a column of the paper's tables.

        The same runs are the same array, which the bootstrap then draws from once.
        """
        method = None if dataset is None else self.method(dataset, algorithm, name)
        return NOTHING if dataset is None or method is None else self._scores.get((dataset, algorithm, method), NOTHING)

    def method(self, dataset: str, algorithm: str, name: str | Method) -> Method | None:
        """What a column of the paper's tables is here; None where nothing is."""
        if isinstance(name, Method):
            return name
        return None if name == "weighted" and algorithm not in self._weighted else method_of(name, dataset)

    def here(self, paper_name: str) -> str | None:
        """What a data set of the paper is called in these results."""
        return name_here(paper_name, self.data)


def _standard(runs: Sequence[Run]) -> Protocol:
    counts = Counter(run.protocol for run in runs)
    return Protocol() if Protocol() in counts else counts.most_common(1)[0][0]


def _named_variants(runs: Sequence[Run]) -> list[Run]:
    """What sets a run apart from most on the same data is part of its method."""
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        grouped.setdefault(run.dataset, []).append(run)
    standards = {name: _standard(own) for name, own in grouped.items()}
    return [
        replace(run, method=run.method._replace(variant=run.protocol.against(standards[name])))
        for name, own in grouped.items()
        for run in own
    ]


def scores_of(runs: Iterable[Run]) -> Array:
    """Runs that broke count where they gave a number."""
    scores: Array = np.array([run.score for run in runs])
    return np.extract(np.isfinite(scores), scores)
