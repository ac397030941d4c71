"""Build the rebuilt data sets, once, into the cache folder.

In the cache folder (`rewind.data.originals.cache_folder`), for a data set whose file is F:

    F            the complete data, written by `save_npz`, with its digest in its notes
    .F.chunks/   the chunks of an unfinished build, from which the same build resumes
    .F.lock      held while a process builds
"""

import json
import platform
import re
import shutil
import sys
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from rewind.data import Trajectories, load_npz, save_npz
from rewind.data.ogbench import REBUILT, load_ogbench
from rewind.errors import CacheError, DataError, RewindError, UsageError
from rewind.files import Npz, only_one, write_json
from rewind.processes import Answer, Processes, available_cores
from rewind.progress import steps_bar
from rewind.rebuilt.collect import FIELDS, Episodes, join, to_trajectories, with_goal
from rewind.rebuilt.oracles import write_oracles
from rewind.rebuilt.orders import Order, PartOrder, find_built, make_order
from rewind.rebuilt.recipes import GIVEN, ORACLE, find_recipe, is_rebuilt, later_version
from rewind.rebuilt.worker import Job, load_chunk

VERSIONS = "versions.json"


def build(name: str, *, threads: int | None = None, force: bool = False, progress: bool = True, **order: Any) -> Path:
    """The file of a rebuilt data set, built if it does not exist.

    threads: number of processes, default: one for each core. The data does not depend on it
    force: build it again
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
            f"{name} cannot be written to {path.parent}: {error.strerror or error}; "
            "set $REWIND_DATA to a writable folder with enough space"
        ) from error
    return path


def load_rebuilt(name: str) -> Trajectories:
    """A rebuilt data set of full size and seed 0, built if it does not exist.

    A data set of a user's policy must have been built before, since the policy is unknown here.
    """
    recipe = find_recipe(name)
    if recipe.policies != (GIVEN,):
        return read_built(build(name), name)
    paths = find_built(name)
    if len(paths) == 1:
        return read_built(paths[0])
    if paths:
        raise UsageError(f"{name} was built from several policies; name the file: {', '.join(map(str, paths))}")
    raise UsageError(
        f"{name} is made from a policy of yours: rewind data build {name} --policy FILE; "
        f"{later_version(name)} needs none"
    )


def read_built(path: Path, name: str | None = None) -> Trajectories:
    """A built data set. Raises an error if the file was altered.

    name: with a task, where the file has several
    """
    try:
        data = load_ogbench(Npz(path), name) if name is not None and name.startswith(REBUILT) else load_npz(path)
    except DataError as error:
        raise DataError(f"{error}; {_again(path)}") from error
    if "digest" not in data.notes:
        raise DataError(f"{path} is not a rebuilt data set: it has no digest; {_again(path)}")
    return data


def _again(path: Path) -> str:
    return f"delete {path.name} and build it again (rewind data build)"


def _make(order: Order, path: Path, threads: int, force: bool, progress: bool) -> None:
    """Play chunks, join them, write the file. After an interruption, the chunks are kept, unless the disk is full."""
    chunks = path.with_name(f".{path.name}.chunks")
    try:  # other versions may round differently
        usable = not force and json.loads((chunks / VERSIONS).read_text()) == versions()
    except (FileNotFoundError, ValueError):
        usable = False
    if not usable:
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
        _write(order, episodes, path)
    except (KeyboardInterrupt, RewindError):
        kept = len(list(chunks.glob("0*.npz")))
        keep = kept > 0
        if keep:
            bar.write(f"{kept} chunks are kept in {chunks}: the same command resumes from there")
        raise
    finally:
        bar.close()
        if not keep:
            shutil.rmtree(chunks, ignore_errors=True)


def _write(order: Order, episodes: Episodes, path: Path) -> None:
    """Write the data set, with its digest and how it was made in its notes."""
    order, maze = replace(order, recipe=with_goal(order.recipe, order.seed)), order.recipe.maze
    made = {**order.notes(), "episodes": len(episodes.lengths), "versions": versions()}
    if maze is not None and maze.stop is True:
        made["reached_own_goal"] = float(episodes.terminated.mean())
    if order.recipe.policies == (ORACLE,):
        write_oracles(episodes, order.recipe, {"made": made}, path)
        return
    data = to_trajectories(episodes, order.recipe, {"environment": order.recipe.environment, "made": made})
    save_npz(replace(data, notes={**data.notes, "digest": data.digest}), path)


class Share:
    """The progress of what one policy contributes: chunks count in the order of their numbers."""

    def __init__(self, index: int, order: PartOrder, guess: int) -> None:
        self.index, self.order = index, order
        self.asked = 0  # chunks
        self.rows: dict[int, int] = {}  # of each finished chunk
        self._guess = guess  # rows of a chunk, until one is finished

    @property
    def chunks(self) -> int | None:
        """The number of consecutive finished chunks that contain the whole share; None until there are enough."""
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
        """Whether the requested chunks are probably not enough."""
        done = sum(self.rows.values())
        per_chunk = done / len(self.rows) if self.rows else self._guess
        return done + (self.asked - len(self.rows)) * per_chunk < self.order.size


def _collect(order: Order, workers: Processes, folder: Path, bar: Any) -> Episodes:
    """Play until every policy has its share. Chunks count in the order of their numbers, not of their completion."""
    recipe = order.recipe
    shares = [Share(index, part, recipe.width * recipe.horizon) for index, part in enumerate(order.parts)]
    parts = [share for share in shares if not is_rebuilt(share.order.name)]
    running: dict[Future[Answer], tuple[Share, int]] = {}
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
    episodes = [
        _share(one, folder) if one in parts else _repeated(one.order, order.seed) for one in shares if one.order.size
    ]
    return join(episodes)


def _repeated(part: PartOrder, seed: int) -> Episodes:
    """The episodes of a data set, again and again."""
    data = read_built(build(part.name, seed=seed))
    columns = {name: getattr(data, name) for name in FIELDS if name != "finals"} | {"finals": data.final_observations}
    once = Episodes(**columns)
    return join([once] * -(-part.size // once.rows)).cut(part.size)


def _file(folder: Path, part: int, chunk: int) -> Path:
    return folder / f"{part:03}-{chunk:06}.npz"


def _ask(order: Order, part: Share, workers: Processes, folder: Path) -> Future[Answer]:
    path = _file(folder, part.index, part.asked)
    if (kept := load_chunk(path)) is not None:  # of a build that was stopped
        done: Future[Answer] = Future()
        done.set_result({"rows": np.array(kept.rows)})
        return done
    policy = None if part.order.path is None else str(part.order.path)
    return workers.submit(Job(order.recipe, order.seed, part.index, part.asked, policy, str(path)).message())


def _share(part: Share, folder: Path) -> Episodes:
    paths = [_file(folder, part.index, chunk) for chunk in range(part.chunks or 0)]
    chunks = [load_chunk(path) for path in paths]
    for path, chunk in zip(paths, chunks, strict=True):
        if chunk is None:
            raise DataError(f"{path} disappeared during the build; run the same command again")
    return join(chunk for chunk in chunks if chunk is not None).cut(part.order.size)


def versions() -> dict[str, str]:
    """What the data depends on, besides the recipe and the seed."""
    packages = {"python": platform.python_version(), "machine": processor()}
    for package in ("rewind-rl", "numpy", "mujoco", "gymnasium", "gymnasium-robotics", "ogbench", "dm_control"):
        with suppress(PackageNotFoundError):
            packages[package] = version(package)
    return packages


def processor() -> str:
    info = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*:(.*)", info.read_text(errors="replace")) if info.exists() else None
    return model[1].strip() if model else platform.processor() or platform.machine()
