"""The device's part: many runs of one shape in one compiled program."""

import platform
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from rewind.agents.agent import Agent
from rewind.agents.networks import fused_networks
from rewind.errors import UsageError
from rewind.training.view import DeviceTable
from rewind.version import __version__

EXPLODED = 1e9  # a Q value beyond this is no value
MEASURED = 50  # batches per look at the metrics
QUICKLY = {"xla_backend_optimization_level": 1}  # on CPUs: as fast as 3, the same bits, compiled in half the time


class Outcome(NamedTuple):
    """What a block leaves behind; device arrays until somebody looks."""

    metrics: dict[str, jax.Array]  # each (runs,) the mean over the block
    alive: jax.Array  # (runs,) bool
    uncertainty: jax.Array | None  # (runs that are asked for it, steps, batch)


class Engine:
    """The agents of a group: their states, and the program that moves them on.

    agents: of one structure; their numbers may differ
    table: of all rows; None: `run` gets one with each block
    firsts: of each run, the row of the table at which its data begins; default: the first
    uncertainty: runs whose critics' disagreement is wanted, row by row; default: all
    fused: networks as single kernels, with products of bfloat16 numbers (rewind.agents.fused)
    """

    def __init__(
        self,
        agents: Sequence[Agent[Any]],
        seeds: Sequence[int],
        table: DeviceTable | None,
        batch_size: int,
        *,
        firsts: Sequence[int] | None = None,
        uncertainty: Sequence[int] | None = None,
        fused: bool = False,
    ) -> None:
        self.runs = len(agents)
        asked = np.arange(self.runs) if uncertainty is None else np.asarray(uncertainty, np.int64)
        self.agent = agents[0]
        self.table = table
        self.firsts = jnp.asarray(firsts or [0] * self.runs, jnp.int32)
        self.agents = jax.tree.map(lambda *leaves: jnp.stack(leaves), *agents)
        keys = jnp.stack([seed_key(seed) for seed in seeds])
        on_cpu = current_device().platform == "cpu"
        init, self._block, self._act = _programs(
            type(self.agent), batch_size, tuple(asked.tolist()), self.runs == 1, on_cpu, fused
        )
        self.state = init(self.agents, keys)
        self.alive = jnp.ones(self.runs, bool)
        self.fused = fused

    def run(self, indices: NDArray[Any], fresh: NDArray[Any], rows: NDArray[Any] | None = None) -> Outcome:
        """Train all runs on their plans, (runs, steps, batch). Returns at once; the device works on.

        rows: the table of these plans, where there is none of all rows
        """
        table = self.table if rows is None else DeviceTable(jnp.asarray(rows))
        with fused_networks(self.fused):  # the first call compiles
            self.state, self.alive, metrics, uncertainty = self._block(
                self.agents, self.state, self.alive, table, self.firsts, indices, fresh
            )
        return Outcome(metrics, self.alive, uncertainty)

    def policies(self) -> Any:
        """The acting parts of all runs, stacked."""
        return self.agent.policy(self.state)

    def act(self, policies: Any, observations: Any, agents: Any = None) -> Any:
        """(runs, rows, observation) -> (runs, rows, action), deterministic.

        agents: of these policies, where they are not those of all runs
        """
        return self._act(self.agents if agents is None else agents, policies, observations)


@lru_cache(maxsize=16)
def _programs(
    kind: type[Agent[Any]], batch_size: int, asked: tuple[int, ...], alone: bool, on_cpu: bool, fused: bool
) -> tuple[Any, Any, Any]:
    """What engines compile: to begin, to train a block, to act. Those of one shape share it.

    fused: `Engine.run` compiles other programs with it
    """
    config: Any = jax.config
    quickly = on_cpu and not config.read("jax_disable_most_optimizations")
    init = jax.jit(jax.vmap(partial(kind.init, batch_size=batch_size)), compiler_options=QUICKLY if quickly else None)
    unroll = 1 if on_cpu else 4 if fused else 2  # updates compiled as one piece: more saves a GPU some launches
    block = partial(train_block, uncertainty=len(asked) > 0, unroll=unroll, measure_all=on_cpu)
    # A group of one goes without the extra axis: a batch of one matrix is slower than a matrix.
    mapped = _alone(block) if alone else jax.vmap(block, in_axes=(0, 0, 0, None, 0, 0, 0))
    train = jax.jit(_uncertainty_of(np.array(asked, int), mapped), donate_argnums=1)
    return init, train, jax.jit(jax.vmap(kind.act))


def seed_key(seed: int) -> jax.Array:
    """JAX's key of a seed. JAX itself takes only the lowest 32 bits; higher ones are folded in here."""
    if seed < 0:
        raise UsageError(f"a seed is {seed}; expected 0 or more")
    key = jax.random.PRNGKey(seed % 2**32)
    while seed := seed >> 32:
        key = jax.random.fold_in(key, np.uint32(seed % 2**32))
    return key


def _alone(block: Any) -> Any:
    def one_run(agents: Any, state: Any, alive: Any, table: DeviceTable, *planned: Any) -> Any:
        only = partial(jax.tree.map, lambda leaf: leaf[0])
        result = block(only(agents), only(state), alive[0], table, *only(planned))
        return jax.tree.map(lambda leaf: leaf[None], result)

    return one_run


def _uncertainty_of(asked: NDArray[Any], mapped: Any) -> Any:
    """The uncertainty of those runs alone: what nobody asked for is not brought to the host."""

    def block(*arguments: Any) -> Any:
        state, alive, metrics, disagreement = mapped(*arguments)
        return state, alive, metrics, None if disagreement is None else disagreement[asked]

    return block


def train_block(
    agent: Agent[Any],
    state: Any,
    alive: jax.Array,
    table: DeviceTable,
    first: jax.Array,
    indices: jax.Array,
    fresh: jax.Array,
    *,
    uncertainty: bool,
    unroll: int,
    measure_all: bool,
) -> tuple[Any, jax.Array, dict[str, jax.Array], jax.Array | None]:
    """One run, one plan of rows that are counted from `first`: scan over it, `period` batches at a time.

    Metrics are taken at one update of every `MEASURED` batches or fewer: on a GPU, small kernels at each of them add
    up. With `measure_all` they are computed at each and the others forgotten: the update is compiled once, not twice.
    A run whose numbers are no longer finite, or whose Q has exploded, stays at the state from before the block: the
    shapes stay, the other runs continue.
    """
    updates = indices.shape[0] // agent.period
    most = max(1, MEASURED // agent.period)
    stride = max(count for count in range(1, most + 1) if updates % count == 0)

    def update(state: Any, batch: Any) -> tuple[Any, Any]:
        batch = batch if agent.window == 1 else table.batch(batch[0], batch[1], agent)
        state, metrics, disagreement = agent.update(state, batch)
        return state, ({**metrics, "uncertainty": disagreement.mean()}, disagreement if uncertainty else None)

    def silent_update(state: Any, batch: Any) -> tuple[Any, Any]:
        state, (_, disagreement) = update(state, batch)
        return state, disagreement

    def updates_with_metrics(state: Any, rows: Any) -> tuple[Any, Any]:
        # The batches of all these updates at once: one gather instead of many. Windows would take too much memory.
        batches = table.batch(rows[0], rows[1], agent) if agent.window == 1 else rows
        if measure_all:
            state, (metrics, disagreement) = jax.lax.scan(update, state, batches)
            return state, ({name: values[-1] for name, values in metrics.items()}, disagreement)
        silent, last = (jax.tree.map(lambda leaf, part=part: leaf[part], batches) for part in (slice(-1), -1))
        state, before = jax.lax.scan(silent_update, state, silent, unroll=max(1, min(unroll, stride - 1)))
        state, (metrics, disagreement) = update(state, last)
        return state, (metrics, jnp.concatenate([before, disagreement[None]]) if uncertainty else None)

    shape = (updates // stride, stride, agent.period, indices.shape[1])
    planned = ((first + indices).reshape(shape), fresh.reshape(shape))
    trained, (metrics, disagreement) = jax.lax.scan(updates_with_metrics, state, planned)
    alive = alive & jnp.stack([jnp.isfinite(values[-1]) for values in metrics.values()]).all()
    if "q" in metrics:
        alive = alive & (jnp.abs(metrics["q"][-1]) < EXPLODED)
    floats = [leaf for leaf in jax.tree.leaves(trained) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    alive = alive & jnp.stack([jnp.isfinite(leaf).all() for leaf in floats]).all()
    state = jax.tree.map(lambda new, old: jnp.where(alive, new, old), trained, state)
    if disagreement is not None:
        disagreement = jnp.nan_to_num(disagreement.reshape(indices.shape))
    return state, alive, {name: values.mean() for name, values in metrics.items()}, disagreement


def current_device() -> Any:
    """Where new arrays go now."""
    (device,) = jnp.zeros(()).devices()
    return device


def device_kind() -> str:
    """What the engine runs on, in words."""
    device = current_device()
    return " ".join(dict.fromkeys((device.platform, device.device_kind)))  # a CPU is of kind cpu


def made_with(fused: bool) -> dict[str, str]:
    """Versions that results may depend on, and how networks were computed."""
    versions = {"rewind": __version__, "jax": jax.__version__, "numpy": np.__version__}
    return versions | {"python": platform.python_version(), "kernels": "fused" if fused else "xla"}


def check_fused() -> None:
    """An error where new arrays do not go to an NVIDIA GPU."""
    if current_device().platform != "gpu":
        raise UsageError(f"fused kernels are for NVIDIA GPUs; this would train on {device_kind()}: leave fused out")


def to_host(tree: Any) -> Any:
    return jax.tree.map(np.asarray, tree)
