"""Trajectory Replay and Prioritized Trajectory Replay: sections 4 and 5 of the paper."""

from dataclasses import asdict, fields
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, load
from rewind.errors import DataError, UsageError, unknown_name, warn
from rewind.memory.batch import Plan
from rewind.memory.choice import RULES, Choice, choose
from rewind.memory.growing import Column
from rewind.memory.orders import ORDERS, reorder
from rewind.memory.pool import EPOCH_NOW, HELD, LAST_EPOCH, REUSE, START, Pool, make_pool, make_records
from rewind.memory.priorities import PRIORITIES, Priority, check_addable, check_priority, given_values
from rewind.memory.ranks import Ranked, Weighting
from rewind.memory.recording import Recorder
from rewind.memory.replay import Replay, State
from rewind.memory.store import Store, check_playable
from rewind.memory.sweeps import NUMBERS_PER_SLOT, Slots, load_slots, make_slots, play, sweep_warnings


class TrajectoryReplay(Replay):
    """Plays trajectories backward, one in each slot of the batch, and draws the next one by priority.

        memory = TrajectoryReplay(priority="uqm_reward", seed=0)    # TrajectoryReplay() is plain TR
        memory.load_offline_dataset(dataset)
        batch = memory.sample(256)

    priority: a name of `PRIORITIES`, "uniform", "paper" or "auto" (chosen from the data as the paper
        advises, or as our runs do), or one number per trajectory
    weighting: how values become probabilities: "rank" (eq. 5), "softmax" or "proportional"
    alpha: exponent of eq. 5; 0 is uniform
    temperature: of the other weightings; a small one prefers the best more
    order: "backward"; to compare, "forward" or "shuffled" play the same rows in another order, for one-step targets
    reuse: when a trajectory is available again: "on_finish" of its sweep, "epoch" (when all were used), or
        "replacement" (always)
    stagger: start the first sweep of each slot at a random step instead of the last one
    seed: an integer, a NumPy Generator or SeedSequence; None takes fresh entropy
    capacity: most rows to hold; adding more drops the oldest trajectories
    """

    def __init__(
        self,
        priority: str | Any = "uniform",
        *,
        alpha: float = 1.0,
        reuse: str = "on_finish",
        stagger: bool = False,
        order: str = "backward",
        weighting: str = "rank",
        temperature: float = 1.0,
        seed: Any = None,
        capacity: int | None = None,
    ) -> None:
        super().__init__(seed, capacity)
        check_priority(priority)
        if reuse not in REUSE:
            raise unknown_name("reuse", reuse, REUSE)
        if order not in ORDERS:
            raise unknown_name("order", order, ORDERS)
        self.weighting = Weighting(weighting, float(alpha), float(temperature))
        self.priority = priority if isinstance(priority, str) else np.asarray(priority, dtype=np.float64)
        self.choice: Choice | None = None  # of "paper" or "auto", and the reason
        self.reuse, self.order = reuse, order
        self.stagger = bool(stagger)
        self._metric: Priority | None = None
        self._given: Array | None = None  # the priorities of trajectories that are being added
        self._begin(np.empty(0), np.empty((0, 4), np.int64))

    # Data

    def _prepare(self, data: Trajectories, store: Store) -> None:
        choice = choose(data, rule=str(self.priority)) if self._chosen else None
        given = None if self._given is None else self._given[: len(data)]
        values = self._initial_values(data, self._metric_of(choice), given)
        self.weighting.check(values)
        if choice:
            warn(str(choice))
        self.choice, self._metric = choice, self._metric_of(choice)
        self._begin(values, make_records(store.starts, store.transitions))

    def _metric_of(self, choice: Choice | None) -> Priority | None:
        name = choice.priority if choice else str(self.priority)
        metric = PRIORITIES.get(name) if self._named else None
        if metric is not None and metric.dynamic and self.order != "backward":
            raise UsageError(f"priority '{name}' follows backward sweeps: order '{self.order}' cannot have it")
        return metric

    def _begin(self, values: Array, records: Array) -> None:
        """Hold trajectories of which none has been played."""
        self._columns = Column(values), Column(records)
        self._values = values  # (trajectories,) they are ranked by
        self._records = records  # (trajectories, 4) see Pool
        self._ranked: Ranked | None = None  # the last ranking
        self._pool: Pool | None = None  # None: ranks have changed since it was made
        self._slots: Slots | None = None
        self._epoch, self._recorder = 1, Recorder()

    @property
    def _named(self) -> bool:
        return isinstance(self.priority, str)

    @property
    def _chosen(self) -> bool:
        return self._named and self.priority in RULES

    def _initial_values(self, data: Trajectories, metric: Priority | None, priorities: Any = None) -> Array:
        """The values trajectories are ranked by before any sweep; those not visited yet rank best."""
        if self._named:
            return np.zeros(len(data)) if metric is None else metric.of_data(data)
        return given_values(self.priority if priorities is None else priorities, len(data))

    def add(self, episodes: Any, priorities: Any = None) -> None:
        """Add finished trajectories while training, or one episode; with a capacity, the oldest are dropped.
        A slot whose trajectory is dropped starts another one, so its next row is `fresh`. An empty memory starts with
        the added trajectories; "paper" and "auto" then choose by them.

        priorities: one number per trajectory, if the memory's priority is an array
        """
        if not self._named and priorities is None:
            raise UsageError("this memory ranks by an array: add(episodes, priorities=...) needs one number for each")
        check_addable(self.priority)
        data = load(episodes)
        self._given = None if self._named else self._initial_values(data, None, priorities)
        try:
            super().add(data)
        finally:
            self._given = None

    def _add(self, data: Trajectories, store: Store) -> None:
        values = self._initial_values(data, self._metric, None if self._given is None else self._given[-len(data) :])
        self.weighting.check(values, self._values)
        begins, dropped = store.add(data)
        self._forget_pool()
        for column, more in zip(self._columns, (values, make_records(begins, data.transitions)), strict=True):
            column.append(more)
            column.drop(dropped)
        self._values, self._records = (column.view() for column in self._columns)
        if self._slots is not None and dropped:
            self._slots.trajectory[:] = np.maximum(self._slots.trajectory - dropped, -1)
            self._slots.left[self._slots.trajectory < 0] = 0
        self._recorder.make_room(store.rows)

    # Drawing

    @property
    def alpha(self) -> float:
        """Exponent of eq. 5."""
        return self.weighting.alpha

    @property
    def metric(self) -> Priority | None:
        """The priority in use; None for "uniform" and for an array."""
        self.store  # noqa: B018  raises an error if nothing is loaded
        return self._metric

    @property
    def dynamic(self) -> bool:
        """Whether ranks change with training, so that the memory needs `update_uncertainty`."""
        metric = self.metric
        return metric is not None and metric.dynamic

    def probabilities(self) -> Array:
        """(trajectories,) eq. 5 over all trajectories. A draw renormalises it over the available ones."""
        weights = self._weights()
        return np.asarray(weights / weights.sum())

    def _weights(self) -> Array:
        """(trajectories,) as the weighting has them; 0 for trajectories without transitions, which are not ranked."""
        check_playable(self.store.transitions)
        playable: Any = slice(None) if self.store.transitions.all() else self.store.transitions > 0
        weights = np.zeros(len(self._values))
        weights[playable], self._ranked = self.weighting.weights(self._values[playable], self._ranked)
        return weights

    def _forget_pool(self) -> None:
        """Ranks have changed: rank again before the next draw."""
        self._epoch = self._epoch_now()
        self._pool = None

    def _epoch_now(self) -> int:
        return self._epoch if self._pool is None else int(self._pool.counters[EPOCH_NOW])

    def _fill(self, plan: Plan, store: Store) -> None:
        steps, batch_size = plan.indices.shape
        if self._slots is not None and len(self._slots.row) != batch_size:
            raise UsageError(
                f"batch_size is {batch_size}, but {len(self._slots.row)} slots are in the middle of their sweeps; "
                "keep the batch size, or call reset() to start new sweeps"
            )
        reuse = REUSE[self.reuse]
        if self._pool is None:
            self._pool = make_pool(self._records, self._weights(), self._epoch, reuse)
        if self._slots is None:
            seed = int(self._stream.state()[0]) % 2**32 if self.order == "shuffled" else 0
            self._slots = make_slots(batch_size, self.stagger, seed)
            playable = store.transitions[store.transitions > 0]
            for about, warning in sweep_warnings(playable, batch_size, reuse, self.stagger):
                self._warn_once(about, warning)
        plan.fresh[:] = False
        stream, done = self._stream, 0
        while done < steps:
            stream.reserve(batch_size * NUMBERS_PER_SLOT)
            arrays = (plan.indices, plan.fresh, plan.trajectories)
            done, stream.cursor = play(done, *arrays, self._slots, self._pool, stream.numbers, stream.cursor, reuse)
        if self.order != "backward":
            reorder(*arrays, self._records[:, START], self._slots, self.order == "shuffled")
        if store.first:
            plan.trajectories[:] += store.first

    def reset(self) -> None:
        """Abandon all open sweeps. The next batch starts new ones and may have another size."""
        super().reset()
        self._forget_pool()
        self._records[:, HELD] = 0
        self._slots = None
        self._recorder = Recorder(self._step)

    # Uncertainty

    def _feed(self, plan: Plan, values: Array, kind: str) -> None:
        if kind != "uncertainty" or not self.dynamic:
            return
        assert self._metric is not None
        if (largest := np.abs(values).max()) > np.finfo(np.float32).max:
            raise DataError(f"uncertainty of {largest:.3g}; expected what float32 can hold: the critics have diverged")
        recorder = self._recorder.fork()  # the priority may raise an error
        ended, sweeps, missed = recorder.feed(plan, values.astype(np.float32, copy=False), self.store)
        ranked_by = self._metric.values(sweeps) if ended.size else None
        self._recorder = recorder
        if missed:
            kept = "trajectories whose sweeps miss a value keep their old priority"
            self._warn_once("incomplete", f"uncertainty: {missed}; {kept}")
        if ended.size:
            self._values[ended] = ranked_by  # if a trajectory ended twice, the later sweep counts
            self._forget_pool()

    def _awaits(self, plan: Plan) -> bool:
        return self.dynamic and plan.first_step >= self._recorder.fed_step

    # State

    def _config(self) -> State:
        named = self.priority if self._named else "given"
        older = {"priority": named, "alpha": self.alpha, "reuse": self.reuse, "stagger": self.stagger}
        kind, temperature = self.weighting.kind, self.weighting.temperature
        order = {} if self.order == "backward" else {"order": self.order}
        order |= {"rule": "our runs"} if named == "auto" else {}
        return older | order | ({} if kind == "rank" else {"weighting": kind, "temperature": temperature})

    def _state(self) -> State:
        state: State = {
            "values": self._values.copy(),
            "last_epoch": self._records[:, LAST_EPOCH].copy(),
            "epoch": self._epoch_now(),
            "batch_size": 0 if self._slots is None else len(self._slots.row),
            **self._recorder.state(self.store),
        }
        if self._slots is not None:
            state |= {f"slots.{name}": array.copy() for name, array in self._slots._asdict().items()}
        return state

    def _check_state(self, state: State) -> None:
        if state.get("config.priority") == "auto" and "config.rule" not in state:
            state = {**state, "config.priority": "paper"}  # which was called "auto"
        super()._check_state(state)

    def _data_state(self) -> State:
        choice = {} if self.choice is None else asdict(self.choice)
        return self.store.state() | {f"choice.{name}": value for name, value in choice.items()}

    def _load_state(self, state: State, store: Store) -> None:
        values = np.array(state["values"])
        if values.shape != (len(store),):
            raise ValueError(f"values has shape {values.shape}; expected ({len(store)},)")
        names = [f"data.choice.{field.name}" for field in fields(Choice)] if self._chosen else []
        saved = {name.rpartition(".")[2]: state[name] for name in names if name in state}
        self.choice = Choice(**saved) if saved else self.choice
        self._metric = self._metric_of(self.choice)
        self._begin(values, make_records(store.starts, store.transitions))
        self._epoch = int(state["epoch"])
        self._records[:, LAST_EPOCH] = state["last_epoch"]
        self._recorder.load_state(state, store)
        if state["batch_size"]:
            self._slots = load_slots(state)
            np.add.at(self._records[:, HELD], self._slots.trajectory[self._slots.trajectory >= 0], 1)
