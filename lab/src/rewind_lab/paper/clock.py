"""Time: a budget that ends, and what a group has taken of it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rewind.errors import UsageError
from rewind.files import read_json, write_json

if TYPE_CHECKING:  # telling the time needs no JAX
    from rewind.training.evaluations import Figures, GroupEvaluator, Request
    from rewind.training.group import Group

UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
SAVING = 10.0  # seconds kept for the checkpoint and the way out


def parse_duration(text: str) -> float:
    """Seconds of '9m', '1h30m', '540s' or '540'."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([hms]?)", text)
    whole = "".join(number + unit for number, unit in parts) == text and (len(parts) == 1 or all(u for _, u in parts))
    if not parts or not whole:
        raise UsageError(f"a time of {text!r}: expected something like 9m, 1h30m or 540s")
    seconds = sum(float(number) * UNITS[unit or "s"] for number, unit in parts)
    if seconds <= 0:
        raise UsageError(f"a time of {text!r}: expected more than nothing")
    return seconds


class Deadline:
    """When to stop. The time of what must still happen then, an evaluation and a checkpoint, is kept free before it.

    evaluation: seconds that training waits for one; none where it runs beside training
    """

    def __init__(self, seconds: float = float("inf")) -> None:
        self._end = time.monotonic() + seconds
        self._saving = min(SAVING, seconds / 20)
        self.evaluation = 0.0
        self.passed = False

    @property
    def left(self) -> float:
        """Seconds of work."""
        return self._end - self._saving - time.monotonic()

    def over(self) -> bool:
        self.passed = self.left <= self.evaluation
        return self.passed


def until(budget: str | None) -> Deadline:
    """The deadline of a budget such as 9m; without one, never."""
    return Deadline() if budget is None else Deadline(parse_duration(budget))


class Clock:
    """What a group takes until its last update, over all processes that work on it; kept in its folder.

    It is an evaluator, which hands everything on to another one and notes the time.

    What a group has trained between two evaluations, and how long that took, is noted where evaluations begin. Where
    they run beside the training, they take none of it; where training waits, their time is taken off. The first one
    waits for everything before it, compilation too, and is left out.
    """

    def __init__(self, folder: Path, evaluator: GroupEvaluator, deadline: Deadline) -> None:
        self._path, self._evaluator, self._deadline = folder / "clock.json", evaluator, deadline
        saved = read_json(self._path) if self._path.exists() else {}
        self._spent, self._seconds, self._steps = (saved.get(name, 0) for name in ("spent", "seconds", "steps"))
        self._begin: float | None = time.monotonic()  # None: over
        self._before = self._spent
        self._last: tuple[int, float] | None = None  # step of the evaluation before, and when training continued
        self._longest = 0.0  # evaluation that training waited for

    def request(self, group: Group, step: int) -> Request:
        request = self._evaluator.request(group, step)
        np.asarray(group.engine.alive)  # waits until the device is so far, not just its orders
        if self._last is not None:
            self._steps += step - self._last[0]
            self._seconds += time.monotonic() - self._last[1]
        self._last = (step, time.monotonic())
        self.save()
        return request

    def evaluate(self, request: Request, stop: Callable[[], bool]) -> Figures:
        figures = self._evaluator.evaluate(request, stop)
        if not request.portable:  # training has waited
            assert self._last is not None
            now = time.monotonic()
            self._longest = self._deadline.evaluation = max(self._longest, now - self._last[1])
            self._last = (request.step, now)
            self.save()
        return figures

    @property
    def spent(self) -> float:
        """Seconds in all so far; of a process that was killed, those until its last evaluation."""
        return float(self._spent + (0.0 if self._begin is None else time.monotonic() - self._begin))

    @property
    def here(self) -> float:
        """Seconds in this process."""
        return self.spent - float(self._before)

    def seconds_per_update(self, runs: int) -> float | None:
        """Of training, for each of the runs; None where there were no two evaluations in one process."""
        return self._seconds / self._steps / runs if self._steps else None

    def save(self) -> None:
        figures = {"spent": self.spent, "seconds": self._seconds, "steps": self._steps, "process": os.getpid()}
        write_json(self._path, figures)

    def close(self) -> None:
        self._spent, self._begin = self.spent, None
        self.save()
