"""Critic targets: one-step, SARSA and weighted (eq. 2, 3 and 4 of the paper), carried or recomputed over a window.

The code works with NumPy, torch and JAX arrays. A backward sweep visits t+1 right before t, so the target of t+1 is
known when t needs it: one number per slot is carried, the paper's "Q table".

    y_t = r_t                                                    at a terminal
    y_t = r_t + discount * bootstrap_t                           where a sweep starts (`fresh`), without y_{t+1}
    y_t = r_t + discount * [(1 - beta) * y_{t+1} + beta * bootstrap_t]    elsewhere

`bootstrap_t` is what the algorithm's one-step target multiplies by the discount: Q(s', pi(s')) for TD3+BC, V(s') for
IQL, min Q - alpha * log pi for EDAC. With frozen networks, y is the lambda-return with lambda = 1 - beta: beta = 1 is
the one-step target, beta = 0 the Monte-Carlo return with the bootstrap at the tail (SARSA).

`lambda_window` recomputes the same y for single rows, from the rewards and bootstraps of the rows that follow
(`Replay.sample_chunks`), with lambda in place of 1 - beta: for any sampler, at the cost of a bootstrap per row. Where
a window ends before the trajectory does, its last row bootstraps. lambda = 1 is the n-step return.

The Q values of a critic that diverges leave the range of possible returns, and bootstrapping makes them grow further.
Bounds on y (`low`, `high`) prevent that: with rewards of -1 and 0 and a discount of 0.99, all y are in [-100, 0].
`target_bounds` computes them from the rewards of the data.
"""

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from rewind.arrays import array_state, plain_state, to_numpy
from rewind.errors import UsageError, warn

BOUNDS = ("low", "high")
CARRIED = ("carry", "trajectories", "timesteps")
SLACK = 0.05  # of the range of possible returns: a Q further outside has diverged


def weighted_target(
    carry: Any, batch: Any, bootstrap: Any, *, discount: Any, beta: Any, low: Any = None, high: Any = None
) -> tuple[Any, Any]:
    """The critic targets of one batch, and the carry for the next batch.

    carry: (batch,) the targets of the previous batch; any finite numbers before the first one
    batch: an object with `rewards`, `terminals` and `fresh`, each (batch,)
    bootstrap: (batch,) the value of the successor state
    low, high: bounds of the targets, None for no bound
    returns: (target, carry), both (batch,)
    """
    xp = _namespace(bootstrap)
    one_step = batch.rewards + discount * bootstrap
    weighted = batch.rewards + discount * ((1 - beta) * carry + beta * bootstrap)
    target = xp.where(batch.terminals, batch.rewards, xp.where(batch.fresh, one_step, weighted))
    if low is not None or high is not None:
        target = xp.clip(target, low, high)
    return target, target


def lambda_window(window: Any, bootstrap: Any, *, discount: Any, lam: Any, low: Any = None, high: Any = None) -> Any:
    """The critic targets of the first rows of chunks: Peng's Q(lambda), cut at the end of the chunk.

    window: an object with `rewards`, `terminals` and `tails`, each (..., length): rows in the order of time.
        What follows a terminal or a tail is ignored
    bootstrap: (..., length) the value of each row's successor state
    low, high: bounds of the targets, None for no bound
    returns: (...)
    """
    xp = _namespace(bootstrap)

    def carried(target: Any, row: Any) -> Any:
        reward, terminal, tail, ahead = row
        if target is not None:
            ahead = xp.where(tail, ahead, (1 - lam) * ahead + lam * target)
        target = xp.where(terminal, reward, reward + discount * ahead)
        return target if low is None and high is None else xp.clip(target, low, high)

    columns = window.rewards, window.terminals, window.tails, bootstrap
    target = carried(None, [column[..., -1] for column in columns]) + 0 * lam  # of the shape and type of the others
    if xp.__name__ == "jax.numpy":  # a loop: XLA's compiler takes minutes for the same written out over 40 rows
        lax = importlib.import_module("jax").lax
        earlier = [xp.moveaxis(column[..., :-1], -1, 0) for column in columns]
        return lax.scan(lambda target, row: (carried(target, row), None), target, earlier, reverse=True)[0]
    for at in reversed(range(bootstrap.shape[-1] - 1)):
        target = carried(target, [column[..., at] for column in columns])
    return target


def target_bounds(rewards: Any, discount: float) -> tuple[float, float]:
    """The smallest and the largest return (low, high) possible with these rewards, for episodes of any length.

    rewards: all rewards of the data, as the critic sees them
    """
    if not 0.0 <= discount < 1.0:
        raise UsageError(f"discount is {discount}; expected at least 0 and less than 1: otherwise there are no bounds")
    rewards = rewards if hasattr(rewards, "shape") else np.asarray(rewards)
    if 0 in rewards.shape:
        raise UsageError("no rewards: the bounds of targets are unknown")
    low, high = float(rewards.min()), float(rewards.max())
    if not np.isfinite([low, high]).all():
        raise UsageError(f"rewards from {low} to {high}: the bounds of targets are unknown")
    # An episode of one step returns a single reward.
    return min(low, low / (1 - discount)), max(high, high / (1 - discount))


def excess(q: Any, low: float, high: float) -> Any:
    """How far Q is outside `target_bounds`, in units of their range: 0 inside; more than `SLACK` has diverged.

    NaN if Q is NaN, if there are no bounds, and if they are the same number: there is no unit then.
    """
    if not np.isfinite([low, high]).all() or low == high:
        return np.full(np.shape(q), np.nan)
    return np.maximum(0.0, np.maximum(q - high, low - q)) / (high - low)


NEVER_CARRIED = 3  # batches without a row that continues a sweep, after which a warning says so


class WeightedTarget:
    """`weighted_target` for a training loop: keeps one number per slot between calls and checks the order of batches.

    Call it once for every batch, in the order of the memory:

        target = WeightedTarget(discount=0.99, beta=0.75)
        y = target(batch, bootstrap)          # bootstrap: (batch,) Q(s', pi(s'))

    What is carried is detached: a gradient never reaches back into an earlier batch.

    low, high: bounds of the targets, None for no bound
    """

    def __init__(
        self, discount: float = 0.99, beta: float = 1.0, low: float | None = None, high: float | None = None
    ) -> None:
        _check_numbers(low, high, discount=discount, beta=beta)
        self.discount = float(discount)
        self.beta = float(beta)
        self.low = None if low is None else float(low)
        self.high = None if high is None else float(high)
        self._carry: Any = None
        self._trajectories: Any = None
        self._timesteps: Any = None
        self._unused = 0  # batches in a row in which all rows were fresh

    def __call__(self, batch: Any, bootstrap: Any) -> Any:
        _check_library(batch, bootstrap)
        # A batch on an accelerator keeps its host arrays, so that the check needs no transfer.
        host = batch if getattr(batch, "host", None) is None else batch.host
        self._check(host, bootstrap)
        carry = bootstrap if self._carry is None or self.beta == 1.0 else _from_numpy(self._carry, bootstrap)
        target, carry = weighted_target(
            carry, batch, bootstrap, discount=self.discount, beta=self.beta, low=self.low, high=self.high
        )
        self._carry = _detached_copy(carry)  # the loop may change its targets in place, or call this with gradients on
        # Copies: those of a batch are views of its plan, which `plan(into=...)` overwrites.
        self._trajectories, self._timesteps = np.array(host.trajectories), np.array(host.timesteps)
        return target

    def _check(self, host: Any, bootstrap: Any) -> None:
        if tuple(bootstrap.shape) != tuple(host.fresh.shape):
            raise UsageError(
                f"bootstrap has shape {tuple(bootstrap.shape)}; expected {tuple(host.fresh.shape)}, one per row"
            )
        if self.beta == 1.0:  # nothing is carried
            return
        if self._trajectories is None:
            continues = np.zeros(host.fresh.shape, dtype=bool)
        elif self._trajectories.shape != host.trajectories.shape:
            raise UsageError(
                f"the batch has {len(host.fresh)} slots, the previous one had {len(self._trajectories)}; "
                "targets are carried per slot, so the batch size must not change (reset() clears the slots)"
            )
        else:
            same = host.trajectories == self._trajectories
            continues = same & (host.timesteps == self._timesteps - 1)
        wrong = ~(continues | host.fresh)
        if wrong.any():
            slot = int(np.argmax(wrong))
            before = "none (this is the first batch)"
            if self._trajectories is not None:
                before = f"trajectory {self._trajectories[slot]} step {self._timesteps[slot]}"
            raise UsageError(
                f"slot {slot} is at trajectory {host.trajectories[slot]} step {host.timesteps[slot]}, but its previous "
                f"row was {before}: a batch was skipped, repeated or shuffled. "
                "Call the target once for every batch, in order, of a memory that plays backward; "
                "when you load the memory's state, load the target's too"
            )
        self._unused = self._unused + 1 if host.fresh.all() else 0
        if self._unused == NEVER_CARRIED:
            warn("no row of the last batches continued a sweep: nothing is carried, and beta has no effect")

    def reset(self) -> None:
        """Clear the carried targets; all rows of the next batch must be `fresh`."""
        self._carry = self._trajectories = self._timesteps = None

    def state_dict(self) -> dict[str, Any]:
        """The carried targets and the position of each slot."""
        state: dict[str, Any] = {"discount": self.discount, "beta": self.beta, "started": self._carry is not None}
        state |= {name: getattr(self, name) for name in BOUNDS if getattr(self, name) is not None}
        if self._carry is not None:
            state |= {name: to_numpy(getattr(self, f"_{name}")) for name in CARRIED}
        return plain_state(state)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a saved state."""
        if not isinstance(state, Mapping):
            raise UsageError(f"the state is a {type(state).__name__}; expected what state_dict() returned")
        try:
            state = array_state(state)
            # The carry is converted to the loop's library at the next call.
            carried: list[Any] = (
                [np.array(state[name]) for name in CARRIED] if state["started"] else [None] * len(CARRIED)
            )
            shapes = [np.shape(array) for array in carried]
            if len(set(shapes)) > 1:
                raise ValueError(f"{', '.join(CARRIED)} have shapes {shapes}")
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise UsageError(f"the state is incomplete or damaged ({error!r}); nothing was loaded") from error
        for name in ("discount", "beta", *BOUNDS):
            if state.get(name) != getattr(self, name):
                raise UsageError(
                    f"the state was saved with {name} {state.get(name)}, this target has {getattr(self, name)}"
                )
        self._carry, self._trajectories, self._timesteps = carried


class LambdaWindow:
    """`lambda_window` for a training loop, with any memory:

        target = LambdaWindow(length=5, lam=0.9, discount=0.99)      # lam=1: the 5-step return
        chunks = memory.sample_chunks(256, target.length)
        y = target(chunks, bootstrap)         # bootstrap: (batch, length) Q(s', pi(s')) of all rows
        ...                                   # y: (batch,) the targets of chunks.observations[:, 0]

    low, high: bounds of the targets, None for no bound
    """

    def __init__(
        self, length: int, lam: float, discount: float = 0.99, low: float | None = None, high: float | None = None
    ) -> None:
        _check_numbers(low, high, discount=discount, lam=lam)
        if not (isinstance(length, (int, np.integer)) and length >= 1):
            raise UsageError(f"length is {length!r}; expected a whole number, at least 1")
        self.length, self.lam, self.discount = int(length), float(lam), float(discount)
        self.low, self.high = low, high

    def __call__(self, chunks: Any, bootstrap: Any) -> Any:
        _check_library(chunks, bootstrap)
        expected = (len(chunks.indices), self.length)
        for name, array in (("rewards", chunks.rewards), ("bootstrap", bootstrap)):
            if tuple(array.shape) != expected:
                raise UsageError(f"{name} has shape {tuple(array.shape)}; expected {expected}, one per row of a chunk")
        return lambda_window(chunks, bootstrap, discount=self.discount, lam=self.lam, low=self.low, high=self.high)


def _check_numbers(low: float | None, high: float | None, **shares: float) -> None:
    for name, value in shares.items():
        if not (_is_number(value) and 0.0 <= value <= 1.0):
            raise UsageError(f"{name} is {value!r}; expected a number from 0 to 1")
    for name, bound in (("low", low), ("high", high)):
        if bound is not None and not _is_number(bound):
            raise UsageError(f"{name} is {bound!r}; expected a number, or None for no bound")
    if low is not None and high is not None and not low < high:
        raise UsageError(f"low is {low} and high is {high}; expected low to be less than high")


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, str)


def _check_library(batch: Any, bootstrap: Any) -> None:
    """Torch alone does not compute with NumPy's arrays."""
    if not hasattr(bootstrap, "shape"):
        raise UsageError(f"bootstrap is a {type(bootstrap).__name__}; expected an array, one value per row")
    if hasattr(bootstrap, "detach") and not hasattr(batch.rewards, "detach"):
        raise UsageError("bootstrap is a torch tensor, but the batch is not: take batch.as_torch(device)")


# Arrays of any library: NumPy, torch, JAX. Only NumPy is imported unless you pass an array of another library.


def _namespace(array: Any) -> Any:
    """The array library of an array: NumPy, jax.numpy or torch."""
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    library = type(array).__module__.split(".")[0]
    if library in ("builtins", "numpy"):
        return np
    return importlib.import_module("jax.numpy" if library in ("jax", "jaxlib") else library)


def _detached_copy(array: Any) -> Any:
    """A copy through which no gradient flows. Immutable arrays (JAX) are not copied."""
    if hasattr(array, "detach"):
        return array.detach().clone()
    if isinstance(array, np.ndarray):
        return array.copy()
    return importlib.import_module("jax").lax.stop_gradient(array)


def _from_numpy(array: Any, like: Any) -> Any:
    """A NumPy array in the library and on the device of `like`; other arrays are returned as they are."""
    if not isinstance(array, np.ndarray) or isinstance(like, np.ndarray):
        return array
    if hasattr(like, "detach"):
        return _namespace(like).as_tensor(array).to(like.device)
    return _namespace(like).asarray(array)
