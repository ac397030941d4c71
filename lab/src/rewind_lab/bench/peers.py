"""`rewind bench peers`: sampling time compared with other libraries' replay buffers, on the same data in one run."""

import contextlib
import importlib.metadata
import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from timeit import Timer
from typing import Any

import numpy as np

from rewind.cli.arguments import Rare
from rewind.compiled import HAVE_NUMBA
from rewind.errors import UsageError, unknown_name
from rewind.files import write_json
from rewind.table import table as aligned
from rewind_lab.bench.memory import random_trajectories
from rewind_lab.bench.peer_buffers import OURS, PEERS, SLICE, Built, Call, Work
from rewind_lab.bench.timing import machine, side_by_side

LENGTH = 1000  # steps of a trajectory


@dataclass
class BenchPeers:
    """Compare the time to sample with the replay buffers of other installed libraries.

    Example: rewind bench peers --only torchrl cpprb
    """

    size: int = 1_000_000
    """Transitions in every buffer (17 observations, 6 actions)."""
    batch: int = 256
    """Transitions of a sample, a multiple of 16."""
    rounds: int = 9
    """Number of measurements, in turns; the median counts."""
    seconds: Rare[float] = 0.2
    """Duration of a turn."""
    only: tuple[str, ...] = ()
    """Only these libraries, for example torchrl cpprb. Default: all that are installed."""
    json: Rare[Path | None] = None
    """Also write the figures to this file."""

    def run(self) -> None:
        figures = self.measure()
        print(table(figures))
        if self.json is not None:
            write_json(self.json, figures)

    def measure(self) -> dict[str, Any]:
        """Times in microseconds, and the ratio of every peer's to each of ours."""
        self._check()
        length = min(self.size, LENGTH)
        td_errors = np.random.default_rng(0).uniform(0.1, 1.0, self.batch).astype(np.float32)
        work = Work(random_trajectories(self.size, length, length), self.batch, td_errors)
        skipped: dict[str, str] = {}
        calls: dict[str, Built] = {}
        peers = {name: build for name, build in PEERS.items() if not self.only or name.split()[0] in self.only}
        for name, build in (OURS | peers).items():
            try:
                with contextlib.redirect_stdout(sys.stderr):  # some of them print
                    calls[name] = build(work)
            except ImportError:
                skipped[name] = "not installed"
            except RuntimeError as error:
                skipped[name] = str(error).splitlines()[0]
        samples = in_turns({name: sample for name, (sample, _) in calls.items()}, self.rounds, self.seconds)
        updates = in_turns({name: both for name, (_, both) in calls.items() if both}, self.rounds, self.seconds)
        settings = {name: value for name, value in asdict(self).items() if name != "json"}
        return {
            "machine": machine(),
            "settings": {**settings, "numba": HAVE_NUMBA, "versions": versions(calls)},
            "sample_us": samples,
            "sample_and_update_us": updates,
            "sample_ratio": ratios(samples),
            "sample_and_update_ratio": ratios(updates),
            "skipped": skipped,
        }

    def _check(self) -> None:
        packages = {name.split()[0] for name in PEERS}
        for name in self.only:
            if name not in packages:
                raise unknown_name("library", name, packages)
        for name in ("batch", "rounds", "seconds"):
            if getattr(self, name) <= 0:
                raise UsageError(f"{name} is {getattr(self, name)}; expected a positive number")
        if self.batch % SLICE or self.size < 2 * self.batch:
            raise UsageError(
                f"batch is {self.batch}, size {self.size:,}; expected a multiple of {SLICE}, and at least twice that"
            )


def in_turns(calls: dict[str, Call], rounds: int, seconds: float) -> dict[str, float]:
    """Median microseconds of each call. They take turns, so that a disturbance affects all of them."""
    timers = {name: Timer(call) for name, call in calls.items()}
    for timer in timers.values():
        timer.timeit(3)  # compiles
    counts = {name: max(3, int(5 * seconds / timer.timeit(5))) for name, timer in timers.items()}
    jobs = {name: partial(timer.timeit, counts[name]) for name, timer in timers.items()}
    taken = side_by_side(jobs, rounds)
    return {name: round(1e6 * taken[name] / counts[name], 1) for name in calls}


def ratios(times: dict[str, float]) -> dict[str, dict[str, float]]:
    """For every peer, the ratio of its time to each of ours. Above 1, ours is faster."""
    ours, peers = ({name: times[name] for name in times if (name in OURS) == own} for own in (True, False))
    return {peer: {mine: round(time / ours[mine], 2) for mine in ours} for peer, time in peers.items()}


def versions(names: Any) -> dict[str, str]:
    packages = {name.split()[0] for name in names} - {"rewind"}
    return {package: importlib.metadata.version(package) for package in sorted(packages)}


def table(figures: dict[str, Any]) -> str:
    samples, updates = figures["sample_us"], figures["sample_and_update_us"]
    titles = ["", "sample us", *(f"/ {name.removeprefix('rewind ')}" for name in OURS), "with update us", "/ ours"]
    rows = []
    for name, sample in samples.items():
        ratio = figures["sample_ratio"].get(name, {})
        update = figures["sample_and_update_ratio"].get(name, {})
        cells = [ratio.get(other) for other in OURS] + [updates.get(name), update.get("rewind prioritised")]
        texts = [name, f"{sample:.1f}", *("" if cell is None else f"{cell:.1f}" for cell in cells)]
        rows.append(dict(zip(titles, texts, strict=True)))
    text = [aligned(rows)]
    text += [f"{name}: skipped, {reason}" for name, reason in figures["skipped"].items()]
    settings = figures["settings"]
    text.append(
        f"{settings['batch']} of {settings['size']:,} transitions, median of {settings['rounds']} turns; "
        "'/ x': time relative to our x (above 1: ours is faster)"
    )
    return "\n".join(text)
