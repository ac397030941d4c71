"""The walk of a transition: which files of ours it passes between `rewind train --dataset x.hdf5` and an update.

A file is passed when one of its functions receives row data: an argument (`self` included) that is a floating-point
array with as many rows as the data or a batch, or that holds such an array in a field or an item. A plan holds row
numbers, not row data. Nothing else has the lengths chosen here for the data and the batch. Numba is off, so that every
call is seen.
"""

import inspect
import os
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from rewind.cli.main import OWN, main
from rewind.errors import RewindError, require
from rewind_lab.house.rooms import module_of, room_of

LENGTHS = [*range(5, 45), 61]  # of the trajectories
ROWS, BATCH = sum(LENGTHS), 37
TRAINING = f"--steps 20 --log-every 20 --batch-size {BATCH} --hidden 16 16 --env none --device cpu".split()
WALK = "the walk:\n"


class Step(NamedTuple):
    """The first entry of row data into a file."""

    module: str
    function: str
    argument: str

    @property
    def floor(self) -> int:
        room = room_of(self.module)
        return 0 if room is None else room.floor


def walk(arguments: list[str]) -> list[Step]:
    """Begin a small training in a process of its own; the files passed until the update, in order of first entry.

    arguments: of `rewind train`, beyond the data and the sizes
    """
    environment = {**os.environ, "REWIND_NUMBA": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.hdf5"
        _write_data(path)
        train = ["train", "--dataset", str(path), "--out", str(path.with_suffix("")), *TRAINING, *arguments]
        command = [sys.executable, "-P", "-m", "rewind_lab.house.walk", *train]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode or WALK not in done.stdout:
        raise RewindError(f"the training failed before its first update: {done.stderr.strip()}")
    return [Step(*line.split()) for line in done.stdout.split(WALK)[1].splitlines()]


def _write_data(path: Path) -> None:
    random = np.random.default_rng(0)
    observations = random.standard_normal((ROWS, 11), np.float32)
    ends = np.zeros(ROWS, bool)
    ends[np.cumsum(LENGTHS) - 1] = True
    with require("h5py", "hdf5").File(path, "w") as file:
        file["observations"] = observations
        file["actions"] = np.tanh(random.standard_normal((ROWS, 3), np.float32))
        file["rewards"] = random.standard_normal(ROWS, np.float32)
        file["terminals"] = ends & (np.arange(ROWS) % 2 == 0)
        file["timeouts"] = ends
        file["next_observations"] = np.where(ends[:, None], observations + 1, np.roll(observations, -1, axis=0))


def _follow(arguments: list[str]) -> None:
    """Run a command, note first entries in all threads; print them, and end, when an agent's `update` returns."""
    steps: dict[str, Step] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        module = _module(code.co_filename) if event in ("call", "return") else None
        if module is None:
            return
        if event == "return" and code.co_name == "update" and module.startswith("rewind.agents."):
            print(WALK + "\n".join(" ".join(step) for step in steps.values()), flush=True)
            os._exit(0)
        if event == "call" and module not in steps:
            starred = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
            arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + starred]
            argument = next((name for name in arguments if is_row_data(frame.f_locals.get(name))), None)
            if argument is not None:
                steps[module] = Step(module, code.co_name.strip("<>"), argument)

    threading.setprofile(watch)
    sys.setprofile(watch)
    main(arguments, OWN)


@cache
def _module(path: str) -> str | None:
    module = module_of(path)
    return None if module is None or module.startswith("rewind_lab.house") else module


def is_row_data(value: Any) -> bool:
    """Whether it is an array of rows, or holds one."""
    if _is_rows(value):
        return True
    if isinstance(value, dict) or type(value).__module__.startswith("h5py."):  # an open file is a mapping
        return any(map(_is_rows, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_is_rows, value))
    return any(map(_is_rows, getattr(value, "__dict__", {}).values()))


def _is_rows(value: Any) -> bool:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    is_float = getattr(dtype, "kind", "") == "f"
    return is_float and isinstance(shape, tuple) and any(length in (ROWS, BATCH) for length in shape)


if __name__ == "__main__":
    _follow(sys.argv[1:])
