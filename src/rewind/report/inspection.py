"""Key figures of a data set, and problems to know before training on it (`rewind inspect`)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.folder import in_memory
from rewind.data.ogbench import BOUNDARIES
from rewind.data.parts import shown
from rewind.data.trajectories import Trajectories
from rewind.errors import DataError, warn
from rewind.memory.choice import RULES, caution, choose
from rewind.memory.priorities import PRIORITIES
from rewind.memory.ranks import average_ranks
from rewind.report.problems import Problem, find_problems
from rewind.table import counted, number, table

NAMED = 8  # entries of a list that are printed


@dataclass(frozen=True)
class Spread:
    """Quantiles and mean of some numbers."""

    smallest: float
    lower_quarter: float
    median: float
    upper_quarter: float
    largest: float
    mean: float

    @classmethod
    def of(cls, values: Array) -> Spread:
        low, lower, median, upper, high = map(float, np.quantile(values.astype(np.float64), (0, 0.25, 0.5, 0.75, 1)))
        return cls(low, lower, median, upper, high, float(np.mean(values, dtype=np.float64)))


@dataclass(frozen=True)
class Metric:
    """A quality metric over the trajectories; those with equal values have equal priority."""

    spread: Spread
    different: int  # number of different values
    largest_tie: int  # largest number of trajectories with one value


@dataclass(frozen=True)
class Rewards:
    """How dense the rewards are."""

    spread: Spread
    different: int  # number of different values
    most_frequent: float
    its_share: float
    nonzero_share: float


@dataclass(frozen=True)
class Inspection:
    """All figures of `rewind inspect`."""

    name: str | None
    trajectories: int
    rows: int
    transitions: int  # rows that can be replayed
    megabytes: float
    observations: str  # dtype and shape
    actions: str
    extras: str
    notes: dict[str, Any]  # of the data: boundaries and more
    terminated: int  # trajectories
    timeouts_with_successor: int
    timeouts_without: int
    inner_terminals: int  # rows
    lengths: Spread
    returns: Spread
    rewards: Rewards
    metrics: dict[str, Metric]
    rank_correlations: dict[str, dict[str, float | None]]  # Spearman's; None if all values of a metric are equal
    paper: dict[str, Any]  # the choice of priority "paper", and its reasons
    auto: dict[str, Any]  # likewise of priority "auto"
    problems: list[Problem]

    def figures(self) -> dict[str, Any]:
        """All figures as plain numbers, for other programs."""
        return asdict(self)


def ended_by_terminal(data: Trajectories) -> Array:
    """(trajectories,) In OGBench's form none is: a trajectory is cut, whether or not its last row solves the task."""
    return data.terminated & (data.notes.get("boundaries") != BOUNDARIES)


def inspect(data: Trajectories) -> Inspection:
    """The figures and problems of a data set."""
    data = in_memory(data)
    values = quality(data)
    unknown = ~(data.terminated | data.final_known)
    return Inspection(
        name=data.name,
        trajectories=len(data),
        rows=data.rows,
        transitions=int(data.transitions.sum()),
        megabytes=data.nbytes / 1e6,
        observations=shown(data.observations),
        actions=shown(data.actions),
        extras=shown(data.extras),
        notes=dict(data.notes),
        terminated=int(data.terminated.sum()),
        timeouts_with_successor=int((~data.terminated & data.final_known).sum()),
        timeouts_without=int(unknown.sum()),
        inner_terminals=0 if data.inner_terminals is None else int(data.inner_terminals.sum()),
        lengths=Spread.of(data.lengths),
        returns=Spread.of(data.returns),
        rewards=_rewards(data.rewards),
        metrics={name: _metric(of) for name, of in values.items()},
        rank_correlations=_correlations(values),
        **{rule: _chosen(data, rule) for rule in RULES},
        problems=find_problems(data, values),
    )


def _chosen(data: Trajectories, rule: str) -> dict[str, Any]:
    choice = choose(data, rule=rule)
    return {**asdict(choice), "meaning": choice.meaning}


def quality(data: Trajectories) -> dict[str, Array]:
    """(trajectories,) for each priority that is known from the data; those of other packages that fail are left out."""
    values = {}
    for name, priority in PRIORITIES.importable():
        try:
            if not priority.dynamic:
                values[name] = priority.of_data(data)
        except DataError as error:
            if PRIORITIES.is_own(name):
                raise
            warn(f"{error}; it is left out")
    return values


def _rewards(rewards: Array) -> Rewards:
    values, counts = np.unique(rewards, return_counts=True)
    return Rewards(
        spread=Spread.of(rewards),
        different=len(values),
        most_frequent=float(values[counts.argmax()]) + 0.0,  # not -0
        its_share=float(counts.max() / counts.sum()),
        nonzero_share=float(np.count_nonzero(rewards) / len(rewards)),
    )


def _metric(values: Array) -> Metric:
    _, counts = np.unique(values, return_counts=True)
    return Metric(Spread.of(values), len(counts), int(counts.max()))


def _correlations(values: dict[str, Array]) -> dict[str, dict[str, float | None]]:
    ranks = {name: average_ranks(of) - (len(of) + 1) / 2 for name, of in values.items()}
    return {one: {other: _correlation(ranks[one], ranks[other]) for other in ranks} for one in ranks}


def _correlation(one: Array, other: Array) -> float | None:
    scale = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / scale if scale else None


def text(report: Inspection) -> str:
    """The inspection as text."""
    problems = []
    for problem in report.problems:
        problems += [f"- {problem.kind}", *(f"    {line}" for line in textwrap.wrap(problem.text, 96))]
    sections = [
        ("", _facts(report)),
        ("", table(_spread_rows(report)).splitlines()),
        ("priority paper", [report.paper["priority"], *textwrap.wrap(report.paper["because"], 96)]),
        (
            "priority auto" + (", provisional" if caution() else ""),
            textwrap.wrap(report.auto["priority"] + report.auto["meaning"], 96),
        ),
        (f"problems ({len(report.problems)})", problems or ["none found"]),
    ]
    lines = [report.name or "data"]
    for head, body in sections:
        lines += ["", *([head] if head else []), *(f"  {line}" for line in body)]
    return "\n".join(line.rstrip() for line in lines)


def _facts(report: Inspection) -> list[str]:
    ends = [
        f"{report.terminated:,} by a terminal",
        f"{report.timeouts_with_successor:,} cut with the next state known",
        f"{report.timeouts_without:,} cut without it",
    ]
    if report.notes.get("boundaries") == BOUNDARIES:
        ends = [f"all cut, {report.terminated:,} of them with a terminal in their last row"]
    facts = {
        "trajectories": f"{report.trajectories:,}",
        "rows": f"{report.rows:,}, of which {report.transitions:,} can be replayed",
        "ended": ", ".join(ends),
        "observations": report.observations,
        "actions": report.actions,
        **({"extras": report.extras} if report.extras else {}),
        "memory": f"{report.megabytes:,.1f} MB" if report.megabytes >= 1 else f"{report.megabytes * 1e3:,.0f} kB",
        "rewards": _rewards_told(report),
        **{key.replace("_", " "): _note(value) for key, value in report.notes.items()},
    }
    if report.inner_terminals:
        facts["inner terminals"] = f"{report.inner_terminals:,} rows before a trajectory's last"
    width = max(map(len, facts))
    return [f"{key:{width}}  {value}" for key, value in facts.items()]


def _rewards_told(report: Inspection) -> str:
    rewards, other = report.rewards, f"{report.rewards.nonzero_share:.1%} are not 0"
    if 1 < rewards.different == report.rows:
        return f"all different, {other}"
    commonest = f"the commonest, {rewards.most_frequent:g}, is {rewards.its_share:.1%} of them"
    return f"{commonest}, {other}, {counted(rewards.different, 'different value')}"


def _note(value: Any) -> str:
    """A note as text, without levels below the second, such as a recipe."""
    if isinstance(value, Mapping):
        flat = {key: item for key, item in value.items() if not isinstance(item, Mapping)}
        return ", ".join(f"{key.replace('_', ' ')} {_note(item)}" for key, item in flat.items())
    if isinstance(value, (list, tuple)) and len(value) > NAMED:
        return f"{_note(value[:2])} ... {_note(value[-1:])} ({len(value):,})"
    if isinstance(value, (list, tuple)):
        return " ".join(item["name"] if isinstance(item, Mapping) and "name" in item else _note(item) for item in value)
    if isinstance(value, float):
        return number(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _spread_rows(report: Inspection) -> list[dict[str, Any]]:
    """A row for each quantity, for `rewind.table.table`."""
    rows = [_row(name, spread) for name, spread in (("length", report.lengths), ("reward", report.rewards.spread))]
    for name, metric in report.metrics.items():
        rows.append(_row(name, metric.spread, f"{metric.different:,}", f"{metric.largest_tie:,}"))
    return rows


def _row(name: str, spread: Spread, different: str = "", tie: str = "") -> dict[str, Any]:
    nothing = 1e-6 * max(abs(spread.smallest), abs(spread.largest))  # rounding, as of a mean that is 0
    numbers = [number(value if abs(value) > nothing else 0.0) for value in asdict(spread).values()]
    heads = ("smallest", "25%", "median", "75%", "largest", "mean")
    return {"": name, **dict(zip(heads, numbers, strict=True)), "different": different, "largest tie": tie}
