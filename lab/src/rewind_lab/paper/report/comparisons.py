"""Ours against the paper's, and methods against each other: the rules by which the page colours and judges."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cache
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.report.methods import Method
from rewind.statistics import LEVEL, Estimate, Measured, deviation, mean, over_tasks, welch
from rewind_lab.paper.published import Printed, published, slips
from rewind_lab.paper.report.results import PaperResults, method_of

Column = str | Method  # a name of the paper's, or what it has no name for

NEAR = 5.0  # points: scores that differ by less agree, whatever their spread
MARGIN = 2.0  # points: a difference that is surely smaller, in either direction, is none
# A set on which every method scores less, or more, can show no difference. Scores of robots do not end at 100, so at
# the ceiling methods must also be as near to each other as at the floor.
FLOOR, CEILING = 5.0, 95.0
LEAST_RUNS = 3  # on each side of a comparison, for a data set to count
LEAST_SETS = 3  # that count, or all where a claim is about fewer
PAPER_RUNS = 3
NO_BREAK = "\N{NO-BREAK SPACE}"


# The paper's numbers


@cache
def printed(algorithm: str, method: str, paper_name: str) -> Printed | None:
    """The paper's number, from the table that has it with most digits; without a deviation where that is a misprint."""
    for table in ("table_2", "table_1_full", "td3_bc", "iql"):
        found = published(table)[paper_name].get(f"{algorithm} {method}")
        if found is not None:
            return without_slip(table, paper_name, found)
    return None


def without_slip(table: str, row: str, number: Printed) -> Printed:
    wrong = any(slip["table"] == table and row in slip["rows"] and slip.get("std") for slip in slips())
    return Printed(number.mean) if wrong else number


def agreement(ours: Array, theirs: Printed) -> str:
    """Whether a score agrees with the paper's: within 5 points; similar: farther apart, but the runs of both vary."""
    return compared(welch(float(ours.mean()) - theirs.mean, errors(ours, theirs)), NEAR)


def errors(ours: Array, theirs: Printed) -> list[tuple[float, int]]:
    """Of two means, ours and the paper's, for `welch`; a single run of ours adds none."""
    own = [((deviation(ours) or 0.0) ** 2 / len(ours), len(ours) - 1)] if len(ours) > 1 else []
    return [*own, paper_error(theirs)]


def paper_error(number: Printed, weight: float = 1.0) -> tuple[float, int]:
    """The squared error of the paper's mean, from its deviation, and its degrees of freedom."""
    return (weight * (number.std or 0.0)) ** 2 / PAPER_RUNS, PAPER_RUNS - 1


def compared(difference: Measured, near: float) -> str:
    if abs(difference.value) <= near:
        return "agrees"
    if difference.estimate.low <= 0 <= difference.estimate.high:
        return "similar"
    return "higher" if difference.value > 0 else "lower"


# Methods against each other


@dataclass(frozen=True)
class Contrast:
    """The mean score of some methods minus that of others, mean over data sets, in points.

    wanted, used: the paper's names of data sets asked for, and of those with enough runs on both sides that can show it
    ours: None where no data set has enough
    measured: ours with its error; other_sets: its interval if the data sets, too, had been others
    limits: of data sets with enough runs that can show nothing, floor or ceiling
    level: the mean score of `others` on the used sets
    """

    wanted: Sequence[str]
    used: Sequence[str]
    ours: Estimate | None
    paper: Estimate | None
    measured: Measured | None = None
    other_sets: Estimate | None = None
    limits: Mapping[str, str] = field(default_factory=dict)
    level: float | None = None

    @property
    def judged(self) -> Estimate | None:
        """Ours, where it has an interval over enough data sets to be judged by."""
        enough = len(self.used) >= min(LEAST_SETS, len(self.wanted))
        return self.ours if enough and self.ours is not None and self.ours.low is not None else None


@dataclass(frozen=True)
class Question:
    """Do the methods `ones` score more than `others` on these data sets of the paper?

    best: compare with the best of `others` instead of with their mean
    limits: leave out data sets at their floor or ceiling
    """

    algorithm: str
    ones: Sequence[Column]
    others: Sequence[Column]
    datasets: Sequence[str]
    best: bool = False
    least: int = LEAST_RUNS
    limits: bool = True

    def ask(self, results: PaperResults) -> Contrast:
        """Not on data sets on which both sides are the same: SARSA, and a weighted target whose beta is 0 there."""
        if same := [
            name for name in self.datasets if not self.best and not any(self._weights(name, self.others).values())
        ]:
            return replace(self, datasets=[name for name in self.datasets if name not in same]).ask(results)
        there = [name for name in self.datasets if self._has_runs(results, name)]
        found = {name: at_limit(results, name, self.algorithm) for name in there if self.limits}
        limits = {name: limit for name, limit in found.items() if limit}
        used = [name for name in there if name not in limits]
        wanted = [name for name in self.datasets if results.here(name) is not None]
        if not used:
            return Contrast(wanted, used, None, self.of_paper(wanted), limits=limits)
        others = self._against(used, lambda name, method: float(self._scores(results, name, method).mean()))
        sets = dict(self._sides(results, name, others) for name in used)
        measured = results.weighed(self.algorithm, sets)
        across = over_tasks([sum(weight * float(runs.mean()) for weight, runs in sides) for sides in sets.values()])
        level = mean([np.array([self._scores(results, name, method).mean() for method in others]) for name in used])
        return Contrast(
            wanted, used, measured.estimate, self.of_paper(used), measured,
            None if across is None else across.estimate, limits, float(level),
        )  # fmt: skip

    def _against(self, names: Sequence[str], score: Callable[[str, Column], float]) -> Sequence[Column]:
        """All of the others, or the one that scores best over the data sets."""
        if not self.best:
            return self.others
        return [max(self.others, key=lambda method: sum(score(name, method) for name in names))]

    def _scores(self, results: PaperResults, name: str, method: Column) -> Array:
        return results.scores(results.here(name), self.algorithm, method)

    def _sides(
        self, results: PaperResults, name: str, others: Sequence[Column]
    ) -> tuple[str, list[tuple[float, Array]]]:
        """The data set's name here, and how each method's runs on it count."""
        here = results.here(name)
        assert here is not None, "it has runs"
        sides = [
            (sign / len(side), self._scores(results, name, method))
            for side, sign in ((self.ones, 1.0), (others, -1.0))
            for method in side
        ]
        return here, sides

    def _has_runs(self, results: PaperResults, name: str) -> bool:
        methods = (*self.ones, *self.others)
        return all(len(self._scores(results, name, method)) >= self.least for method in methods)

    def of_paper(self, names: Sequence[str]) -> Estimate | None:
        """The same from the paper's means, its interval from its deviations, where it has all the numbers."""
        methods = [method for method in (*self.ones, *self.others) if isinstance(method, str)]
        numbers = {(name, method): printed(self.algorithm, method, name) for name in names for method in methods}
        there: dict[tuple[str, Column], Printed] = {key: number for key, number in numbers.items() if number}
        full = [name for name in names if all((name, each) in there for each in (*self.ones, *self.others))]
        if not full:
            return None
        others = self._against(full, lambda name, method: there[name, method].mean)
        value, parts = 0.0, []
        for name in full:
            for method, weight in self._weights(name, others).items():
                number = there[name, method]
                value += weight * number.mean / len(full)
                parts.append(paper_error(number, weight / len(full)))
        return welch(value, parts).estimate

    def _weights(self, name: str, others: Sequence[Column]) -> dict[Column, float]:
        """How each method counts; what stands on both sides (a weighted target of beta 1 is TR) counts as nothing."""
        weights: dict[Any, tuple[Column, float]] = {}
        for side, sign in ((self.ones, 1.0), (others, -1.0)):
            for method in side:
                key = method_of(method, name) if isinstance(method, str) else method
                known = weights.get(key, (method, 0.0))
                weights[key] = (known[0], known[1] + sign / len(side))
        return dict(weights.values())


def chosen(patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names that match one of the patterns, in their order."""
    return [name for name in names if any(fnmatch(name, pattern) for pattern in patterns)]


def fewer(sets: int, most: int) -> str:
    """Said behind a mean over fewer data sets than others in its table have."""
    return "" if sets == most else f" ({sets})"


def at_limit(results: PaperResults, name: str, algorithm: str) -> str:
    """Floor or ceiling where all methods of the agent are there on this data set; nothing where some is not."""
    return limit_of(results, results.here(name), algorithm)


def limit_of(results: PaperResults, dataset: str | None, algorithm: str, more: Iterable[Array] = ()) -> str:
    """The same of any data set, by its name in the results. more: scores of further methods."""
    means = [float(scores.mean()) for scores in (*results.cells(dataset, algorithm), *more) if len(scores)]
    if not means:
        return ""
    at_ceiling = min(means) >= CEILING and max(means) - min(means) <= FLOOR
    return "floor" if max(means) <= FLOOR else "ceiling" if at_ceiling else ""


def p_value(contrast: Contrast) -> float | None:
    """Of the verdict that the contrast comes nearest to: that `ones` score more, or that they do not by MARGIN."""
    measured = contrast.measured
    if measured is None or contrast.judged is None:
        return None
    more = measured.p() if measured.value > 0 else 1.0
    less = measured.p(MARGIN) if measured.value < MARGIN else 1.0
    return min(more, less)


def verdict(contrast: Contrast, corrected: float | None = None) -> str:
    """holds, fails, undecided, or open where there is not enough to say.

    corrected: the p value of `p_value` after correction for the other questions of the table
    """
    if contrast.judged is None:
        return "open"
    if corrected is not None and corrected > 1 - LEVEL:
        return "undecided"
    return _by_interval(contrast.judged)


def _by_interval(ours: Estimate) -> str:
    if ours.high < MARGIN:
        return "fails"
    return "holds" if ours.low > 0 else "undecided"


def rests_on(question: Question, results: PaperResults, contrast: Contrast, verdict: str) -> list[str]:
    """The data sets without any one of which the interval would not support the verdict."""
    if verdict not in ("holds", "fails"):
        return []
    rest = {name: [other for other in contrast.used if other != name] for name in contrast.used}
    found = {name: replace(question, datasets=others).ask(results).ours for name, others in rest.items() if others}
    return [name for name, ours in found.items() if ours is None or ours.low is None or _by_interval(ours) != verdict]


def effect(contrast: Contrast) -> str:
    """helps, hurts, neither (smaller than MARGIN, either way), undecided, or open where there is not enough to say."""
    ours = contrast.judged
    if ours is None:
        return "open"
    if ours.low > -MARGIN and ours.high < MARGIN:
        return "neither"
    return "helps" if ours.low > 0 else "hurts" if ours.high < 0 else "undecided"


def can_show(contrast: Contrast, verdict: str, *, brief: bool = False) -> str:
    """Whether this data could show the paper's effect, and if not, why. A claim that is decided had enough seeds.

    brief: without half the interval
    """
    ours = contrast.judged
    if ours is None:
        return "no: too few sets with runs"
    reach = (ours.high - ours.low) / 2
    theirs = 0.0 if contrast.paper is None else contrast.paper.value
    if theirs and contrast.level is not None and contrast.level + theirs > 100 and ours.low <= 0:
        return f"no: from {contrast.level:.0f} points there is no room for {theirs:.0f}"
    few = "no: too few seeds" if verdict == "undecided" and reach > max(abs(theirs), MARGIN) else "yes"
    return few if brief else f"{few}, ±{reach:.1f}"


def left_out(contrast: Contrast) -> str:
    left = [f"{count} at the {limit}" for limit, count in Counter(contrast.limits.values()).items()]
    return f"; left out: {', '.join(left)}" if left else ""


def direction(ours: Estimate | None, theirs: Estimate | None) -> str:
    """Whether a difference goes the paper's way, where both are clear of 0."""
    if ours is None:
        return "missing"
    if theirs is None or ours.low is None or _sign(ours) * _sign(theirs) == 0:
        return "unclear"
    return "same" if _sign(ours) == _sign(theirs) else "opposite"


def _sign(estimate: Estimate) -> int:
    return 1 if estimate.low > 0 else -1 if estimate.high < 0 else 0


# In words


def told(estimate: Estimate, form: str) -> str:
    """A figure and its interval."""
    if estimate.low is None:
        return f"{estimate.value:{form}}"
    return f"{estimate.value:{form}} [{estimate.low:{form}}, {estimate.high:{form}}]"


def points(estimate: Estimate | None) -> str:
    """A difference and its interval."""
    return "" if estimate is None else _typeset(told(estimate, "+.1f")).replace(" ", NO_BREAK)


def reach(estimate: Estimate) -> str:
    """The interval alone."""
    return points(estimate).partition(NO_BREAK)[2]


def signed(value: float, form: str = "+.1f") -> str:
    return _typeset(f"{value:{form}}")


def _typeset(text: str) -> str:
    """With signs of the width of a digit; nothing is no less than nothing."""
    return text.replace("-0.0", "+0.0").replace("-", "−")
