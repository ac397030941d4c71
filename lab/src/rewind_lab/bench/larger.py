"""`rewind bench larger`: training on data that does not fit into memory, beside the same data in memory.

The rule of the measurement. The data is four times a limit. The process that reads it from the disk must stay within
the limit: a thread looks at its private memory (RssAnon) every 20 ms, and more than the limit is an error. It counts
from when the libraries are loaded and a small training was compiled, before the data is opened. Pages that the system
keeps of files are not private, so they are dropped before each round: a round finds nothing in memory. The other
process holds all data in memory. Both take turns. Uniform sampling reads a page for nearly every row, so a tenth of the
updates is enough to time it; but never fewer than LEAST blocks, because nothing hides the reading of the first.
"""

import json
import mmap
import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, load
from rewind.data.folder import HEADER, write_array
from rewind.errors import RewindError, UsageError
from rewind.files import write_json
from rewind.memory import ReadAhead, TrajectoryReplay, UniformReplay
from rewind.table import table
from rewind_lab.bench.memory import ACTIONS, OBSERVATIONS, random_trajectories
from rewind_lab.bench.timing import machine

SAMPLERS = {"TR": "tr", "uniform": "baseline"}
SHORTER = {"TR": 1, "uniform": 10}  # by how much the measurement of an order is shorter, in whole blocks
LEAST = 4  # blocks of a measurement, where there are as many
PLACES = ("memory", "disk")
JOBS = ("train", "read")
LOOK = 0.02  # seconds between two looks at the memory
TIMES = 4  # how much larger the data is than the limit
PIECE = 65_536
LENGTHS = (400, 600)  # of trajectories
SMALL = 150_000  # rows of a small training


@dataclass
class BenchLarger:
    """Measure training and reading with data four times a memory limit, against all in memory.

    Example: rewind bench larger
    """

    limit_mb: int = 256
    """Memory that the process may take for the data."""
    algorithm: str = "td3_bc"
    """td3_bc, iql, edac or bc."""
    batch_size: int = 256
    """Slots."""
    block: int = 500
    """Updates of a block, whose rows are read while the one before is computed."""
    steps: int = 2000
    """Updates per measurement of TR, and batches of the reader; for uniform sampling a tenth, but at least 4 blocks."""
    rounds: int = 5
    """Number of measurements, in turns; the median counts."""
    folder: Path | None = None
    """Where to make the data, on the disk to be measured. Default: the system's folder for temporary files."""
    json: Path | None = None
    """Also write the figures to this file."""

    def run(self) -> None:
        if self.steps % self.block or min(self.limit_mb, self.rounds, self.block) < 1:
            raise UsageError("expected positive numbers, and --steps to be a multiple of --block")
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="rewind-larger-") as temporary:
            folder = Path(temporary) / "data"
            rows = make_folder(folder, TIMES * self.limit_mb * 10**6)
            figures = {"machine": machine(), "limit_mb": self.limit_mb, "rows": rows, **self._measure(folder)}
        figures |= {"batch_size": self.batch_size, "algorithm": self.algorithm, "block": self.block}
        print_figures(figures)
        if self.json is not None:
            write_json(self.json, figures)

    def _measure(self, folder: Path) -> dict[str, Any]:
        found: dict[str, list[dict[str, float]]] = {}
        for sampler in SAMPLERS:  # one after the other: all data in memory once is enough
            workers = {place: Worker(place, folder, sampler, self) for place in PLACES}
            try:
                devices = [worker.answer()["device"] for worker in workers.values()]
                for turn in range(self.rounds + 1):
                    for job in JOBS:
                        for place, worker in workers.items():
                            figures = worker.ask(job)
                            self._check(place, figures)
                            if turn:  # the first one compiles
                                found.setdefault(f"{job}, {sampler}, {place}", []).append(figures)
            finally:
                for worker in workers.values():
                    worker.close()
        medians = {
            name: {key: float(np.median([figures[key] for figures in rounds])) for key in rounds[0]}
            for name, rounds in found.items()
        }
        return {"device": devices[0], "jobs": medians}

    def _check(self, place: str, figures: dict[str, float]) -> None:
        if place == "disk" and figures["private_bytes"] > self.limit_mb * 10**6:
            taken = figures["private_bytes"] / 1e6
            raise RewindError(f"the process took {taken:,.0f} MB, more than the limit of {self.limit_mb:,} MB")


class Worker:
    """A process that trains and reads on demand."""

    def __init__(self, place: str, folder: Path, sampler: str, bench: BenchLarger) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        settings = {name: getattr(bench, name) for name in ("algorithm", "batch_size", "block")}
        blocks = bench.steps // bench.block
        settings["steps"] = max(blocks // SHORTER[sampler], min(blocks, LEAST)) * bench.block
        self._process = context.Process(target=work, args=(other, place, folder, sampler, settings), daemon=True)
        self._process.start()
        other.close()

    def ask(self, job: str) -> dict[str, float]:
        self._connection.send(job)
        return self.answer()

    def answer(self) -> dict[str, Any]:
        try:
            figures: dict[str, Any] = self._connection.recv()
        except EOFError:
            raise RewindError("a process of the measurement ended; its error is above") from None
        return figures

    def close(self) -> None:
        self._connection.close()
        self._process.join(10)
        self._process.kill()


def work(connection: Any, place: str, folder: Path, sampler: str, settings: dict[str, Any]) -> None:
    """Answer jobs until nobody asks any more."""
    from rewind.training.engine import device_kind

    device = device_kind()
    if place == "disk":
        training(random_trajectories(SMALL, *LENGTHS), SAMPLERS[sampler], settings)()
    watch = MemoryWatch()
    data = load(folder) if place == "disk" else in_memory(load(folder))
    jobs = {"train": training(data, SAMPLERS[sampler], settings), "read": reading(data, sampler, place, settings)}
    connection.send({"device": device})
    while True:
        try:
            job = jobs[connection.recv()]
        except EOFError:
            return
        if place == "disk":
            drop_pages(data)
        before, begin = bytes_read(), time.perf_counter()
        job()
        seconds = time.perf_counter() - begin
        figures = {"seconds": seconds, "steps": settings["steps"], "bytes_read": bytes_read() - before}
        connection.send({**figures, "private_bytes": watch.most})


class MemoryWatch:
    """The most private memory that this process has taken since now."""

    def __init__(self) -> None:
        self.most, self._before = 0, private_memory()
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            self.most = max(self.most, private_memory() - self._before)
            time.sleep(LOOK)


def training(data: Trajectories, sampler: str, settings: dict[str, Any]) -> Callable[[], None]:
    from rewind.training import make_runs
    from rewind.training.group import Group

    runs = make_runs(data, settings["algorithm"], samplers=[sampler])
    group = Group(data, runs, range(1), settings["batch_size"], settings["block"])

    def job() -> None:
        """Nothing is planned beyond the end: the next round must not find rows that were read in this one."""
        until = group.step + settings["steps"]
        while group.step < until:
            _, outcome = group.advance(until)
            group.plan_ahead(until)
        np.asarray(outcome.alive)

    return job


def reading(data: Trajectories, name: str, place: str, settings: dict[str, Any]) -> Callable[[], None]:
    memory = TrajectoryReplay(seed=0) if name == "TR" else UniformReplay(seed=0)
    memory.load_offline_dataset(data)
    batch_size, steps = settings["batch_size"], settings["steps"]

    def job() -> None:
        if place == "memory":
            for _ in range(steps):
                memory.sample(batch_size)
            return
        ahead = ReadAhead(memory, batch_size)
        for _ in zip(range(steps), ahead, strict=False):
            pass
        ahead.close()

    return job


def make_folder(folder: Path, size: int) -> int:
    """Random trajectories of so many bytes, written piece by piece; returns the number of rows."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(*LENGTHS, size // (2 * (OBSERVATIONS + ACTIONS + 1) * sum(LENGTHS)))
    rows, count = int(lengths.sum()), len(lengths)
    folder.mkdir(parents=True)
    for name, width in (("observations", OBSERVATIONS), ("actions", ACTIONS)):
        array = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.float32, (rows, width))
        for begin in range(0, rows, PIECE):
            piece = array[begin : begin + PIECE]
            piece[:] = rng.uniform(-1, 1, piece.shape)
        array.flush()
    ends = {"terminated": np.ones(count, bool), "final_known": np.ones(count, bool)}
    finals = rng.standard_normal((count, OBSERVATIONS), dtype=np.float32)
    others = {"rewards": rng.standard_normal(rows, dtype=np.float32), "lengths": lengths}
    for name, column in {**others, **ends, "final_observations": finals}.items():
        write_array(folder / f"{name}.npy", column)
    (folder / HEADER).write_text(json.dumps({"name": None, "notes": {}}))
    os.sync()  # pages that are not yet written cannot be dropped
    return rows


def in_memory(data: Trajectories) -> Trajectories:
    return replace(data, observations=np.array(data.observations), actions=np.array(data.actions))


def drop_pages(data: Trajectories) -> None:
    """Forget what the system keeps of the files: first where this process has it mapped, then the pages themselves."""
    for array in (data.observations, data.actions):
        source = _mapping(array)
        source._mmap.madvise(mmap.MADV_DONTNEED)
        descriptor = os.open(source.filename, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _mapping(array: Array) -> Any:
    value: Any = array
    while not isinstance(value, np.memmap) or value.base.__class__ is np.memmap:
        value = value.base
    return value


def private_memory() -> int:
    """Bytes of memory that belong to this process alone, without pages of files."""
    with Path("/proc/self/status").open() as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon:"))


def bytes_read() -> int:
    """What this process has read from the disk so far, pages of mapped files included."""
    with Path("/proc/self/io").open() as file:
        return next(int(line.split()[1]) for line in file if line.startswith("read_bytes:"))


def print_figures(figures: dict[str, Any]) -> None:
    jobs, batch = figures["jobs"], figures["batch_size"]
    size = TIMES * figures["limit_mb"]
    print(
        f"{figures['rows']:,} rows, {size:,} MB of data, limit {figures['limit_mb']:,} MB, cold before each round; ",
        end="",
    )
    print(f"{figures['algorithm']}, batch {batch}, blocks of {figures['block']}; {figures['device']}")
    rows = []
    for name, found in jobs.items():
        kind, sampler, place = name.split(", ")
        against, steps = jobs[f"{kind}, {sampler}, memory"]["seconds"], int(found["steps"])
        rows.append(
            {
                "": kind,
                "order": sampler,
                "data in": place,
                "batches": f"{steps:,}",
                "us per batch": f"{found['seconds'] / steps * 1e6:,.0f}",
                "rows per s": f"{steps * batch / found['seconds']:,.0f}",
                "speed to memory": f"{against / found['seconds']:.2f}",
                "MB read": f"{found['bytes_read'] / 1e6:,.0f}",
                "private MB": f"{found['private_bytes'] / 1e6:,.0f}",
            }
        )
    print(table(rows))
    print("MB read: from the disk, in a round; private MB: the most that was taken")
