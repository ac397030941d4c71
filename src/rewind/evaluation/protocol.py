"""How the paper reports: the mean of the last five evaluations, of ten episodes each. Last and best stand beside it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rewind.arrays import Array
from rewind.errors import UsageError
from rewind.evaluation.evaluate import Evaluation

LAST, EVERY, EPISODES = 5, 1000, 10


@dataclass(frozen=True)
class Curve:
    """Figures against the steps they were taken at; NaN where a run gave no number.

    steps: (evaluations,)
    values: (evaluations,), or (evaluations, runs) with figures of (runs,)
    """

    steps: Array
    values: Array

    @property
    def score(self) -> Array:
        """The paper's: the mean of five at the end, 1000 steps apart, whatever was taken between them."""
        score: Array = self.values[self._scored].mean(axis=0)
        return score

    @property
    def evaluations(self) -> int:
        """How many `score` is the mean of; fewer than five in a short training."""
        return int(self._scored.sum())

    @property
    def _scored(self) -> Array:
        return np.isin(self.steps, scored_steps(int(self.steps[-1])))

    @property
    def mean(self) -> Array:
        """Over the steps, from the first figure to the last: who learns sooner has more."""
        if len(self.steps) < 2:
            return self.last
        areas: Array = ((self.values[1:] + self.values[:-1]) / 2).T * np.diff(self.steps)
        return np.asarray(areas.sum(axis=-1) / (self.steps[-1] - self.steps[0]))[()]

    @property
    def last(self) -> Array:
        """Of the last evaluation."""
        last: Array = self.values[-1]
        return last

    @property
    def best(self) -> Array:
        """Of the best evaluation: nobody without a simulator could have chosen it."""
        best: Array = np.fmax.reduce(self.values)
        return best


def paper_score(evaluations: Sequence[Evaluation]) -> Curve:
    """The scores of a training, from its evaluations 1000 steps apart: `score`, `last` and `best` of each run."""
    if not evaluations:
        raise UsageError("no evaluations: there is nothing to average")
    steps = EVERY * np.arange(1, len(evaluations) + 1)
    return Curve(steps, np.stack([evaluation.score for evaluation in evaluations]))


def scored_steps(steps: int) -> list[int]:
    """The evaluations that make the score: the paper's last five, 1000 updates apart; a short training has fewer."""
    return [step for step in range(steps - EVERY * (LAST - 1), steps + 1, EVERY) if step > 0]


def evaluation_steps(steps: int, coarse: int) -> list[int]:
    """After which updates to evaluate: every `coarse` for the curve, and those that make the score."""
    return sorted({*range(coarse, steps + 1, coarse), *scored_steps(steps)})
