"""Runs from rows: what each is a run of, its curve, its score; and which runs are compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rewind.arrays import Array
from rewind.errors import DataError
from rewind.evaluation.protocol import EVERY, LAST, Curve
from rewind.evaluation.results import curve
from rewind.evaluation.rows import Row, by_run
from rewind.memory import PRIORITIES
from rewind.report.methods import ALGORITHMS, LABELS, Method
from rewind.run_spec import DYNAMIC_BLOCK
from rewind.statistics import Measured, Term, combined, typical_variance
from rewind.table import text

NOTHING: Array = np.empty(0)


class Protocol(NamedTuple):
    """All that a run's method leaves open. The defaults are the paper's, and Rewind's where the paper is silent."""

    steps: int = 1_000_000
    batch_size: int = 256
    reuse: str = "on_finish"
    rank_exponent: float = 1.0
    stagger: bool = False
    block: int = DYNAMIC_BLOCK  # of plans whose ranks follow the critics; other plans are the same however they are cut
    settings: str = "{}"

    def against(self, standard: Protocol) -> str:
        """What is different, in words; nothing where nothing is."""
        settings, usual = json.loads(self.settings), json.loads(standard.settings)
        apart = [f"{name} {text(value)}" for name, value in settings.items() if value != usual.get(name)]
        apart += [f"default {name}" for name in usual if name not in settings]
        words = {
            "steps": f"{self.steps:,} steps",
            "batch_size": f"batches of {self.batch_size}",
            "reuse": f"reuse {self.reuse}",
            "rank_exponent": f"rank exponent {self.rank_exponent:g}",
            "stagger": "staggered starts" if self.stagger else "no staggered starts",
            "block": f"{self.block} steps planned at once",
            "settings": ", ".join(apart),
        }
        return ", ".join(words[name] for name in self._fields if getattr(self, name) != getattr(standard, name))


@dataclass(frozen=True)
class FinishedRun:
    """One trained run.

    rows: its results, by step
    evaluations: its scores; NaN where there is none
    """

    method: Method
    protocol: Protocol
    rows: Sequence[Row]
    evaluations: Curve

    @property
    def row(self) -> Row:
        """The last one."""
        return self.rows[-1]

    @property
    def dataset(self) -> str:
        return str(self.row["dataset"])

    @property
    def algorithm(self) -> str:
        return str(self.row["algorithm"])

    @property
    def alive(self) -> bool:
        return all(row["alive"] for row in self.rows)

    @property
    def score(self) -> float:
        return float(self.evaluations.score)

    @property
    def curve(self) -> tuple[Array, Array]:
        """Steps and scores; the paper's last five evaluations, which a chart cannot tell apart, are one point."""
        steps, scores = self.evaluations.steps, self.evaluations.values
        late = steps > steps[-1] - LAST * EVERY
        if steps[-1] < 10 * LAST * EVERY or not late.any():
            return steps, scores
        return np.append(steps[~late], steps[-1]), np.append(scores[~late], scores[late].mean())


def runs_of(rows: Iterable[Row]) -> list[FinishedRun]:
    return [_run(group) for group in by_run(rows).values()]


def _run(rows: Sequence[Row]) -> FinishedRun:
    last = rows[-1]
    sampler = last["sampler"]
    dynamic = sampler in PRIORITIES and PRIORITIES[sampler].dynamic
    protocol = Protocol(*(last[name] for name in Protocol._fields))
    protocol = protocol if dynamic else protocol._replace(block=DYNAMIC_BLOCK)
    return FinishedRun(Method(sampler, last["beta"]), protocol, rows, curve(rows, "score"))


class Results:
    """Finished runs, by data set, agent and method. What sets a run apart from others there is part of its method.

    every: all runs by their ids
    runs: those that are compared
    """

    def __init__(self, runs: Sequence[FinishedRun]) -> None:
        if not runs:
            raise DataError("no finished runs: there is nothing to report")
        self.every = {run.row["run"]: run for run in runs}
        self.runs = self.compared(runs)
        self._grouped: dict[tuple[str, str, Method], list[FinishedRun]] = {}
        for run in self.runs:
            self._grouped.setdefault((run.dataset, run.algorithm, run.method), []).append(run)
        self._scores = {key: scores_of(group) for key, group in self._grouped.items()}

    def compared(self, runs: Sequence[FinishedRun]) -> list[FinishedRun]:
        return named_variants(runs)

    @property
    def datasets(self) -> list[str]:
        return sorted({run.dataset for run in self.runs})

    @property
    def algorithms(self) -> list[str]:
        trained = {run.algorithm for run in self.runs}
        return [*(name for name in ALGORITHMS if name in trained), *sorted(trained - ALGORITHMS.keys())]

    def methods(self, dataset: str, algorithm: str) -> list[Method]:
        """Those that have runs, in the paper's order."""
        order = {name: place for place, name in enumerate(LABELS)}
        with_runs = [method for name, agent, method in self._grouped if (name, agent) == (dataset, algorithm)]
        return sorted(
            with_runs, key=lambda method: (order.get(method.sampler, len(order)), -method.beta, method.variant)
        )

    def labelled(self, dataset: str, algorithm: str) -> dict[str, Method]:
        """The methods of a chart, by their labels."""
        return {method.label: method for method in self.methods(dataset, algorithm)}

    def columns(self, algorithm: str, datasets: Sequence[str]) -> dict[str, str | Method]:
        """The methods of a table over several data sets, by their labels."""
        return {label: method for name in datasets for label, method in self.labelled(name, algorithm).items()}

    def method(self, dataset: str, algorithm: str, name: str | Method) -> Method | None:
        """What a name means here; None where it means nothing."""
        return name if isinstance(name, Method) else Method(name)

    def of(self, dataset: str, algorithm: str, name: str | Method) -> list[FinishedRun]:
        method = self.method(dataset, algorithm, name)
        return [] if method is None else self._grouped.get((dataset, algorithm, method), [])

    def scores(self, dataset: str | None, algorithm: str, name: str | Method) -> Array:
        """Of a method's runs that gave one, (runs,).

        The same runs are the same array, which statistics then count once.
        """
        method = None if dataset is None else self.method(dataset, algorithm, name)
        return NOTHING if dataset is None or method is None else self._scores.get((dataset, algorithm, method), NOTHING)

    def spread(self, dataset: str | None, algorithm: str) -> float | None:
        """The typical variance of runs on a data set, over all methods: what few runs of one method borrow."""
        return typical_variance(self.cells(dataset, algorithm))

    def difference(self, algorithm: str, pairs: Mapping[str, tuple[Array, Array]]) -> Measured:
        """The mean over data sets of what the first runs of a pair score more than the second."""
        return self.weighed(algorithm, {name: ((1.0, ones), (-1.0, others)) for name, (ones, others) in pairs.items()})

    def weighed(self, algorithm: str, sets: Mapping[str, Sequence[tuple[float, Array]]]) -> Measured:
        """The mean over data sets of a weighted sum of mean scores. Few runs borrow the spread of all methods there.

        Every difference that is shown comes from here, so that one difference has one interval.
        """
        return combined(
            Term(weight / len(sets), runs, self.spread(name, algorithm))
            for name, sides in sets.items()
            for weight, runs in sides
        )

    def cells(self, dataset: str | None, algorithm: str) -> list[Array]:
        """The scores of each method there."""
        return [scores for (name, agent, _), scores in self._scores.items() if (name, agent) == (dataset, algorithm)]


def standard_protocol(runs: Sequence[FinishedRun]) -> Protocol:
    """The paper's where any run has it, otherwise the commonest; of two, the one with fewer settings."""
    counts = Counter(run.protocol for run in runs)
    return Protocol() if Protocol() in counts else max(counts, key=lambda one: (counts[one], -len(one.settings)))


def named_variants(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """What sets a run apart from most on the same data becomes part of its method."""
    named: list[FinishedRun] = []
    for dataset in dict.fromkeys(run.dataset for run in runs):
        of_dataset = [run for run in runs if run.dataset == dataset]
        usual = standard_protocol(of_dataset)
        named += [replace(run, method=run.method._replace(variant=_apart(run, usual))) for run in of_dataset]
    return named


def _apart(run: FinishedRun, usual: Protocol) -> str:
    """Uniform sampling has no sweeps: what is set of them does not set it apart."""
    sweeps = {name: getattr(usual, name) for name in ("reuse", "rank_exponent", "stagger")}
    protocol = run.protocol._replace(**sweeps) if run.method.sampler == "baseline" else run.protocol
    return protocol.against(usual)


def scores_of(runs: Iterable[FinishedRun]) -> Array:
    """Runs that broke count where they gave a number."""
    scores: Array = np.array([run.score for run in runs])
    return np.extract(np.isfinite(scores), scores)
