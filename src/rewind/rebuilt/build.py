"""Data sets are made once, and kept.

In the cache folder (`rewind.data.originals.cache_folder`), for a data set whose file is F:

    F            the data, as `save_npz` writes it, under this name only when complete; its digest is in its notes
    .F.chunks/   chunks of a build that is under way or was stopped; the same build goes on from them
    .F.lock      held while a process builds
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from rewind.data import Trajectories, load_npz, save_npz
from rewind.errors import CacheError, DataError, RewindError, UsageError
from rewind.files import only_one, write_json
from rewind.processes import Answer, Processes, available_cores
from rewind.progress import steps_bar
from rewind.rebuilt.collect import Episodes, join, to_trajectories
from rewind.rebuilt.orders import Order, PartOrder, find_built, make_order
from rewind.rebuilt.recipes import GIVEN, find_recipe
from rewind.rebuilt.worker import Job, load_chunk

VERSIONS = "versions.json"


def build(name: str, *, threads: int | None = None, force: bool = False, progress: bool = True, **order: Any) -> Path:
    """The file of a rebuilt data set; made if it is not there.

    threads: processes that play; default: as many as there are cores. The data does not depend on it
    force: make it again
    order: size, seed, policy, keep_going: see `make_order`
    """
    wanted = make_order(name, **order)
    if threads is not None and threads < 1:
        raise UsageError(f"threads is {threads}; expected at least 1")
    path = wanted.path
    if path.is_file() and not force:
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with only_one(path):
            if force or not path.is_file():  # another process may have been faster
                _make(wanted, path, threads or available_cores(), force, progress)
    except RewindError:
        raise
    except OSError as error:
        raise CacheError(
            f"{name} cannot be kept in {path.parent}: {error.strerror or error}; "
            "set $REWIND_DATA to a folder that can be written and has room"
        ) from error
    return path


def load_rebuilt(name: str) -> Trajectories:
    """A rebuilt data set at its full size, from seed 0; built if it is not there.

    One that is made from a user's policy must be there: which policy is meant, only its builder knows.
    """
    recipe = find_recipe(name)
    if recipe.policies != (GIVEN,):
        return read_built(build(name))
    there = find_built(name)
    if len(there) == 1:
        return read_built(there[0])
    if there:
        raise UsageError(f"{name} was built from several policies; give the file: {', '.join(map(str, there))}")
    raise UsageError(f"{name} is made from a policy of yours: rewind data build {name} --policy FILE")


def read_built(path: Path) -> Trajectories:
    """A built data set, if it is still what was built."""
    try:
        data = load_npz(path)
    except DataError as error:
        raise DataError(f"{error}; {_again(path)}") from error
    if "digest" not in data.notes:
        raise DataError(f"{path} is not what was built: nothing is recorded of its arrays; {_again(path)}")
    return data


def _again(path: Path) -> str:
    return f"delete {path.name} and build it again (rewind data build)"


def _make(order: Order, path: Path, threads: int, force: bool, progress: bool) -> None:
    """Play, put together, write; what was played is kept for another try, unless the disk is full."""
    chunks = path.with_name(f".{path.name}.chunks")
    if force or not _made_by_these(chunks):
        shutil.rmtree(chunks, ignore_errors=True)
        chunks.mkdir()
        write_json(chunks / VERSIONS, versions())
    size = order.recipe.size
    by = f"{threads} process{'es' if threads > 1 else ''}"
    print(f"building {order.recipe.name}: {size:,} transitions, {by}, to {path}", file=sys.stderr)
    bar = steps_bar(order.recipe.name, size, 0, progress)
    keep = False
    try:
        with Processes("rewind.rebuilt.worker", threads, chunks) as workers:
            episodes = _collect(order, workers, chunks, bar)
        save_npz(_finished(order, episodes), path)
    except (KeyboardInterrupt, RewindError):
        kept = len(list(chunks.glob("0*.npz")))
        keep = kept > 0
        if keep:
            bar.write(f"{kept} chunks are kept in {chunks}: the same command goes on from there")
        raise
    finally:
        bar.close()
        if not keep:
            shutil.rmtree(chunks, ignore_errors=True)


def _finished(order: Order, episodes: Episodes) -> Trajectories:
    """The data set, with how it was made and its digest in its notes."""
    made = {**order.notes(), "episodes": len(episodes.lengths), "versions": versions()}
    if order.recipe.maze is not None and order.recipe.maze.stop:
        made["reached_own_goal"] = float(episodes.terminated.mean())
    data = to_trajectories(episodes, order.recipe, {"environment": order.recipe.environment, "made": made})
    return replace(data, notes={**data.notes, "digest": data.digest})


def _made_by_these(chunks: Path) -> bool:
    """Whether kept chunks may be gone on from: other versions may round otherwise."""
    try:
        return bool(json.loads((chunks / VERSIONS).read_text()) == versions())
    except (FileNotFoundError, ValueError):
        return False


class _Part:
    """How far one policy's share is."""

    def __init__(self, index: int, order: PartOrder, guess: int) -> None:
        self.index, self.order = index, order
        self.asked = 0  # chunks
        self.rows: dict[int, int] = {}  # of each chunk that is there
        self._guess = guess  # rows of a chunk, while none is there

    @property
    def chunks(self) -> int | None:
        """How many chunks, from the first without a gap, hold the whole share; None while they do not."""
        total = 0
        for chunk in range(self.asked + 1):
            if total >= self.order.size:
                return chunk
            if chunk not in self.rows:
                return None
            total += self.rows[chunk]
        return None

    @property
    def hungry(self) -> bool:
        """Whether what was asked for will probably not do."""
        here = sum(self.rows.values())
        each = here / len(self.rows) if self.rows else self._guess
        return here + (self.asked - len(self.rows)) * each < self.order.size


def _collect(order: Order, workers: Processes, folder: Path, bar: Any) -> Episodes:
    """Play until every policy has its share. Which chunks count is decided by their numbers, not by who is first."""
    recipe = order.recipe
    parts = [_Part(index, part, recipe.width * recipe.horizon) for index, part in enumerate(order.parts)]
    running: dict[Future[Answer], tuple[_Part, int]] = {}
    while any(part.chunks is None for part in parts):
        for part in parts:
            while part.hungry and len(running) < workers.count:
                running[_ask(order, part, workers, folder)] = (part, part.asked)
                part.asked += 1
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            part, chunk = running.pop(future)
            part.rows[chunk] = int(future.result()["rows"])
            bar.update(min(part.rows[chunk], max(0, recipe.size - bar.n)))
    return join(_share(part, folder) for part in parts if part.order.size)


def _file(folder: Path, part: int, chunk: int) -> Path:
    return folder / f"{part:03}-{chunk:06}.npz"


def _ask(order: Order, part: _Part, workers: Processes, folder: Path) -> Future[Answer]:
    path = _file(folder, part.index, part.asked)
    if (kept := load_chunk(path)) is not None:  # of a build that was stopped
        done: Future[Answer] = Future()
        done.set_result({"rows": np.array(kept.rows)})
        return done
    policy = None if part.order.path is None else str(part.order.path)
    return workers.submit(Job(order.recipe, order.seed, part.index, part.asked, policy, str(path)).message())


def _share(part: _Part, folder: Path) -> Episodes:
    paths = [_file(folder, part.index, chunk) for chunk in range(part.chunks or 0)]
    chunks = [load_chunk(path) for path in paths]
    for path, chunk in zip(paths, chunks, strict=True):
        if chunk is None:
            raise DataError(f"{path} disappeared while the data was put together; give the same command again")
    return join(chunk for chunk in chunks if chunk is not None).cut(part.order.size)


def versions() -> dict[str, str]:
    """What the bits depend on, besides the recipe and the seed."""
    found = {"python": platform.python_version(), "machine": processor()}
    for package in ("rewind-rl", "numpy", "mujoco", "gymnasium", "gymnasium-robotics"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """The name of the processor."""
    if os.path.exists("/proc/cpuinfo"):  # noqa: PTH110
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
