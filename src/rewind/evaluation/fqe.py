"""Fitted Q evaluation (Le et al., 2019): what policies are worth, from logged transitions alone. Many in one program.

    y = r                                   at a terminal
    y = r + discount * Q'(s', pi(s'))       elsewhere, at a time-out too: the state after it must be known
    Q <- argmin mean (Q(s, a) - y)^2        Q': a slow copy of Q, whose values are reported

Each policy has an ensemble. Each member is fitted to its own resample of the trajectories, drawn with replacement, so
that members differ as estimates from other logs would (Hao et al., 2021). The resamples, the order of the rows and the
first networks are those of the member, the same for all policies: differences between policies are paired.

Rows come from a memory: `UniformReplay`, or `TrajectoryReplay` with the weighted target (`rewind.targets`).
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rewind.agents.networks import MLP, Learner, copy, follow, learner, step, value
from rewind.arrays import Array
from rewind.data import Trajectories
from rewind.data.trajectories import rows_of
from rewind.errors import UsageError
from rewind.memory import TrajectoryReplay, UniformReplay
from rewind.signals import obey_signal
from rewind.targets import weighted_target
from rewind.training.engine import QUICKLY, current_device

BLOCK = 500  # updates that are planned and computed at once, at most
MOST_SHARE = 0.95  # of its movement in a quarter of the updates that a fit is taken to repeat in the next


@dataclass(frozen=True)
class FitSettings:
    """How Q is fitted.

    steps: updates of each network, rounded up to whole blocks
    members: networks of each policy, each with its own resample of the trajectories
    rate: of Adam; it falls to zero along half a cosine
    target_rate: by which Q' follows Q
    order: uniform (transitions), or tr (Trajectory Replay, with the weighted target)
    beta: of the weighted target; below 1 it follows the log's own actions, and so leans towards the log's policy
    """

    steps: int = 5_000
    members: int = 6
    batch_size: int = 128
    hidden: tuple[int, ...] = (64, 64)
    rate: float = 1e-3
    target_rate: float = 0.1
    order: str = "uniform"
    beta: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("steps", 1), ("members", 4), ("batch_size", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} is {getattr(self, name)}; expected at least {least}")
        if self.order not in ("uniform", "tr"):
            raise UsageError(f"order is {self.order!r}; expected 'uniform' or 'tr'")
        if not 0.0 <= self.beta <= 1.0 or (self.order == "uniform" and self.beta != 1.0):
            raise UsageError(f"beta is {self.beta:g}; expected 0 to 1, and 1 where the order is uniform")


class LoggedRows(NamedTuple):
    """The log as networks take it: all rows, though a memory draws transitions only."""

    observations: Any  # (rows, observation) float32
    actions: Any  # (rows, action)
    rewards: Any  # (rows,)
    successors: Any  # (rows, observation)
    terminals: Any  # (rows,) bool


class Choices(NamedTuple):
    """What policies do."""

    following: Any  # (policies, rows, action): after each row
    following_known: Any  # (policies, rows) 1.0, or 0.0 where that is not known: the row is left out
    starting: Any  # (policies, trajectories, action): in the first state of each trajectory


class Scale(NamedTuple):
    """Q = shift + spread * network; targets stay between low and high."""

    discount: float
    shift: float
    spread: float
    low: float
    high: float


class FitState(NamedTuple):
    network: Learner[MLP]
    slow: MLP
    carry: jax.Array  # (batch,)


class FittedValues(NamedTuple):
    """values: (policies, members, trajectories) of the first states; counts: (members, trajectories) in resamples
    drift: (policies,) by how much their mean moved in the third quarter of the updates, before the rate becomes small
    left: (policies,) how far it would still go if each further quarter moved it by the same share of the one before
    """

    values: Array
    drift: Array
    left: Array
    counts: Array


def fitted_values(
    data: Trajectories,
    rows: LoggedRows,
    choices: Choices,
    scale: Scale,
    settings: FitSettings,
) -> FittedValues:
    """Fit all policies and members, and read their values at the first states of all trajectories."""
    plans = [_Member(data, settings, member) for member in range(settings.members)]
    table, policies = jax.tree.map(jnp.asarray, (rows, choices))
    sizes = [rows.observations.shape[1] + rows.actions.shape[1], *settings.hidden, 1]
    states, fit, read = _first_states(len(choices.following_known), sizes, settings), *_programs(scale, settings)
    blocks = 4 * math.ceil(settings.steps / (4 * BLOCK))  # all of one length: the program is compiled once
    length = math.ceil(settings.steps / blocks)
    quarters = []
    for block in range(1, blocks + 1):
        obey_signal()
        done = np.arange((block - 1) * length, block * length) / (blocks * length)
        rates = jnp.asarray(settings.rate * 0.5 * (1 + np.cos(np.pi * done)), jnp.float32)
        planned = [member.plan(length) for member in plans]
        indices, fresh = (jnp.asarray(np.stack(part)) for part in zip(*planned, strict=True))
        states = fit(states, table, policies.following, policies.following_known, indices, fresh, rates)
        if 4 * block % blocks == 0:
            fitted = np.asarray(read(states.slow, table.observations[data.starts], policies.starting), np.float64)
            quarters.append((scale.shift + scale.spread * fitted).clip(scale.low, scale.high))
    before, drift, _ = np.diff([values.mean((1, 2)) for values in quarters], axis=0)
    share = np.clip(np.abs(drift) / np.maximum(np.abs(before), np.finfo(float).tiny), 0.0, MOST_SHARE)
    counts = np.stack([member.counts for member in plans])
    return FittedValues(quarters[-1], drift, drift * share / (1 - share), counts)


def _first_states(policies: int, sizes: list[int], settings: FitSettings) -> FitState:
    """(policies, members, ...) the same members for all policies."""

    def one(key: jax.Array) -> FitState:
        network = MLP(key, sizes, layer_norm=True)
        return FitState(learner(network), copy(network), jnp.zeros(settings.batch_size))

    members = jax.vmap(one)(jax.random.split(jax.random.PRNGKey(settings.seed), settings.members))
    return FitState(*jax.tree.map(lambda leaf: jnp.repeat(leaf[None], policies, 0), tuple(members)))


def _programs(scale: Scale, settings: FitSettings) -> tuple[Any, Any]:
    """What fits all networks to a block, and what reads their values."""
    block = partial(_fit_block, scale=scale, beta=settings.beta, target_rate=settings.target_rate)
    each_member = jax.vmap(block, in_axes=(0, None, None, None, 0, 0, None))
    each_policy = jax.vmap(each_member, in_axes=(0, None, 0, 0, None, None, None))
    options = QUICKLY if current_device().platform == "cpu" else None
    read = jax.vmap(jax.vmap(value, in_axes=(0, None, None)), in_axes=(0, None, 0))
    return jax.jit(each_policy, donate_argnums=0, compiler_options=options), jax.jit(read)


def _fit_block(
    state: FitState,
    table: LoggedRows,
    following: jax.Array,
    following_known: jax.Array,
    indices: jax.Array,
    fresh: jax.Array,
    rates: jax.Array,
    *,
    scale: Scale,
    beta: float,
    target_rate: float,
) -> FitState:
    """One network of one policy: scan over its plan, (steps, batch)."""

    def update(state: FitState, planned: Any) -> tuple[FitState, None]:
        rows, fresh, rate = planned
        ahead = scale.shift + scale.spread * value(state.slow, table.successors[rows], following[rows])
        batch = SimpleNamespace(rewards=table.rewards[rows], terminals=table.terminals[rows], fresh=fresh)
        target, carry = weighted_target(
            state.carry, batch, ahead, discount=scale.discount, beta=beta, low=scale.low, high=scale.high
        )

        def loss(network: MLP) -> jax.Array:
            fitted = scale.shift + scale.spread * value(network, table.observations[rows], table.actions[rows])
            return jnp.mean(following_known[rows] * ((fitted - target) / scale.spread) ** 2)

        network = step(state.network, jax.grad(loss)(state.network.params), rate)
        return FitState(network, follow(state.slow, network.params, target_rate), carry), None

    return jax.lax.scan(update, state, (indices, fresh, rates))[0]


class _Member:
    """The resample of one member, and the memory that plans its rows."""

    def __init__(self, data: Trajectories, settings: FitSettings, member: int) -> None:
        stream = np.random.default_rng([settings.seed, member])
        playable = np.flatnonzero(data.transitions > 0)
        drawn = np.sort(stream.choice(playable, len(data)))
        self.counts = np.bincount(drawn, minlength=len(data))
        self._row = rows_of(data.starts[drawn], data.lengths[drawn])
        # Staggered: the first batches would otherwise be last rows only.
        kind = UniformReplay if settings.order == "uniform" else partial(TrajectoryReplay, stagger=True)
        self.memory: UniformReplay | TrajectoryReplay = kind(seed=stream)
        self.memory.load_offline_dataset(_skeleton(data).select(drawn))
        self.batch_size = settings.batch_size

    def plan(self, steps: int) -> tuple[Array, Array]:
        """Rows of the whole log and where sweeps start, each (steps, batch)."""
        plan = self.memory.plan(steps, self.batch_size)
        return self._row[plan.indices].astype(np.int32), plan.fresh


def _skeleton(data: Trajectories) -> Trajectories:
    """The data without its observations and actions, which planning does not need."""
    nothing = np.zeros((data.rows, 1), np.int8)
    return replace(data, observations=nothing, actions=nothing, final_observations=nothing[: len(data)])
