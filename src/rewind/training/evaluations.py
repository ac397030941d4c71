"""Evaluations of a group while it is trained: now, later or elsewhere.

Training imports no evaluation: it is handed a `GroupEvaluator`, which makes a `Request` when an evaluation is due. One
that is bound to the group is evaluated now, while training waits. A portable one is arrays alone: it is kept in a file,
and evaluated later by a thread beside the training, or elsewhere by whoever has the folder. So nobody has to wait for
it: not a checkpoint, nor whoever stops; a group that is resumed evaluates what was left.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, Protocol

import numpy as np

from rewind.arrays import Array
from rewind.errors import Abandoned, DataError, UsageError
from rewind.files import read_npz, short_digest, whole_file
from rewind.progress import say
from rewind.training.group import Group

PATIENCE = 2.0  # seconds for an evaluation that is abandoned to come out of the simulator
DIGEST = "digest"  # in the file of a request: of its other arrays

Figures = dict[str, Any]  # name -> one number per run
Evaluate = Callable[[Group, int], Figures]  # (group, step) -> figures


@dataclass(frozen=True)
class Request:
    """What an evaluation needs of a group as it is at a step.

    group: where only the group itself will do, and only until it is trained further
    arrays: otherwise, all that is needed
    """

    step: int
    group: Group | None = None
    arrays: Mapping[str, Array] = field(default_factory=dict)

    @property
    def portable(self) -> bool:
        """Whether it can wait, in a file too, and be evaluated in another process or on another machine."""
        return self.group is None


class GroupEvaluator(Protocol):
    """What evaluates groups; see `rewind.evaluation.scoring`."""

    def request(self, group: Group, step: int) -> Request:
        """What is needed of the group as it is now."""

    def evaluate(self, request: Request, stop: Callable[[], bool]) -> Figures:
        """The evaluation itself. Where `stop` says so, nobody waits for it any more: it raises `Abandoned` soon."""


class InPlace:
    """A function of a group and a step as an evaluator; training waits for it."""

    def __init__(self, function: Evaluate) -> None:
        self.function = function

    def request(self, group: Group, step: int) -> Request:
        return Request(step, group)

    def evaluate(self, request: Request, stop: Callable[[], bool]) -> Figures:
        if request.group is None:
            raise UsageError(f"the evaluation of step {request.step:,} needs the evaluator that requested it")
        return self.function(request.group, request.step)


def as_evaluator(evaluate: Any) -> GroupEvaluator | None:
    """An evaluator as it is; a function in place."""
    return InPlace(evaluate) if callable(evaluate) else evaluate


def keep_request(folder: Path, request: Request) -> Path | None:
    """The file of a request; None where it cannot be written: a full disk must not end the training."""
    path = folder / f"evaluation-{request.step:012d}.npz"
    arrays: dict[str, Any] = {**request.arrays, DIGEST: short_digest(request.arrays)}
    try:
        with whole_file(path) as temporary:
            np.savez(temporary, **arrays)
    except OSError as error:
        say(f"rewind: the evaluation at step {request.step:,} cannot be kept in {path}: {error}; training continues")
        return None
    return path


def kept_in(folder: Path) -> list[tuple[int, Path]]:
    """Requests that are still to be evaluated, by their steps."""
    return sorted((int(path.stem[-12:]), path) for path in folder.glob(f"evaluation-{'[0-9]' * 12}.npz"))


def read_request(step: int, path: Path) -> Request:
    try:
        arrays = read_npz(path)
        digest = arrays.pop(DIGEST, None)  # the first edition wrote none
        if digest is not None and str(digest) != short_digest(arrays):
            raise DataError("its digest does not fit its content")
    except DataError as error:
        raise DataError(
            f"{path}, an evaluation that is still to be done, is damaged: {error}; copy it again from where it was "
            "made, or remove it to continue without this evaluation"
        ) from error
    return Request(step, arrays=arrays)


class EvaluationThread:
    """A thread that evaluates, one request after another.

    Python waits at its end for the threads of a pool, whatever they do. This one is asked to stop, and not waited for
    where it does not.
    """

    def __init__(self) -> None:
        self._tasks: SimpleQueue[tuple[Callable[[], Figures], Future[Figures]]] = SimpleQueue()
        self._stop = Event()
        self._thread = Thread(target=self._work, name="evaluation", daemon=True)

    def submit(self, evaluator: GroupEvaluator, read: Callable[[], Request]) -> Future[Figures]:
        """Read a request when its turn comes, and evaluate it."""
        done: Future[Figures] = Future()
        self._tasks.put((lambda: evaluator.evaluate(read(), self._stop.is_set), done))
        if self._thread.ident is None:
            self._thread.start()
        return done

    def close(self) -> None:
        """Abandon what is not over."""
        self._stop.set()
        self._tasks.put((dict, Future()))  # wakes it where it waits
        if self._thread.ident is not None:
            self._thread.join(PATIENCE)

    def _work(self) -> None:
        while not self._stop.is_set():
            task, done = self._tasks.get()
            try:
                done.set_result(task())
            except Abandoned:
                return
            except BaseException as error:
                done.set_exception(error)
