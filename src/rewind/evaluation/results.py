"""What came of training: one row per variant (sampler, beta, swept numbers), over its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.evaluation.diagnose import DIAGNOSED
from rewind.evaluation.protocol import EVERY, scored_steps
from rewind.statistics import interval as interval
from rewind.table import table
from rewind.training.options import Trained


@dataclass(frozen=True)
class Curve:
    """A figure of one run against the steps it was taken at; NaN where the run gave no number."""

    steps: Array
    values: Array

    @property
    def score(self) -> float:
        """The paper's: the mean of five at the end, 1000 steps apart, whatever was taken between them."""
        return float(self.values[self._scored].mean())

    @property
    def evaluations(self) -> int:
        """How many `score` is the mean of."""
        return int(self._scored.sum())

    @property
    def _scored(self) -> Array:
        return np.isin(self.steps, scored_steps(int(self.steps[-1])))

    @property
    def mean(self) -> float:
        """Over the steps, from the first figure to the last: who learns sooner has more."""
        if len(self.steps) < 2:
            return self.last
        areas = np.diff(self.steps) * (self.values[1:] + self.values[:-1]) / 2
        return float(areas.sum() / (self.steps[-1] - self.steps[0]))

    @property
    def last(self) -> float:
        return float(self.values[-1])

    @property
    def best(self) -> float:
        return float(np.nanmax(self.values)) if np.isfinite(self.values).any() else float("nan")


def curve(trained: Trained, name: str) -> Curve:
    """One figure of a run, wherever it was taken."""
    records = [record for record in trained.records if name in record]
    values = [np.nan if record[name] is None else record[name] for record in records]
    return Curve(np.array([record["step"] for record in records]), np.array(values, np.float64))


@dataclass(frozen=True)
class Variant:
    """Runs that differ in their seeds only."""

    name: str
    runs: list[Trained]

    def curves(self, name: str = "score") -> list[Curve]:
        return [curve(run, name) for run in self.runs]


def variants(trained: Sequence[Trained], names: Sequence[str]) -> list[Variant]:
    """The runs by the name of their variant, in the order they come in."""
    grouped: dict[str, list[Trained]] = {}
    for result, name in zip(trained, names, strict=True):
        grouped.setdefault(name, []).append(result)
    return [Variant(name, runs) for name, runs in grouped.items()]


def scores(found: Sequence[Variant]) -> list[dict[str, Any]]:
    """The figures of evaluated variants, for a table or a file. Runs that broke count where they gave a number."""
    rows = []
    for variant in found:
        curves = variant.curves()
        kept = [one for one in curves if np.isfinite(one.score)]
        rows.append(
            {
                "variant": variant.name,
                "seeds": len(curves),
                "broken": sum(not run.alive for run in variant.runs),
                "score": _mean([one.score for one in kept]),
                "interval": interval([one.score for one in kept]),
                "last": _mean([one.last for one in kept]),
                "best": _mean([one.best for one in kept]),
                "evaluations": min(one.evaluations for one in curves),
            }
        )
    return rows


def score_table(rows: Sequence[dict[str, Any]]) -> str:
    averaged = rows[0]["evaluations"]
    which = "the last evaluation"
    if averaged > 1:
        which = f"mean of {averaged} evaluations up to the last, {EVERY:,} steps apart"
    note = (
        f"score: {which}; mean of the seeds, [95% bootstrap interval over seeds]\n"
        "last: of the last evaluation; best: of the best one, which nobody without a simulator could have chosen"
    )
    return _shown(rows, ("score", "last", "best"), ".1f") + "\n" + note


def diagnostics(found: Sequence[Variant]) -> list[dict[str, Any]]:
    """The offline figures at the end, mean over seeds."""
    rows = []
    for variant in found:
        row: dict[str, Any] = {"variant": variant.name, "seeds": len(variant.runs)}
        row["broken"] = sum(not run.alive for run in variant.runs)
        for name in DIAGNOSED:
            ends = np.array([one.last for one in variant.curves(name)])
            row[name] = _mean(ends[np.isfinite(ends)])
        rows.append(row)
    return rows


def diagnostics_table(rows: Sequence[dict[str, Any]]) -> str:
    note = (
        "td_error: mean |r + discount Q(s', pi(s')) - Q(s, a)|; td_bias: the same without the bars;\n"
        "value_correlation, value_bias: Q(s, a) against the Monte-Carlo return of the data;\n"
        "impossible: share of the rows whose Q no rewards add up to;\n"
        "action_distance: mean |pi(s) - a|. None of them is a score."
    )
    return _shown(rows, DIAGNOSED, ".4f") + "\n" + note  # of 10,000 rows, one shows


def _mean(values: Any) -> float | None:
    """JSON has no NaN."""
    return float(np.mean(values)) if len(values) else None


def _shown(rows: Sequence[dict[str, Any]], names: Sequence[str], form: str) -> str:
    anything_broken = any(row["broken"] for row in rows)
    lines = []
    for row in rows:
        line = {"variant": row["variant"], "seeds": row["seeds"]}
        if anything_broken:
            line["broken"] = row["broken"]
        for name in names:
            line[name] = "-" if row[name] is None else f"{row[name]:{form}}"
            if name == "score":
                low_high = row["interval"]
                line["interval"] = "-" if low_high is None else "[{:.1f}, {:.1f}]".format(*low_high)
        lines.append(line)
    return table(lines)
