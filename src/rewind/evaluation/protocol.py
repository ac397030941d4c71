"""How the paper reports: the mean of the last five evaluations, of ten episodes each. Last and best stand beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rewind.arrays import Array
from rewind.errors import UsageError
from rewind.evaluation.evaluate import Evaluation

LAST, EVERY, EPISODES = 5, 1000, 10


class PaperScore(NamedTuple):
    """(runs,) each."""

    score: Array  # mean over the episodes of the last evaluations
    last: Array  # of the last evaluation
    best: Array  # of the best evaluation: nobody without a simulator could have chosen it
    evaluations: int  # how many `score` is the mean of; fewer than five in a short training


def paper_score(evaluations: Sequence[Evaluation]) -> PaperScore:
    """The scores of a training, from its evaluations in order."""
    if not evaluations:
        raise UsageError("no evaluations: there is nothing to average")
    scores = np.stack([evaluation.score for evaluation in evaluations])  # (evaluations, runs)
    tail = scores[-LAST:]
    return PaperScore(tail.mean(axis=0), scores[-1], scores.max(axis=0), len(tail))


def scored_steps(steps: int) -> list[int]:
    """The evaluations that make the score: the paper's last five, 1000 updates apart; a short training has fewer."""
    return [step for step in range(steps - EVERY * (LAST - 1), steps + 1, EVERY) if step > 0]


def evaluation_steps(steps: int, coarse: int) -> list[int]:
    """After which updates to evaluate: every `coarse` for the curve, and those that make the score."""
    return sorted({*range(coarse, steps + 1, coarse), *scored_steps(steps)})
