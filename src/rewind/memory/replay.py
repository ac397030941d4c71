"""`Replay`: the base class of all memories."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import numpy as np

from rewind.arrays import Array, array_state, plain_state, to_numpy
from rewind.data import Trajectories, load
from rewind.errors import DataError, UsageError, warn
from rewind.memory.batch import Batch, Plan, check_plan, check_positive, check_step, is_integer
from rewind.memory.store import Store, check_fits, check_playable, growing_store, load_store
from rewind.memory.stream import UniformStream
from rewind.table import counted

State = dict[str, Any]

STATE_VERSION = 1
PLANNED = ("indices", "fresh", "trajectories")  # arrays of a plan


class Replay(ABC):
    """A memory takes data, returns batches or plans, accepts feedback, and has a state that resumes exactly."""

    order = "backward"  # of the rows of a sweep

    def __init__(self, seed: Any = None, capacity: int | None = None) -> None:
        if capacity is not None and not (is_integer(capacity) and capacity > 0):
            raise UsageError(f"capacity is {capacity!r}; expected a positive number of rows, or None")
        self._stream = UniformStream(seed)
        self._capacity = capacity
        self._store: Store | None = None
        self._step = 0  # batches planned so far
        self._last: Plan | None = None  # the plan that feedback belongs to by default
        self._warned: set[str] = set()

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self._config().items())
        store, held = self._store, "empty"
        if store is not None:
            held = f"{counted(len(store), 'trajectory')}, {counted(store.transitions.sum(), 'transition')}"
        return f"<{type(self).__name__}({settings}): {held}>"

    # Data

    def load_offline_dataset(self, dataset: Any) -> None:
        """Load a data set: a D4RL-style dict, Trajectories, a list of episodes, a path, or a name."""
        data = dataset if isinstance(dataset, Trajectories) else load(dataset)
        check_playable(data.transitions)
        self._load(data, Store)

    def _load(self, data: Trajectories, make_store: Callable[[Trajectories, int | None], Store]) -> None:
        store = make_store(data, self._capacity)
        self._prepare(data, store)
        self._store = store
        self._step = 0
        self._last = None

    @property
    def store(self) -> Store:
        if self._store is None:
            raise UsageError("the memory is empty: call load_offline_dataset or add first")
        return self._store

    def add(self, episodes: Any) -> None:
        """Add finished trajectories while training, or one episode; with a capacity, the oldest are dropped.

        An empty memory starts with them.
        """
        data = load(episodes)
        if self._store is None:
            self._start(data)
            return
        self.store.check_addable(data)
        self._add(data, self.store)
        self._last = None  # its rows may be dropped

    def _start(self, data: Trajectories) -> None:
        """Load as many trajectories as fit, and add the others."""
        check_playable(data.transitions)
        fit = len(data)
        if self._capacity is not None:
            check_fits(data, self._capacity)
            fit = int(np.count_nonzero(np.cumsum(data.lengths) <= self._capacity))
        numbers, loaded = np.arange(len(data)), copy(self)  # nothing changes here if one of the others is wrong
        loaded._load(data.select(numbers[:fit]), growing_store)
        if fit < len(data):
            loaded._add(data.select(numbers[fit:]), loaded.store)
        self.__dict__ = loaded.__dict__

    # Batches and plans

    def sample(self, batch_size: int) -> Batch:
        """The next batch."""
        return self.gather(self.plan(1, batch_size), 0)

    def sample_chunks(self, batch_size: int, length: int) -> Batch:
        """The next batch, each row with those that follow it: arrays of (batch, length, ...), for multi-step targets.

        A chunk ends with its trajectory or with a terminal; what is missing repeats its last row, with `valid` False.
        """
        return self.gather(self.plan(1, batch_size), 0, length)

    def plan(self, steps: int, batch_size: int, into: Plan | None = None) -> Plan:
        """The rows of the next `steps` batches.

        into: a plan of that shape to overwrite instead of making a new one
        """
        store = self.store
        check_positive(steps=steps, batch_size=batch_size)
        shape = (int(steps), int(batch_size))
        if into is not None:
            check_plan(into)
            if into.indices.shape != shape:
                raise UsageError(f"the plan to fill has shape {into.indices.shape}; expected {shape}")
        plan = into
        if plan is None:
            plan = Plan(np.empty(shape, np.int64), np.empty(shape, bool), np.empty(shape, np.int64), 0)
        plan.first_step, plan.data = self._step, store.origin
        self._fill(plan, store)
        self._step += int(steps)
        self._last = plan
        return plan

    @property
    def last_plan(self) -> Plan | None:
        """The last plan (or sample), if feedback without a plan still belongs to it."""
        return self._last

    def gather(self, plan: Plan, step: int, length: int | None = None) -> Batch:
        """The batch of one step of a plan, or the chunks of this length that start at its rows."""
        check_plan(plan, self.store.origin)
        check_step(plan, step)
        if length is not None:
            return self.store.gather_chunks(plan[step], length)
        backward = self.order == "backward"
        return self.store.gather(plan.indices[step], plan.fresh[step], plan.trajectories[step], backward)

    def chunks(self, plan: Plan, length: int) -> tuple[Array, Array]:
        """The rows of the chunks that start at the rows of a plan, and which are valid; both (steps, batch, length)."""
        check_plan(plan, self.store.origin)
        return self.store.chunks(plan, length)

    # Feedback. A memory that does not use it still checks it, so that memories are interchangeable.

    def update_uncertainty(self, values: Any, plan: Plan | None = None) -> None:
        """One value per row of the last sample (or of `plan`): the critics' disagreement at (s, a)."""
        self._feed(*self._feedback("uncertainty", values, plan), kind="uncertainty")

    def update_priorities(self, td_errors: Any, plan: Plan | None = None) -> None:
        """One TD error per row of the last sample (or of `plan`)."""
        self._feed(*self._feedback("td_errors", td_errors, plan), kind="td_errors")

    def _feedback(self, name: str, values: Any, plan: Plan | None) -> tuple[Plan, Array]:
        plan = self._last if plan is None else plan
        if plan is None:
            raise UsageError(f"update of {name} before any sample or plan")
        check_plan(plan, self.store.origin)
        array = to_numpy(values)
        shape = plan.indices.shape
        if array.shape != shape and not (len(plan) == 1 and array.shape == shape[1:]):
            expected = shape[1:] if len(plan) == 1 else shape
            raise DataError(f"{name} has shape {array.shape}; expected {expected}, one value per row")
        if array.dtype.kind not in "fiu":
            raise DataError(f"{name} has dtype {array.dtype}; expected numbers")
        array = array.reshape(shape)
        finite = np.isfinite(array)
        if not finite.all():
            step, slot = (int(i) for i in np.argwhere(~finite)[0])
            raise DataError(
                f"{name} is {array[step, slot]} at step {step}, slot {slot} (row {plan.indices[step, slot]}); "
                "expected finite numbers"
            )
        return plan, array

    def reset(self) -> None:
        """Forget the last sample: feedback then needs a new one, or its plan."""
        self._last = None

    # State

    def state_dict(self, data: bool = False) -> State:
        """The state after the last planned row, for `torch.save`, `np.savez` or, where it is small, JSON.

        data: include what is held, so that an empty memory can load the state
        """
        return plain_state(self.snapshot(data))

    def snapshot(self, data: bool = False) -> State:
        """The same state with NumPy arrays."""
        held = self._data_state() if data else {}
        return {
            **{f"data.{key}": value for key, value in held.items()},
            "version": STATE_VERSION,
            "kind": type(self).__name__,
            "data": self.store.fingerprint,
            "step": self._step,
            "stream": self._stream.state(),
            **{f"config.{key}": value for key, value in self._config().items()},
            **{f"pending.{key}": value for key, value in self._pending().items()},
            **self._state(),
        }

    def load_state_dict(self, state: State) -> None:
        """Resume from a saved state, with exactly the same batches. Settings must be the same.

        The data must be the same too, unless the state has it: it then replaces what this memory holds.
        """
        if not isinstance(state, Mapping):
            raise UsageError(f"the state is a {type(state).__name__}; expected what state_dict() returned")
        loaded = copy(self)  # nothing changes here if something is wrong with the state
        loaded._stream = UniformStream(0)
        try:
            state = array_state(state)
            if "data.lengths" in state:
                loaded._store = load_store(state, self._capacity)
            loaded._check_state(state)
            loaded._load_state(state, loaded.store)
            loaded._stream.load_state(state["stream"])
            loaded._step, loaded._last = int(state["step"]), None
            if "pending.first_step" in state:
                arrays = {name: np.array(state[f"pending.{name}"]) for name in PLANNED}
                loaded._last = Plan(**arrays, first_step=int(state["pending.first_step"]), data=loaded.store.origin)
        except UsageError:
            raise
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise UsageError(f"the state is incomplete or damaged ({error!r}); nothing was loaded") from error
        self.__dict__ = loaded.__dict__

    def _pending(self) -> State:
        """The last plan, if this memory still expects feedback for it."""
        if self._last is None or not self._awaits(self._last):
            return {}
        arrays = {name: getattr(self._last, name).copy() for name in PLANNED}
        return {**arrays, "first_step": self._last.first_step}

    def _check_state(self, state: State) -> None:
        if state.get("version") != STATE_VERSION or state.get("kind") != type(self).__name__:
            raise UsageError(
                f"this is the state of a {state.get('kind')} (version {state.get('version')}); "
                f"expected one of a {type(self).__name__} (version {STATE_VERSION})"
            )
        if state.get("data") != self.store.fingerprint:
            raise UsageError(
                f"the state belongs to other data (digest {state.get('data')}, here {self.store.fingerprint}); "
                "load the data it was saved with first"
            )
        for key, mine in self._config().items():
            theirs = state.get(f"config.{key}")
            if theirs != mine:
                raise UsageError(f"the state was saved with {key} {theirs!r}, this memory has {mine!r}")

    def _warn_once(self, about: str, message: str) -> None:
        if about not in self._warned:
            self._warned.add(about)
            warn(message)

    # What each memory implements

    @abstractmethod
    def _prepare(self, data: Any, store: Store) -> None:
        """Prepare to play from new data. If this raises an error, nothing may have changed."""

    @abstractmethod
    def _fill(self, plan: Plan, store: Store) -> None:
        """Choose the rows of all steps of an empty plan."""

    @abstractmethod
    def _add(self, data: Trajectories, store: Store) -> None:
        """Add checked trajectories to the store, and prepare to play from it."""

    def _feed(self, plan: Plan, values: Array, kind: str) -> None:  # noqa: B027
        """Use the feedback of a plan; kind: "uncertainty" or "td_errors". By default it is ignored."""

    def _awaits(self, plan: Plan) -> bool:
        """Whether feedback for this plan may still come and would have an effect."""
        return False

    def _data_state(self) -> State:
        """What is held, for a state with data."""
        return self.store.state()

    def _config(self) -> State:
        """Settings that must agree for a state to be loaded."""
        return {}

    def _state(self) -> State:
        """What a state holds beyond the random stream and the step."""
        return {}

    def _load_state(self, state: State, store: Store) -> None:
        """Prepare to play from the store, and load what `_state` returned."""
        self._prepare(None, store)
