"""What an agent is, and how to write your own.

An agent is a frozen `equinox.Module`: its sizes are static (`shape`), its numbers are leaves (`number`).
Agents with the same sizes are pytrees of one kind: one compiled program, and one `vmap`, trains them all.
An agent remembers nothing: `init` makes a state, `update` makes the next one. Your own agent is one file:

    class ClonedState(NamedTuple):
        actor: Learner[MLP]
        critics: Learner[MLP]
        carry: Array  # (batch,) the targets of the previous batch, one per slot

    class ClonedValue(Agent[ClonedState]):
        '''Evaluates the policy that made the data: the actor imitates, the critics learn its Q.'''

        rate: Scalar = number(3e-4)
        discount: Scalar = number(0.99)
        beta: Scalar = number(1.0)

        def init(self, key: Array, batch_size: int) -> ClonedState: ...
        def update(self, state: ClonedState, batch: Transitions) -> tuple[ClonedState, Metrics, Array]: ...
        def q_values(self, state: ClonedState, observations: Array, actions: Array) -> Array: ...
        def policy(self, state: ClonedState) -> MLP: ...

`docs/agents.md` has this one in full. Compile the unbound method, so that the numbers stay arguments:

    update = jax.jit(TD3BC.update)
    state, metrics, uncertainty = update(agent, state, batch)
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import fields, replace
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from rewind.agents.networks import MLP, Array, Scalar
from rewind.errors import UsageError
from rewind.targets import lambda_window, weighted_target

Metrics = dict[str, Array]
State = TypeVar("State")

LOW, HIGH = "target_low", "target_high"
RANGE = "range"  # of a field, in its metadata


class Window(NamedTuple):
    """Each row of a batch with those that follow it, in the order of time, for targets over a window."""

    rewards: Array  # (period, batch, window)
    terminals: Array  # (period, batch, window) bool
    tails: Array  # (period, batch, window) bool: the last transition of its trajectory; what follows is another's
    next_observations: Array  # (period, batch, window, observation)


class Transitions(NamedTuple):
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
    window: Window | None = None  # of an agent whose `window` is more than 1
    next_actions: Array | None = None  # (period, batch[, window], action) where an agent wants them
    next_known: Array | None = None  # (period, batch[, window]) bool: whether the data took one in the next state

    @property
    def successors(self) -> Array:
        """The states that targets bootstrap from: (period, batch, observation), or (period, batch, window, ...)."""
        return self.next_observations if self.window is None else self.window.next_observations

    def split(self, period: int) -> list[Transitions]:
        """The batches one by one, without the leading axis."""
        given = len(self.rewards)
        if given != period:
            raise UsageError(f"the batch has a leading axis of {given}; this agent takes {period} batches per update")
        batches: list[Transitions] = [jax.tree.map(lambda leaf, at=at: leaf[at], self) for at in range(period)]
        return batches


def shape(default: Any = ..., low: float | None = None) -> Any:
    """A field that is part of the compiled program: sizes, and what belongs to the data set. low: the least value."""
    metadata = {} if low is None else {RANGE: (low, math.inf)}
    options: dict[str, Any] = {} if default is ... else {"default": default}
    if isinstance(default, tuple):
        options["converter"] = lambda value: tuple(value) if isinstance(value, list) else value
    return eqx.field(static=True, metadata=metadata, **options)


def number(default: float, low: float = -math.inf, high: float = math.inf) -> Any:
    """A field that is an argument of the compiled program: anything a user may sweep, from `low` to `high`."""
    return eqx.field(default=default, converter=_float32, metadata={RANGE: (low, high)})


def _check_range(name: str, value: Any, low: float, high: float, default: Any) -> None:
    if isinstance(default, tuple) and not isinstance(value, tuple):
        raise UsageError(f"{name} is {value!r}; expected several numbers, such as {default}")
    numbers, endless = np.asarray(value), isinstance(default, float) and math.isinf(default)
    numeric = numbers.dtype.kind in "biuf"
    if not numeric or not ((low <= numbers) & (numbers <= high) & (np.isfinite(numbers) | endless)).all():
        expected = f"a number from {low:g} to {high:g}" if np.isfinite(high) else f"at least {low:g}"
        expected = expected if np.isfinite(low) else "a finite number"
        raise UsageError(f"{name} is {f'{numbers:g}' if numeric and not numbers.ndim else value}; expected {expected}")


def _float32(value: Any) -> Any:
    # Plain numbers stay with NumPy: describing an agent must not start JAX, which reads its options only once.
    return value.astype(jnp.float32) if isinstance(value, jax.Array) else np.asarray(value, np.float32)


class Agent(eqx.Module, Generic[State]):
    """What is learned, as pure functions from state to state. All leaves of `State` are arrays.

    An agent defines `init`, `update` and `policy`. Everything else has a default that suits a policy of
    max_action * tanh(network) and an agent without critics; its own fields say which it has:

    period: consecutive batches that one `update` takes, where it takes more than one
    discount, beta: of the targets of its critics (`rewind.targets`)
    window: rows over which targets are recomputed instead of carried, 1 by default
    target_low, target_high: bounds of these targets, infinite by default
    """

    observation_size: int = shape(low=1)
    action_size: int = shape(low=1)

    entropy_bonus: ClassVar[bool] = False
    """Whether Q contains more than rewards, so that rewards do not bound it."""

    def __check_init__(self) -> None:
        numbers = {name: value for name, value in vars(self).items() if not isinstance(value, jax.core.Tracer)}
        for field in fields(self):
            if field.name in numbers and RANGE in field.metadata:
                low, high = field.metadata[RANGE]
                _check_range(field.name, numbers[field.name], low, high, field.default)
        low, high = numbers.get(LOW, -math.inf), numbers.get(HIGH, math.inf)
        if not low <= high:
            raise UsageError(f"target_low is {low:g} and target_high {high:g}; expected the low one to be less")

    discrete: ClassVar[bool] = False
    """Whether it chooses one of `action_size` actions, which are one-hot: the one where its network is largest."""

    next_actions: ClassVar[bool] = False
    """Whether its batches have the actions that the data took in the next states."""

    # Learning

    @abstractmethod
    def init(self, key: Array, batch_size: int) -> State:
        """The state before the first update. batch_size: the number of slots."""

    @abstractmethod
    def update(self, state: State, batch: Transitions) -> tuple[State, Metrics, Array]:
        """Learn from `period` batches.

        returns: the next state; scalars to log; (period, batch) the standard deviation over the online
            critics at (s, a), from the forward pass of the critic loss, before its step
        """

    def q_values(self, state: State, observations: Array, actions: Array) -> Array | None:
        """(rows,): Q(s, a), the mean of the critics; None for an agent without critics."""
        return None

    # Acting

    @abstractmethod
    def policy(self, state: State) -> Any:
        """The part of the state that acts: what evaluation needs and what is kept of a finished run."""

    def act(self, policy: Any, observations: Array) -> Array:
        """(rows, observation) -> (rows, action): the deterministic policy, within +-max_action, or one-hot."""
        if self.discrete:
            return jax.nn.one_hot(jnp.argmax(policy(observations), axis=-1), self.action_size)
        return jnp.tanh(policy(observations)) * self.max_action

    def network(self, policy: Any) -> MLP | None:
        """The network whose tanh times max_action, or argmax, is the action, for export; None: it cannot be exported.

        An agent with an `act` of its own has none, unless it defines this too.
        """
        return policy if isinstance(policy, MLP) and type(self).act is Agent.act else None

    # What the fields say

    @property
    def max_action(self) -> float:
        """The largest action, in each dimension."""
        return 1.0

    @property
    def period(self) -> int:
        """How many consecutive batches one `update` takes."""
        return 1

    @property
    def layer_norm(self) -> bool:
        """Whether its critics normalise their hidden layers."""
        return False

    @property
    def discount(self) -> Scalar | None:
        """Of the critics' targets; None for an agent without critics."""
        return None

    @property
    def beta(self) -> Scalar | None:
        """Of the weighted target; None for an agent without one."""
        return None

    @property
    def disagrees(self) -> bool:
        """Whether it has several critics, whose disagreement `update` returns."""
        return self.discount is not None

    @property
    def largest_penalty(self) -> Scalar:
        """The most that a bootstrap can be below a value, which rewards do not show."""
        return 0.0

    @property
    def window(self) -> int:
        """Rows over which targets are recomputed; 1: none, the weighted target is carried."""
        return 1

    def target(self, carry: Array, batch: Transitions, bootstrap: Array) -> tuple[Array, Array]:
        """The critics' targets of one batch, and what is carried to the next (`rewind.targets`).

        bootstrap: the values of `batch.successors`
        """
        low, high = self.bounds or (None, None)
        if batch.window is None:
            return weighted_target(carry, batch, bootstrap, discount=self.discount, beta=self.beta, low=low, high=high)
        lam: Any = 1 - self.beta  # type: ignore[operator]  # an agent with targets has one
        return lambda_window(batch.window, bootstrap, discount=self.discount, lam=lam, low=low, high=high), carry

    @property
    def bounds(self) -> tuple[Scalar, Scalar] | None:
        """The least and the largest target of the critics; None where targets cannot be bounded."""
        return (vars(self)[LOW], vars(self)[HIGH]) if self.has(LOW, HIGH) else None

    def bounded(self, low: float, high: float) -> Self:
        """The same agent with targets between these two."""
        numbers: dict[str, Any] = {LOW: low, HIGH: high}
        return replace(self, **numbers)

    @classmethod
    def has(cls, *names: str) -> bool:
        """Whether an agent of this kind has fields of these names."""
        return {field.name for field in fields(cls)}.issuperset(names)

    @classmethod
    def defaults(cls, steps: int) -> dict[str, float]:
        """Fields that depend on the number of training steps, where they are infinite: their default."""
        return {}
