"""Evaluations of a group while it is trained: beside the training where both have a place of their own.

One that is played beside it is kept in a file until it is logged, so that nobody has to wait for it: not a checkpoint,
nor whoever stops. A group that is resumed plays what was left.
"""

from __future__ import annotations

import ctypes
import re
import zipfile
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rewind.errors import DataError
from rewind.files import whole_file
from rewind.progress import say
from rewind.training.engine import current_device
from rewind.training.group import Group, finite
from rewind.training.log import Record

LOOK = 0.1  # seconds between two looks whether evaluations are over
PATIENCE = 2.0  # seconds for an evaluation that is abandoned to come out of the simulator
NAME = re.compile(r"evaluation-(\d{12})\.npz")

Figures = dict[str, Any]  # name -> one number per run
Evaluate = Callable[[Group, int], Figures]  # (group, step) -> figures; see also `EvaluateLater`
Order = Mapping[str, NDArray[Any]]  # all that an evaluation needs, wherever and whenever it is played


@runtime_checkable
class EvaluateLater(Protocol):
    """An evaluation that needs no accelerator once it has the policies: training goes on beside it."""

    def __call__(self, group: Group, step: int) -> Figures: ...

    def order(self, group: Group, step: int) -> Order | None:
        """What is needed of the group as it is now; None where this group can only be evaluated at once."""

    def play(self, order: Order) -> Figures:
        """The evaluation itself."""


def can_wait(evaluate: Evaluate | None) -> bool:
    """Whether evaluations are played on the host while an accelerator trains on."""
    return isinstance(evaluate, EvaluateLater) and current_device().platform != "cpu"


class _UnderWay(NamedTuple):
    step: int
    done: Future[Figures]
    kept: Path | None


class Evaluations:
    """Those of one group, in the order of their steps.

    beside: whether they are played while training goes on, see `can_wait`
    folder: where those that are played beside it are kept meanwhile; None: nowhere
    """

    def __init__(self, evaluate: Evaluate | None, beside: bool, folder: Path | None) -> None:
        self._evaluate, self._folder = evaluate, folder
        self._aside = _Aside() if beside else None
        self._under_way: list[_UnderWay] = []

    def begin(self, group: Group) -> None:
        """Evaluate the group as it is now: set it going, or do it at once."""
        assert self._evaluate is not None
        order = None
        if self._aside is not None and isinstance(self._evaluate, EvaluateLater):
            order = self._evaluate.order(group, group.step)
        if order is not None:
            kept = self._keep(group.step, order)
            self._play(group.step, (lambda: order) if kept is None else partial(read_order, kept), kept)
            return
        done: Future[Figures] = Future()
        done.set_result(self._evaluate(group, group.step))
        self._under_way.append(_UnderWay(group.step, done, None))

    def resume(self, step: float, logged: Collection[int]) -> None:
        """Play what an earlier process has left.

        step: that the group is at; what was kept after it comes again
        logged: steps whose evaluations need not be played
        """
        if self._folder is None or not isinstance(self._evaluate, EvaluateLater):
            return
        for own, path in kept_in(self._folder):
            if own > step or own in logged:
                path.unlink()
            else:
                self._play(own, partial(read_order, path), path)

    @property
    def left(self) -> int:
        """How many are not over."""
        return sum(not each.done.done() for each in self._under_way)

    @property
    def unkept(self) -> bool:
        """Whether there is something that is neither kept nor handed out to be logged."""
        return any(each.kept is None for each in self._under_way)

    def log(self, names: Mapping[int, str], write: Callable[[list[Record]], bool], wait: bool = False) -> int:
        """Hand out those that are over; how many are not.

        names: of the group's runs, by their numbers
        write: is given a record of each run; False: they are not written, and stay kept
        wait: until all are over
        """
        while self._under_way and (wait or self._under_way[0].done.done()):
            step, done, kept = self._under_way.pop(0)
            figures = done.result()
            records = [
                {"run": number, "name": name, "step": step} | {key: finite(each[at]) for key, each in figures.items()}
                for at, (number, name) in enumerate(names.items())
            ]
            if write(records) and kept is not None:
                kept.unlink(missing_ok=True)
        return self.left

    def close(self) -> None:
        """Abandon what is not over."""
        if self._aside is not None:
            self._aside.close()

    def _play(self, step: int, order: Callable[[], Order], kept: Path | None) -> None:
        judge: Any = self._evaluate  # an EvaluateLater
        done: Future[Figures] = Future()
        if self._aside is None:
            done.set_result(judge.play(order()))
        else:
            self._aside.play(lambda: judge.play(order()), done)
        self._under_way.append(_UnderWay(step, done, kept))

    def _keep(self, step: int, order: Order) -> Path | None:
        """A full disk must not end the training."""
        if self._folder is None:
            return None
        path = self._folder / f"evaluation-{step:012d}.npz"
        arrays: dict[str, Any] = dict(order)  # Any: NumPy's own types mistake the names
        try:
            with whole_file(path) as temporary:
                np.savez(temporary, **arrays)
        except OSError as error:
            say(f"rewind: the evaluation at step {step:,} cannot be kept in {path}: {error}; training goes on")
            return None
        return path


def kept_in(folder: Path) -> list[tuple[int, Path]]:
    """Evaluations that are still to be played, by their steps."""
    found = ((NAME.fullmatch(path.name), path) for path in folder.glob("evaluation-*.npz"))
    return sorted((int(match[1]), path) for match, path in found if match)


def read_order(path: Path) -> Order:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path}, an evaluation that is still to be played, is damaged: {error}; bring it again from where it was "
            "made, or remove it to go on without this evaluation"
        ) from error


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
        ident = self._thread.ident
        if ident is None or not self._thread.is_alive():
            return
        thread, stop = ctypes.c_ulong(ident), ctypes.py_object(_Abandoned)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, stop)
        self._orders.put((dict, Future()))  # wakes it where it waits
        self._thread.join(PATIENCE)

    def _work(self) -> None:
        with suppress(_Abandoned):
            while True:
                evaluation, done = self._orders.get()
                try:
                    done.set_result(evaluation())
                except _Abandoned:  # it is not over
                    raise
                except BaseException as error:
                    done.set_exception(error)
