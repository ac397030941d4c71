"""Evaluations of a group while it is trained: beside the training where both have a place of their own."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol, runtime_checkable

from rewind.training.engine import current_device
from rewind.training.group import Group

PATIENCE = 2.0  # seconds for an evaluation that is abandoned to come out of the simulator

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
    return isinstance(evaluate, EvaluateLater) and current_device().platform != "cpu"


class Evaluations:
    """Those of one group, in the order of their steps.

    beside: whether they are played while training goes on, see `can_wait`
    """

    def __init__(self, evaluate: Evaluate | None, beside: bool) -> None:
        self._evaluate = evaluate
        self._aside = _Aside() if beside else None
        self._under_way: list[tuple[int, Future[Figures]]] = []  # steps, and what will come

    def begin(self, group: Group) -> None:
        """Evaluate the group as it is now: set it going, or do it at once."""
        assert self._evaluate is not None
        done: Future[Figures] = Future()
        if self._aside is not None and isinstance(self._evaluate, EvaluateLater):
            self._aside.play(self._evaluate.later(group, group.step), done)
        else:
            done.set_result(self._evaluate(group, group.step))
        self._under_way.append((group.step, done))

    @property
    def under_way(self) -> bool:
        return any(not done.done() for _, done in self._under_way)

    def finished(self, wait: bool) -> Iterator[tuple[int, Figures]]:
        """Steps and figures of those that are over; wait: until all are."""
        while self._under_way and (wait or self._under_way[0][1].done()):
            step, done = self._under_way.pop(0)
            yield step, done.result()

    def close(self) -> None:
        """Abandon what is not over."""
        if self._aside is not None:
            self._aside.close()


class _Abandoned(BaseException):
    """Raised in an evaluation that nobody waits for any more."""


class _Aside:
    """A thread that plays evaluations, one after another.

    Python waits at its end for the threads of a pool, whatever they do. This one is told to stop wherever it is in
    Python code, and not waited for where it is not.
    """

    def __init__(self) -> None:
        self._orders: SimpleQueue[tuple[Callable[[], Figures], Future[Figures]]] = SimpleQueue()
        self._thread = Thread(target=self._work, name="evaluation", daemon=True)

    def play(self, evaluation: Callable[[], Figures], done: Future[Figures]) -> None:
        self._orders.put((evaluation, done))
        if self._thread.ident is None:
            self._thread.start()

    def close(self) -> None:
        if self._thread.ident is None:
            return
        thread, stop = ctypes.c_ulong(self._thread.ident), ctypes.py_object(_Abandoned)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, stop)
        self._orders.put((dict, Future()))  # wakes it where it waits
        self._thread.join(PATIENCE)

    def _work(self) -> None:
        with suppress(_Abandoned):
            while True:
                evaluation, done = self._orders.get()
                try:
                    done.set_result(evaluation())
                except Exception as error:
                    done.set_exception(error)
