"""What the engine asks of an agent, and how to write one's own.

An agent is a frozen `equinox.Module`: its sizes are static (`shape`), its numbers are leaves (`number`).
Agents with the same sizes are pytrees of one kind: one compiled program, and one `vmap`, trains them all.
An agent remembers nothing: `init` makes a state, `update` makes the next one. One's own agent is one file:

    class State(NamedTuple):
        actor: Learner[MLP]
        critics: Learner[MLP]
        carry: Array  # (batch,) the targets of the previous batch, one per slot

    class ClonedValue(eqx.Module):
        '''Evaluates the policy that made the data: the actor imitates, the critics learn its Q.'''

        observation_size: int = shape()
        action_size: int = shape()
        period: ClassVar[int] = 1  # batches per update; more where something is updated less often
        rate: Scalar = number(3e-4)
        discount: Scalar = number(0.99)
        beta: Scalar = number(1.0)

        def init(self, key: Array, batch_size: int) -> State: ...
        def update(self, state: State, batch: Batch) -> tuple[State, Metrics, Array]: ...
        def policy(self, state: State) -> MLP: ...
        def act(self, policy: MLP, observations: Array) -> Array: ...

`docs/agents.md` has this one in full. Compile the unbound method, so that the numbers stay arguments:

    update = jax.jit(TD3BC.update)
    state, metrics, uncertainty = update(agent, state, batch)
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from rewind.errors import UsageError

Array = jax.Array
Scalar = float | Array
Metrics = dict[str, Array]
State = TypeVar("State")


class Batch(NamedTuple):
    """`period` consecutive batches of a plan; down a column, a slot walks back through a trajectory:

    row     observations  actions  rewards  next_observations  fresh
    k           s_9         a_9      r_9          s_10         True: a sweep starts, nothing is carried
    k + 1       s_8         a_8      r_8          s_9          False: the target of row k is carried
    k + 2       s_7         a_7      r_7          s_8          False
    """

    observations: Array  # (period, batch, observation)
    actions: Array  # (period, batch, action)
    rewards: Array  # (period, batch)
    next_observations: Array  # (period, batch, observation)
    terminals: Array  # (period, batch) bool: no bootstrap
    fresh: Array  # (period, batch) bool: nothing carried

    def split(self, period: int) -> list[Batch]:
        """The batches one by one, without the leading axis."""
        given = len(self.rewards)
        if given != period:
            raise UsageError(f"the batch has a leading axis of {given}; this agent takes {period} batches per update")
        return [Batch(*(field[index] for field in self)) for index in range(period)]


class Agent(Protocol[State]):
    """Pure functions from state to state. All leaves of `State` are arrays, so it can be mapped and saved."""

    @property
    def period(self) -> int:
        """How many consecutive batches one `update` takes."""

    def init(self, key: Array, batch_size: int) -> State:
        """The state before the first update. batch_size: the number of slots."""

    def update(self, state: State, batch: Batch) -> tuple[State, Metrics, Array]:
        """Learn from `period` batches.

        returns: the next state; scalars to log; (period, batch) the standard deviation over the online
            critics at (s, a), from the forward pass of the critic loss, before its step
        """

    def policy(self, state: State) -> Any:
        """The part of the state that acts: what evaluation needs and what is kept of a finished run."""

    def act(self, policy: Any, observations: Array) -> Array:
        """(rows, observation) -> (rows, action): the deterministic policy, within +-max_action."""


def shape(default: Any = ...) -> Any:
    """A field that is part of the compiled program: sizes, and what belongs to the data set."""
    return eqx.field(static=True) if default is ... else eqx.field(static=True, default=default)


def number(default: float) -> Any:
    """A field that is an argument of the compiled program: anything a user may sweep."""
    return eqx.field(default=default, converter=_float32)


def _float32(value: Any) -> Any:
    # Plain numbers stay with NumPy: describing an agent must not start JAX, which reads its options only once.
    return value.astype(jnp.float32) if isinstance(value, jax.Array) else np.asarray(value, np.float32)
