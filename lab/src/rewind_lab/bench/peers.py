"""`rewind bench peers`: sampling, against other libraries' replay buffers, on the same data in one run.

Every buffer holds the same transitions and hands out the same five fields: observation, action, reward, next
observation, terminal. Each is used as its documentation says, with what it offers for speed switched on, and returns
what it returns: NumPy arrays here, in cpprb, d3rlpy and Tianshou, torch tensors in TorchRL, JAX arrays in flashbax.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.compiled import HAVE_NUMBA
from rewind.data import Trajectories
from rewind.errors import UsageError, unknown_name
from rewind.files import write_json
from rewind.memory import PrioritizedReplay, TrajectoryReplay, UniformReplay
from rewind.table import table as aligned
from rewind_lab.bench.timing import machine, side_by_side

Call = Callable[[], Any]

OBSERVATION, ACTION, LENGTH, SLICE = 17, 6, 1000, 16
ALPHA, BETA = 0.6, 0.4  # of prioritised transitions, everywhere


@dataclass(frozen=True, eq=False)
class Work:
    """What every buffer is given, and asked for."""

    data: Trajectories
    batch: int
    td_errors: Array  # (batch,) what comes back to prioritised ones

    def flat(self) -> dict[str, Array]:
        """The transitions one by one, for buffers that keep successors beside observations."""
        data = self.data
        tails = np.zeros(data.rows, bool)
        tails[data.starts + data.lengths - 1] = True
        terminals = np.zeros(data.rows, bool)
        terminals[(data.starts + data.lengths - 1)[data.terminated]] = True
        return {
            "observation": data.observations,
            "action": data.actions,
            "reward": data.rewards,
            "next_observation": data.successors(np.arange(data.rows)),
            "terminal": terminals,
            "done": tails,
        }


@dataclass(frozen=True)
class Entry:
    """One buffer: how to fill it, which gives a call that samples, and where it is prioritised one that updates too."""

    name: str
    build: Callable[[Work], tuple[Call, Call | None]]

    @property
    def package(self) -> str:
        return self.name.split()[0]


def made_up(size: int, seed: int = 0) -> Trajectories:
    """Random transitions in trajectories of 1000 steps, every second of which ends with a terminal."""
    rng = np.random.default_rng(seed)
    lengths = np.full(-(-size // LENGTH), LENGTH)
    lengths[-1] = size - lengths[:-1].sum()
    return Trajectories(
        observations=rng.standard_normal((size, OBSERVATION), dtype=np.float32),
        actions=rng.uniform(-1, 1, (size, ACTION)).astype(np.float32),
        rewards=rng.standard_normal(size, dtype=np.float32),
        lengths=lengths,
        terminated=np.arange(len(lengths)) % 2 == 0,
        final_observations=rng.standard_normal((len(lengths), OBSERVATION), dtype=np.float32),
        final_known=np.ones(len(lengths), bool),
    )


def rewind(work: Work, memory: Any) -> tuple[Call, Call | None]:
    memory.load_offline_dataset(work.data)

    def both() -> None:
        memory.sample(work.batch)
        memory.update_priorities(work.td_errors)

    return partial(memory.sample, work.batch), both if isinstance(memory, PrioritizedReplay) else None


def torchrl(work: Work, kind: str) -> tuple[Call, Call | None]:
    torch, data = importlib.import_module("torch"), importlib.import_module("torchrl.data")
    torch.set_num_threads(1)  # the fastest for batches this small, and by far on a busy machine
    tensordict = importlib.import_module("tensordict")
    flat = {name: torch.from_numpy(array) for name, array in work.flat().items()}
    rows = len(flat["reward"])
    following = {"observation": flat["next_observation"], "reward": flat["reward"], "terminated": flat["terminal"]}
    if kind == "slices":
        following["done"] = flat["done"]
        sampler = data.SliceSampler(num_slices=work.batch // SLICE, end_key=("next", "done"), cache_values=True)
    elif kind == "prioritised":
        sampler = data.PrioritizedSampler(max_capacity=rows, alpha=ALPHA, beta=BETA)
    else:
        sampler = data.RandomSampler()
    buffer = data.TensorDictReplayBuffer(
        storage=data.LazyTensorStorage(rows), sampler=sampler, batch_size=work.batch, priority_key="td_error"
    )
    step = {"observation": flat["observation"], "action": flat["action"], "next": following}
    buffer.extend(tensordict.TensorDict(step, batch_size=[rows]))
    td_errors = torch.from_numpy(work.td_errors)

    def both() -> None:
        buffer.update_priority(buffer.sample()["index"], td_errors)

    return buffer.sample, both if kind == "prioritised" else None


def cpprb(work: Work, prioritised: bool) -> tuple[Call, Call | None]:
    library = importlib.import_module("cpprb")
    flat = work.flat()
    del flat["done"]
    fields = {name: {"shape": array.shape[1:] or 1, "dtype": array.dtype} for name, array in flat.items()}
    kind = library.PrioritizedReplayBuffer if prioritised else library.ReplayBuffer
    buffer = kind(work.data.rows, fields, **({"alpha": ALPHA} if prioritised else {}))
    buffer.add(**flat)

    def both() -> None:
        buffer.update_priorities(buffer.sample(work.batch, BETA)["indexes"], work.td_errors)

    return partial(buffer.sample, work.batch), both if prioritised else None


def d3rlpy(work: Work) -> tuple[Call, Call | None]:
    dataset = importlib.import_module("d3rlpy.dataset")
    episodes = [
        dataset.Episode(
            observations=episode["observations"][: len(episode["rewards"])],
            actions=episode["actions"],
            rewards=episode["rewards"][:, None],
            terminated=bool(episode["terminated"]),
        )
        for episode in work.data.episodes()
    ]
    buffer = dataset.ReplayBuffer(dataset.InfiniteBuffer(), episodes=episodes)
    return partial(buffer.sample_transition_batch, work.batch), None


def tianshou(work: Work, prioritised: bool) -> tuple[Call, Call | None]:
    library = importlib.import_module("tianshou.data")
    flat, rows = work.flat(), work.data.rows
    batch = library.Batch(
        obs=flat["observation"],
        act=flat["action"],
        rew=flat["reward"],
        obs_next=flat["next_observation"],
        terminated=flat["terminal"],
        truncated=flat["done"] & ~flat["terminal"],
        done=flat["done"],
    )
    if not prioritised:
        return partial(library.ReplayBuffer.from_data(**batch).sample, work.batch), None
    buffer = library.PrioritizedReplayBuffer(rows, alpha=ALPHA, beta=BETA)
    buffer.set_batch(batch)
    buffer._size = rows  # as its own from_data does, which cannot make a prioritised one
    buffer.init_weight(np.arange(rows))

    def both() -> None:
        buffer.update_weight(buffer.sample(work.batch)[1], work.td_errors)

    return partial(buffer.sample, work.batch), both


def flashbax(work: Work, prioritised: bool) -> tuple[Call, Call | None]:
    jax, library = importlib.import_module("jax"), importlib.import_module("flashbax")
    flat, rows = work.flat(), work.data.rows
    del flat["done"]
    if prioritised:  # it samples pairs of neighbours: the next observation is that of the second one
        del flat["next_observation"]
    items = {name: jax.numpy.asarray(array) for name, array in flat.items()}
    if prioritised:
        buffer = library.make_prioritised_flat_buffer(rows, work.batch, work.batch, True, priority_exponent=ALPHA)
    else:
        buffer = library.make_item_buffer(rows, work.batch, work.batch, add_sequences=True)
    state = buffer.init({name: array[0] for name, array in items.items()})
    state = jax.jit(buffer.add, donate_argnums=0)(state, items)
    draw, split, key = jax.jit(buffer.sample), jax.jit(jax.random.split), jax.random.key(0)

    def sample() -> Any:
        nonlocal key
        key, now = split(key)
        return jax.block_until_ready(draw(state, now))

    if not prioritised:
        return sample, None
    update = jax.jit(buffer.set_priorities, donate_argnums=0)
    td_errors = jax.numpy.asarray(work.td_errors)

    def both() -> None:
        nonlocal state
        state = jax.block_until_ready(update(state, sample().indices, td_errors))

    return sample, both


OURS = (
    Entry("rewind uniform", lambda work: rewind(work, UniformReplay(seed=0))),
    Entry("rewind TR", lambda work: rewind(work, TrajectoryReplay(stagger=True, seed=0))),
    Entry("rewind PTR", lambda work: rewind(work, TrajectoryReplay("uqm_reward", stagger=True, seed=0))),
    Entry("rewind prioritised", lambda work: rewind(work, PrioritizedReplay(alpha=ALPHA, seed=0))),
)
PEERS = (
    Entry("torchrl random", lambda work: torchrl(work, "random")),
    Entry("torchrl prioritised", lambda work: torchrl(work, "prioritised")),
    Entry("torchrl slices", lambda work: torchrl(work, "slices")),
    Entry("cpprb uniform", lambda work: cpprb(work, prioritised=False)),
    Entry("cpprb prioritised", lambda work: cpprb(work, prioritised=True)),
    Entry("d3rlpy uniform", d3rlpy),
    Entry("tianshou uniform", lambda work: tianshou(work, prioritised=False)),
    Entry("tianshou prioritised", lambda work: tianshou(work, prioritised=True)),
    Entry("flashbax uniform", lambda work: flashbax(work, prioritised=False)),
    Entry("flashbax prioritised", lambda work: flashbax(work, prioritised=True)),
)


@dataclass
class BenchPeers:
    """Time sampling against the replay buffers of other libraries, whichever are installed."""

    size: int = 1_000_000
    """How many transitions every buffer holds (17 observations, 6 actions)."""
    batch: int = 256
    """How many of them a sample has; a multiple of 16."""
    rounds: int = 9
    """How often the buffers take turns; the median counts."""
    seconds: float = 0.2
    """How long a turn is."""
    only: tuple[str, ...] = ()
    """Only these libraries, for example torchrl cpprb; all that are installed when none is named."""
    json: Path | None = None
    """Also write the figures to this file."""

    def run(self) -> None:
        figures = self.measure()
        print(table(figures))
        if self.json is not None:
            write_json(self.json, figures)

    def measure(self) -> dict[str, Any]:
        """Times in microseconds, and how many times as long as each of ours every peer takes."""
        self._check()
        rng = np.random.default_rng(0)
        work = Work(made_up(self.size), self.batch, rng.uniform(0.1, 1.0, self.batch).astype(np.float32))
        skipped: dict[str, str] = {}
        calls: dict[str, tuple[Call, Call | None]] = {}
        for entry in (*OURS, *(peer for peer in PEERS if not self.only or peer.package in self.only)):
            try:
                with contextlib.redirect_stdout(sys.stderr):  # some of them talk
                    calls[entry.name] = entry.build(work)
            except ImportError:
                skipped[entry.name] = "not installed"
            except RuntimeError as error:
                skipped[entry.name] = str(error).splitlines()[0]
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
        packages = {peer.package for peer in PEERS}
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
    """Median microseconds of each call. They take turns, so that a busy moment of the machine meets them all."""
    counts = {name: max(3, int(seconds / _once(call))) for name, call in calls.items()}
    jobs = {name: partial(_repeat, call, counts[name]) for name, call in calls.items()}
    taken = side_by_side(jobs, rounds)
    return {name: round(1e6 * taken[name] / counts[name], 1) for name in calls}


def _repeat(call: Call, count: int) -> None:
    for _ in range(count):
        call()


def _once(call: Call) -> float:
    """How long a call takes once it has compiled what it compiles."""
    for _ in range(3):
        call()
    begin = time.perf_counter()
    for _ in range(5):
        call()
    return (time.perf_counter() - begin) / 5


def ratios(times: dict[str, float]) -> dict[str, dict[str, float]]:
    """For every peer: how many times as long as each of ours it takes. Above 1, ours is faster."""
    ours = {entry.name for entry in OURS}
    return {
        peer: {mine: round(time / times[mine], 2) for mine in times if mine in ours}
        for peer, time in times.items()
        if peer not in ours
    }


def versions(names: Any) -> dict[str, str]:
    packages = {name.split()[0] for name in names} - {"rewind"}
    return {package: importlib.metadata.version(package) for package in sorted(packages)}


def table(figures: dict[str, Any]) -> str:
    """Times, and beside each peer how many times as long as ours it takes."""
    samples, updates = figures["sample_us"], figures["sample_and_update_us"]
    mine = [entry.name for entry in OURS]
    titles = ["", "sample us", *(f"/ {name.removeprefix('rewind ')}" for name in mine), "with update us", "/ ours"]
    rows = []
    for name, sample in samples.items():
        ratio = figures["sample_ratio"].get(name, {})
        update = figures["sample_and_update_ratio"].get(name, {})
        cells = [ratio.get(other) for other in mine] + [updates.get(name), update.get("rewind prioritised")]
        texts = [name, f"{sample:.1f}", *("" if cell is None else f"{cell:.1f}" for cell in cells)]
        rows.append(dict(zip(titles, texts, strict=True)))
    text = [aligned(rows)]
    text += [f"{name}: skipped, {why}" for name, why in figures["skipped"].items()]
    settings = figures["settings"]
    text.append(
        f"{settings['batch']} of {settings['size']:,} transitions, median of {settings['rounds']} turns; "
        "'/ x': how many times as long as our x (above 1: ours is faster)"
    )
    return "\n".join(text)
