"""What came of training: a line for each variant (sampler, beta, swept numbers), over its seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewind.evaluation.diagnose import COUNTS, DIAGNOSED, counted_rows
from rewind.evaluation.protocol import EVERY, Curve
from rewind.statistics import interval
from rewind.table import table

Records = Sequence[Mapping[str, Any]]  # of one run: what was logged, or its rows of results


def curve(records: Records, name: str) -> Curve:
    """One figure of a run, wherever it was taken."""
    taken = [record for record in records if name in record]
    values = [np.nan if record[name] is None else record[name] for record in taken]
    return Curve(np.array([record["step"] for record in taken]), np.array(values, np.float64))


@dataclass(frozen=True)
class Variant:
    """Runs that differ in their seeds only."""

    name: str
    runs: list[Records]

    def curves(self, name: str = "score") -> list[Curve]:
        return [curve(records, name) for records in self.runs]

    def counts(self) -> dict[str, Any]:
        """Its name, and how many runs there are, and have exploded."""
        broken = sum(any(record.get("alive") is False for record in records) for records in self.runs)
        return {"variant": self.name, "seeds": len(self.runs), "broken": broken}


def variants(runs: Sequence[Records], names: Sequence[str]) -> list[Variant]:
    """The runs by the name of their variant, in the order they come in."""
    grouped: dict[str, list[Records]] = {}
    for records, name in zip(runs, names, strict=True):
        grouped.setdefault(name, []).append(records)
    return [Variant(name, group) for name, group in grouped.items()]


def scores(compared: Sequence[Variant]) -> list[dict[str, Any]]:
    """The figures of evaluated variants, for a table or a file. Runs that broke count where they gave a number."""
    rows = []
    for variant in compared:
        curves = variant.curves()
        kept = [one for one in curves if np.isfinite(one.score)]
        figures = {
            "score": _mean([one.score for one in kept]),
            "interval": interval([one.score for one in kept]),
            "last": _mean([one.last for one in kept]),
            "best": _mean([one.best for one in kept]),
            "evaluations": min(one.evaluations for one in curves),
        }
        rows.append(variant.counts() | figures)
    return rows


def score_table(rows: Sequence[dict[str, Any]]) -> str:
    averaged = rows[0]["evaluations"]
    several = f"mean of {averaged} evaluations up to the last, {EVERY:,} steps apart"
    which = several if averaged > 1 else "the last evaluation"
    note = (
        f"score: {which}; mean of the seeds, [95% interval over seeds, by Student's t]\n"
        "last: of the last evaluation; best: of the best one, which nobody without a simulator could have chosen"
    )
    return _shown(rows, ("score", "interval", "last", "best"), ".1f") + "\n" + note


def diagnostics(compared: Sequence[Variant]) -> list[dict[str, Any]]:
    """The offline figures at the end, mean over seeds."""
    rows = []
    for variant in compared:
        row = variant.counts()
        for name in (*DIAGNOSED, *COUNTS):
            ends = np.array([one.last for one in variant.curves(name) if len(one.steps)])  # old logs lack some
            row[name] = _mean(ends[np.isfinite(ends)])
        rows.append(row)
    return rows


def diagnostics_table(rows: Sequence[dict[str, Any]]) -> str:
    notes = (
        "td_error: mean |r + discount Q(s', pi(s')) - Q(s, a)|; td_bias: the same without the bars",
        "value_correlation, value_bias: Q(s, a) against the Monte-Carlo return of the data",
        counted_rows(rows[0]),
        "impossible: share of the rows whose Q is outside the possible returns",
        "action_distance: mean |pi(s) - a|. None of them is a score.",
    )
    return _shown(rows, DIAGNOSED, ".4f") + "\n" + ";\n".join(filter(None, notes))  # of 10,000 rows, one shows


def _mean(values: Any) -> float | None:
    """JSON has no NaN."""
    return float(np.mean(values)) if len(values) else None


def _shown(rows: Sequence[dict[str, Any]], names: Sequence[str], form: str) -> str:
    counts = ("variant", "seeds", "broken") if any(row["broken"] for row in rows) else ("variant", "seeds")
    return table(
        [{name: row[name] for name in counts} | {name: _text(row[name], form) for name in names} for row in rows]
    )


def _text(value: Any, form: str) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_text(bound, form) for bound in value)}]"
    return "-" if value is None else f"{value:{form}}"
