"""The replay buffers of other libraries, each filled with the same transitions, for `rewind bench peers`.

Every buffer returns the same five fields: observation, action, reward, next observation, terminal. Each is used as its
documentation recommends, with its options for speed, and returns its own arrays: NumPy arrays in Rewind, cpprb, d3rlpy
and Tianshou, torch tensors in TorchRL, JAX arrays in flashbax.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories
from rewind.memory import PrioritizedReplay, TrajectoryReplay, UniformReplay

Call = Callable[[], Any]
Built = tuple[Call, Call | None]  # a filled buffer: a call that samples and, if prioritised, one that also updates

SLICE = 16  # steps of TorchRL's slices
ALPHA, BETA = 0.6, 0.4  # of all prioritised buffers


@dataclass(frozen=True, eq=False)
class Work:
    """The data of every buffer, and the size of its batches."""

    data: Trajectories
    batch: int
    td_errors: Array  # (batch,) feedback for prioritised buffers

    def flat(self) -> dict[str, Array]:
        """The transitions one by one, for buffers that store successors beside observations."""
        data = self.data
        done = np.zeros(data.rows, bool)
        done[data.ends] = True
        return {
            "observation": data.observations,
            "action": data.actions,
            "reward": data.rewards,
            "next_observation": data.successors(np.arange(data.rows)),
            "terminal": data.terminals,
            "done": done,
        }


def rewind(work: Work, memory: Any) -> Built:
    memory.load_offline_dataset(work.data)

    def both() -> None:
        memory.sample(work.batch)
        memory.update_priorities(work.td_errors)

    return partial(memory.sample, work.batch), both if isinstance(memory, PrioritizedReplay) else None


def torchrl(work: Work, kind: str) -> Built:
    torch, data = importlib.import_module("torch"), importlib.import_module("torchrl.data")
    torch.set_num_threads(1)  # the fastest for such small batches
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


def cpprb(work: Work, prioritised: bool) -> Built:
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


def d3rlpy(work: Work) -> Built:
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


def tianshou(work: Work, prioritised: bool) -> Built:
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
    buffer._size = rows  # like `from_data`, which cannot make a prioritised buffer
    buffer.init_weight(np.arange(rows))

    def both() -> None:
        buffer.update_weight(buffer.sample(work.batch)[1], work.td_errors)

    return partial(buffer.sample, work.batch), both


def flashbax(work: Work, prioritised: bool) -> Built:
    jax, library = importlib.import_module("jax"), importlib.import_module("flashbax")
    flat, rows = work.flat(), work.data.rows
    del flat["done"]
    if prioritised:  # it samples pairs of consecutive rows, so the second one has the next observation
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


# By name, which begins with the package.
OURS: dict[str, Callable[[Work], Built]] = {
    "rewind uniform": lambda work: rewind(work, UniformReplay(seed=0)),
    "rewind TR": lambda work: rewind(work, TrajectoryReplay(stagger=True, seed=0)),
    "rewind PTR": lambda work: rewind(work, TrajectoryReplay("uqm_reward", stagger=True, seed=0)),
    "rewind prioritised": lambda work: rewind(work, PrioritizedReplay(alpha=ALPHA, seed=0)),
}
PEERS: dict[str, Callable[[Work], Built]] = {
    **{f"torchrl {kind}": partial(torchrl, kind=kind) for kind in ("random", "prioritised", "slices")},
    "cpprb uniform": partial(cpprb, prioritised=False),
    "cpprb prioritised": partial(cpprb, prioritised=True),
    "d3rlpy uniform": d3rlpy,
    "tianshou uniform": partial(tianshou, prioritised=False),
    "tianshou prioritised": partial(tianshou, prioritised=True),
    "flashbax uniform": partial(flashbax, prioritised=False),
    "flashbax prioritised": partial(flashbax, prioritised=True),
}
