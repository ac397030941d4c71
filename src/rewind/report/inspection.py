"""What a data set is like, before anything is trained on it: figures, and problems worth knowing."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.catalogue import known_label
from rewind.data.trajectories import Trajectories
from rewind.memory.priorities import PRIORITIES, choose, rewards_of
from rewind.memory.ranks import average_ranks
from rewind.memory.sweeps import common_length
from rewind.table import number, table

SLOTS = 256  # the paper's batch size
QUALITY = tuple(name for name, priority in PRIORITIES.items() if not priority.dynamic)


@dataclass(frozen=True)
class Spread:
    """How some numbers are distributed."""

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
    """A quality metric over the trajectories; where many tie, it cannot tell them apart."""

    spread: Spread
    different: int  # values
    largest_tie: int  # trajectories that share one value


@dataclass(frozen=True)
class Rewards:
    """How dense the rewards are."""

    spread: Spread
    different: int  # values
    most_frequent: float
    its_share: float
    nonzero_share: float


@dataclass(frozen=True)
class Problem:
    """Something to know before training."""

    kind: str
    text: str


@dataclass(frozen=True)
class Inspection:
    """Everything `rewind inspect` shows."""

    name: str | None
    trajectories: int
    rows: int
    transitions: int  # rows that can be replayed
    megabytes: float
    observations: str  # dtype and shape of one
    actions: str
    notes: dict[str, Any]  # boundaries and what else the readers recorded
    terminated: int  # trajectories
    timeouts_with_successor: int
    timeouts_without: int
    inner_terminals: int  # rows
    lengths: Spread
    returns: Spread
    rewards: Rewards
    metrics: dict[str, Metric]
    rank_correlations: dict[str, dict[str, float | None]]  # Spearman's; None where one of both ties throughout
    auto: dict[str, Any]  # what priority "auto" chooses, and the numbers behind it
    problems: list[Problem]

    def figures(self) -> dict[str, Any]:
        """All of it as plain numbers, for other programs."""
        return asdict(self)


def inspect(data: Trajectories) -> Inspection:
    """The figures of a data set, and the problems found in it."""
    values = quality(data)
    choice = choose(data, known_label(data.name))
    unknown = ~(data.terminated | data.final_known)
    return Inspection(
        name=data.name,
        trajectories=len(data),
        rows=data.rows,
        transitions=int(data.transitions.sum()),
        megabytes=data.nbytes / 1e6,
        observations=f"{data.observations.dtype} {data.observations.shape[1:]}",
        actions=f"{data.actions.dtype} {data.actions.shape[1:]}",
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
        auto=asdict(choice),
        problems=find_problems(data, values),
    )


def quality(data: Trajectories) -> dict[str, Array]:
    """(trajectories,) for each quality metric of the paper."""
    rewards = rewards_of(data)
    return {name: PRIORITIES[name].values(rewards) for name in QUALITY}


def _rewards(rewards: Array) -> Rewards:
    values, counts = np.unique(rewards, return_counts=True)
    return Rewards(
        spread=Spread.of(rewards),
        different=len(values),
        most_frequent=float(values[counts.argmax()]),
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


def find_problems(data: Trajectories, values: dict[str, Array]) -> list[Problem]:
    """Each kind at most once, in the order in which they matter to a replay memory."""
    count = len(data)
    found = [
        _no_ends(data),
        _missing_successors(data),
        _single_steps(data),
        Problem(
            "few trajectories",
            f"{count:,} trajectories for the usual {SLOTS} slots: some are played by several slots at a time",
        )
        if count < SLOTS
        else None,
        Problem(
            "equal lengths",
            f"{np.mean(data.lengths == common):.0%} of the trajectories have {common:,} steps, so that batches hold a "
            "single time step; stagger=True spreads them",
        )
        if (common := common_length(data.lengths)) is not None
        else None,
        _ties(values, count),
        _no_vectors(data),
        _wide_actions(data.actions),
        _constant_columns(data.observations),
        _duplicates(data),
    ]
    return [problem for problem in found if problem is not None]


def _no_ends(data: Trajectories) -> Problem | None:
    if len(data) > 1 or data.rows == 1 or data.terminated[0] or data.notes.get("boundaries") != "flags":
        return None
    return Problem(
        "no ends",
        f"no flag ends a trajectory, so all {data.rows:,} rows are one; if they are several, set timeouts where they "
        "were cut, or look for jumps: boundaries flags+jump",
    )


def _no_vectors(data: Trajectories) -> Problem | None:
    """What every memory plays, but the agents here cannot learn from."""
    parts = {"observations": data.observations, "actions": data.actions}
    wrong = [f"{name} of shape {array.shape[1:]}" for name, array in parts.items() if array.ndim != 2]
    if data.actions.dtype.kind != "f":
        wrong.append("whole numbers as actions")
    if not wrong:
        return None
    return Problem("not for our agents", f"{', '.join(wrong)}: rewind train takes vectors, with continuous actions")


def _missing_successors(data: Trajectories) -> Problem | None:
    missing = int((data.transitions < data.lengths).sum())
    if not missing:
        return None
    return Problem(
        "missing successors",
        f"{missing:,} of {len(data):,} trajectories end with a time-out whose next state was not recorded: their last "
        "step counts in their quality, but is never replayed",
    )


def _single_steps(data: Trajectories) -> Problem | None:
    single = data.lengths == 1
    if not single.any():
        return None
    successes = int((single & data.terminated).sum())
    hint = "; merge_fragments joins those that go on from the row before them" if successes else ""
    return Problem(
        "single steps", f"{int(single.sum()):,} trajectories of one step, {successes:,} of them terminal{hint}"
    )


def _ties(values: dict[str, Array], count: int) -> Problem | None:
    tied = [name for name, of in values.items() if count > 1 and (of == of[0]).all()]
    if not tied:
        return None
    return Problem("ties", f"every trajectory has the same {', '.join(tied)}: such a priority is uniform")


def _wide_actions(actions: Array) -> Problem | None:
    if actions.dtype.kind != "f":
        return None
    outside = int(np.count_nonzero((np.abs(actions) > 1).reshape(len(actions), -1).any(axis=1)))
    if not outside:
        return None
    return Problem(
        "wide actions",
        f"{outside:,} rows ({outside / len(actions):.1%}) have actions outside [-1, 1], from {actions.min():.3g} to "
        f"{actions.max():.3g}: policies that end in tanh cannot reach them, and D4RL clips them",
    )


def _constant_columns(observations: Array) -> Problem | None:
    flat = observations.reshape(len(observations), -1)
    constant = np.flatnonzero(flat.min(axis=0) == flat.max(axis=0))
    if not constant.size or len(flat) == 1:
        return None
    shown = ", ".join(map(str, constant[:8])) + (", ..." if len(constant) > 8 else "")
    return Problem(
        "constant columns",
        f"{len(constant)} of {flat.shape[1]} observation columns never change ({shown}): normalisation must not "
        "divide by their spread",
    )


def _duplicates(data: Trajectories) -> Problem | None:
    digests = [
        hashlib.blake2b(episode["observations"].tobytes() + episode["actions"].tobytes(), digest_size=16).digest()
        for episode in data.episodes()
    ]
    copies = len(digests) - len(set(digests))
    return Problem("duplicates", f"{copies:,} trajectories are copies of others") if copies else None


def text(found: Inspection) -> str:
    """The inspection for people."""
    title = found.name or "data"
    sections = [
        ("", _facts(found)),
        ("", table(_spread_rows(found)).splitlines()),
        ("priority auto, the paper's advice", [found.auto["priority"], *_wrapped(found.auto["because"])]),
        (f"problems ({len(found.problems)})", [line for p in found.problems for line in _problem(p)] or ["none found"]),
    ]
    lines = [title]
    for head, body in sections:
        lines += ["", *([head] if head else []), *(f"  {line}" for line in body)]
    return "\n".join(line.rstrip() for line in lines)


def _facts(found: Inspection) -> list[str]:
    ends = [
        f"{found.terminated:,} by a terminal",
        f"{found.timeouts_with_successor:,} cut with the next state known",
        f"{found.timeouts_without:,} cut without it",
    ]
    facts = {
        "trajectories": f"{found.trajectories:,}",
        "rows": f"{found.rows:,}, of which {found.transitions:,} can be replayed",
        "ended": ", ".join(ends),
        "observations": found.observations,
        "actions": found.actions,
        "memory": f"{found.megabytes:,.1f} MB",
        "rewards": f"the commonest, {found.rewards.most_frequent:g}, is {found.rewards.its_share:.1%} of them, "
        f"{found.rewards.nonzero_share:.1%} are not 0, {found.rewards.different:,} different values",
        **{key.replace("_", " "): _note(value) for key, value in found.notes.items()},
    }
    if found.inner_terminals:
        facts["inner terminals"] = f"{found.inner_terminals:,} rows before a trajectory's last"
    width = max(map(len, facts))
    return [f"{key:{width}}  {value}" for key, value in facts.items()]


def _note(value: Any) -> str:
    """In words; what goes deeper than two levels, such as a recipe, is in the figures only."""
    if isinstance(value, Mapping):
        own = {key: each for key, each in value.items() if not isinstance(each, Mapping)}
        return ", ".join(f"{key.replace('_', ' ')} {_note(each)}" for key, each in own.items())
    if isinstance(value, (list, tuple)):
        return " ".join(each["name"] if isinstance(each, Mapping) and "name" in each else _note(each) for each in value)
    if isinstance(value, float):
        return number(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _spread_rows(found: Inspection) -> list[dict[str, Any]]:
    """A row for each quantity, as `rewind.table.table` takes them."""
    rows = [_row(name, spread) for name, spread in (("length", found.lengths), ("reward", found.rewards.spread))]
    for name, metric in found.metrics.items():
        rows.append(_row(name, metric.spread, f"{metric.different:,}", f"{metric.largest_tie:,}"))
    return rows


def _row(name: str, spread: Spread, different: str = "", tie: str = "") -> dict[str, Any]:
    numbers = [number(value) for value in asdict(spread).values()]
    heads = ("smallest", "25%", "median", "75%", "largest", "mean")
    return {"": name, **dict(zip(heads, numbers, strict=True)), "different": different, "largest tie": tie}


def _problem(problem: Problem) -> list[str]:
    return [f"- {problem.kind}", *(f"    {line}" for line in _wrapped(problem.text))]


def _wrapped(words: str) -> list[str]:
    return textwrap.wrap(words, 96)
