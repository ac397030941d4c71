"""Evaluations of a group while it is trained: beside the training where both have a place of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, runtime_checkable

import jax

from rewind.training.engine import current_device
from rewind.training.group import Group

Figures = dict[str, Any]  # name -> one number per run
Evaluate = Callable[[Group, int], Figures]  # (group, step) -> figures; what also has `later` may work meanwhile


@runtime_checkable
class EvaluateLater(Protocol):
    """An evaluation that needs no accelerator once it has the policies: training goes on beside it."""

    def __call__(self, group: Group, step: int) -> Figures: ...

    def later(self, group: Group, step: int) -> Callable[[], Figures]:
        """Take what is needed of the group as it is now; the evaluation itself is what is returned."""


def can_wait(evaluate: Evaluate | None) -> bool:
    """Whether evaluations are played on the host while an accelerator trains on."""
    if not isinstance(evaluate, EvaluateLater) or current_device().platform == "cpu":
        return False
    try:
        jax.devices("cpu")
    except RuntimeError:
        here = os.environ.get("JAX_PLATFORMS", "cuda")
        print(
            "rewind: training waits for evaluations, since JAX has no CPU to play them on meanwhile: "
            f"set JAX_PLATFORMS={here},cpu or leave it unset",
            file=sys.stderr,
        )
        return False
    return True


class Evaluations:
    """Those of one group, in the order of their steps.

    beside: whether they are played while training goes on, see `can_wait`
    """

    def __init__(self, evaluate: Evaluate | None, beside: bool) -> None:
        self._evaluate, self._beside = evaluate, beside
        self._aside = ThreadPoolExecutor(1, "evaluation")
        self._under_way: list[tuple[int, Future[Figures]]] = []  # steps, and what will come

    def begin(self, group: Group) -> None:
        """Evaluate the group as it is now: set it going, or do it at once."""
        assert self._evaluate is not None
        done: Future[Figures] = Future()
        if self._beside and isinstance(self._evaluate, EvaluateLater):
            done = self._aside.submit(self._evaluate.later(group, group.step))
        else:
            done.set_result(self._evaluate(group, group.step))
        self._under_way.append((group.step, done))

    def finished(self, wait: bool) -> Iterator[tuple[int, Figures]]:
        """Steps and figures of those that are over; wait: until all are."""
        while self._under_way and (wait or self._under_way[0][1].done()):
            step, done = self._under_way[0]
            figures = done.result()
            del self._under_way[0]
            yield step, figures

    def close(self) -> None:
        self._aside.shutdown(wait=False, cancel_futures=True)
