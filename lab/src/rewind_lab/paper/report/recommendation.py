"""Does the recommended setting hold where it was not chosen? A stated test on the held-back half."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.run_spec import RunSpec
from rewind.statistics import Measured, mean_difference
from rewind.table import table
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, load_definitions
from rewind_lab.paper.halves import DENSE, choosing_half, named_sets

WORST_BOUND, WORST_SET = -2.0, -10.0  # points: of a kind's lower bound, and of any one set
RULE = (
    f"It passes if the lower bound of its pooled difference to uniform sampling is above {WORST_BOUND:g} points on "
    f"sparse and on dense sets, and no set's difference is below {WORST_SET:g}."
)
Scores = Mapping[str, float]  # of finished runs, by run


@dataclass(frozen=True)
class KindResult:
    """The chosen setting against uniform sampling on one kind of data."""

    kind: str
    pooled: Measured
    sets: Mapping[str, Measured]

    @property
    def passes(self) -> bool:
        low = self.pooled.estimate.low
        return low is not None and low > WORST_BOUND and all(one.value >= WORST_SET for one in self.sets.values())


def outcome_of(scores: Scores) -> list[KindResult] | str:
    """The test's outcome, or why there is none yet."""
    specs = load_definitions(EVIDENCE).wanted(RunChoice(["recommendation"]))["recommendation"]
    if all(map(_plain, specs)):
        return "not run yet: no setting is chosen (`rewind paper choice`)"
    missing = [spec for spec in specs if spec.run not in scores]
    if missing:
        return f"not run yet: {len(missing):,} of {len(specs):,} runs are missing"
    uniform, chosen = (
        {name: _of(specs, scores, name, uniform=kind) for name in _names(specs)} for kind in (True, False)
    )
    dense = set(named_sets([DENSE]))
    kinds = {"sparse": [name for name in uniform if name not in dense], "dense": [n for n in uniform if n in dense]}
    return [
        KindResult(
            kind,
            mean_difference([chosen[name] for name in names], [uniform[name] for name in names]),
            {name: mean_difference([chosen[name]], [uniform[name]]) for name in names},
        )
        for kind, names in kinds.items()
    ]


def _names(specs: Sequence[RunSpec]) -> list[str]:
    return list(dict.fromkeys(spec.dataset for spec in specs))


def _of(specs: Sequence[RunSpec], scores: Scores, name: str, *, uniform: bool) -> Array:
    return np.array([scores[spec.run] for spec in specs if spec.dataset == name and _plain(spec) == uniform])


def _plain(spec: RunSpec) -> bool:
    return spec.sampler == "baseline" and not spec.settings


def outcome_text(outcome: list[KindResult] | str) -> str:
    if isinstance(outcome, str):
        return f"{outcome}\n{RULE}"
    rows: list[dict[str, Any]] = []
    for kind in outcome:
        rows += [{"set": name, "difference": told(one)} for name, one in kind.sets.items()]
        rows.append({"set": f"{kind.kind}, {len(kind.sets)} sets", "difference": told(kind.pooled)})
    verdict = "passes" if all(kind.passes for kind in outcome) else "fails"
    return f"{table(rows)}\n\nThe recommended setting {verdict}. {RULE}"


def told(measured: Measured) -> str:
    """A difference with its interval."""
    value, low, high = measured.estimate
    return f"{value:+.1f}" if low is None else f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"


def candidates(scores: Scores) -> str:
    """What has run on the choosing half: each way to train TD3+BC, its difference to uniform sampling by kind."""
    wanted = load_definitions(EVIDENCE).wanted(RunChoice(algorithms=["td3_bc"]))
    choosing, dense = set(choosing_half()), set(named_sets([DENSE]))
    cells: dict[str, dict[str, list[float]]] = {}
    for spec in dict.fromkeys(spec for specs in wanted.values() for spec in specs):
        if spec.dataset in choosing and spec.run in scores:
            cells.setdefault(_way(spec), {}).setdefault(spec.dataset, []).append(scores[spec.run])
    uniform = cells.pop("baseline", {})
    rows = []
    for way, found in cells.items():
        row = {"setting": way}
        for kind in ("sparse", "dense"):
            names = [
                name
                for name, own in found.items()
                if (name in dense) == (kind == "dense") and min(len(own), len(uniform.get(name, []))) > 1
            ]
            ones, others = ([np.array(side[name]) for name in names] for side in (found, uniform))
            row[kind] = f"{told(mean_difference(ones, others))} ({len(names)})" if names else "-"
        rows.append(row)
    note = "difference to uniform sampling in points, [95% interval], (data sets of the choosing half)"
    return f"{table(rows)}\n{note}" if rows else "no runs on the choosing half yet"


def _way(spec: RunSpec) -> str:
    """Stagger is left out: OGBench's runs have it and others have not."""
    beta = f", beta {spec.beta:g}" if spec.beta != 1.0 else ""
    settings = "".join(f", {name} {value}" for name, value in spec.settings)
    return f"{spec.sampler}{beta}{settings}" + (f", reuse {spec.reuse}" if spec.reuse != "on_finish" else "")
