"""A group: runs of one shape, trained together, block by block.

Plans are made one block ahead while the device works, so the order of things is fixed:

    device     | block k          | block k + 1      | ...
    host       |  feed k - 1, plan k + 1 | feed k, plan k + 2 | ...

`feed` hands the critics' disagreement back to the memories. A checkpoint after block k is taken between `feed k - 1`
and `plan k + 1`, and holds the disagreement of block k, so that a resumed run does the same things in the same order.
"""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories
from rewind.errors import DataError, UsageError, warn
from rewind.files import finite
from rewind.memory import Plan
from rewind.memory.priorities import PRIORITIES
from rewind.run_spec import BLOCK, DYNAMIC_BLOCK
from rewind.targets import SLACK, excess
from rewind.training.engine import EXPLODED, Engine, Outcome, to_host
from rewind.training.options import Options
from rewind.training.planner import QUANTILES, Planned, Planner
from rewind.training.reading import BlockReader, is_on_disk
from rewind.training.spec import Run, agent_data, data_of, plain, possible_q
from rewind.training.view import Normaliser, Source, View, make_normaliser, make_table, stacked

NEAR = 1e-4  # by how much, relative to its bound, an action may be beyond


class Group:
    """Runs that share a compiled program, with their numbers in the list of all runs.

    data: of the runs that have none of their own
    """

    def __init__(
        self,
        data: Trajectories,
        runs: Sequence[Run],
        numbers: Sequence[int],
        batch_size: int,
        block: int | None = None,
        *,
        fused: bool = False,
    ) -> None:
        self.runs, self.numbers = list(runs), list(numbers)
        self.sources = sources_of(data, runs, batch_size)
        self.planner = Planner([source.data for source in self.sources], runs, batch_size)
        dynamic = self.planner.dynamic
        check_disagreement([runs[number] for number in dynamic])
        agent, sources = runs[0].agent, list({source.first: source for source in self.sources}.values())
        self.reader = BlockReader(self.sources, agent, batch_size) if is_on_disk(sources) else None
        self.engine = Engine(
            [run.agent for run in runs],
            [run.seed for run in runs],
            make_table(sources) if self.reader is None else None,
            batch_size,
            firsts=[source.first for source in self.sources] if self.reader is None else None,
            uncertainty=dynamic,
            fused=fused,
        )
        self.possible = [possible_q(source.data, run.agent) for source, run in zip(self.sources, runs, strict=True)]
        self.period = agent.period
        usual = DYNAMIC_BLOCK if len(dynamic) else BLOCK
        self.block = max(self.period, usual - usual % self.period) if block is None else block
        if block is None and self.reader is not None:
            self.block = min(self.block, self.reader.most_steps(self.period))
        if self.block % self.period:
            raise UsageError(f"block is {self.block}; expected a multiple of the agent's period, {self.period}")
        self.step = 0
        self._waited = 0.0
        self._next: Planned | None = None  # planned, not yet run
        self._unfed: tuple[Sequence[Plan | None], Outcome] | None = None  # run, disagreement not yet handed back

    def advance(self, until: int) -> tuple[Planned, Outcome]:
        """Set the next block going, at most to step `until`; meanwhile hand back what the block before left."""
        steps = min(self.block, until - self.step)
        planned = self._next if self._next is not None and len(self._next.plans[0]) == steps else None
        if planned is None:
            if self._next is not None:
                raise UsageError("a block was planned for another place to stop")
            planned = self._plan(steps)
        self._next = None
        outcome = self.engine.run(*planned.ready())
        planned.used = outcome.alive
        self.feed()
        self._unfed = (planned.plans, outcome)
        self.step += steps
        return planned, outcome

    def plan_ahead(self, until: int) -> None:
        """Plan the next block while the device works."""
        if until > self.step:
            self._next = self._plan(min(self.block, until - self.step))

    def _plan(self, steps: int) -> Planned:
        planned = self.planner.plan(steps)
        if self.reader is not None:
            self.reader.start(planned)
        return planned

    def close(self) -> None:
        self.planner.close()
        if self.reader is not None:
            self.reader.close()

    def feed(self) -> None:
        """Hand the disagreement of the last block that has not given it back to the memories."""
        if self._unfed is None:
            return
        plans, outcome = self._unfed
        if outcome.uncertainty is not None:
            begin = time.perf_counter()
            uncertainty, alive = np.asarray(outcome.uncertainty), np.asarray(outcome.alive)
            self._waited += time.perf_counter() - begin
            self.planner.feed(plans, uncertainty, alive)
        self._unfed = None

    @property
    def waited(self) -> float:
        """Seconds that the host has waited for the device so far. Next to nothing: the device waits for the host."""
        return self._waited + self.planner.waited

    def records(self, step: int, planned: Planned, outcome: Outcome) -> list[dict[str, Any]]:
        """The metrics of a block, one record per run. Waits for the block."""
        metrics, alive = to_host(outcome.metrics), np.asarray(outcome.alive)
        result = []
        for index, (number, run) in enumerate(zip(self.numbers, self.runs, strict=True)):
            record: dict[str, Any] = {"run": number, "name": run.name, "step": step, "alive": bool(alive[index])}
            record |= {name: finite(values[index]) for name, values in metrics.items()}
            if record.get("q") is not None and np.isfinite(beyond := excess(record["q"], *self.possible[index])):
                record["q_excess"] = float(beyond)
            record |= {f"visits_q{q + 1}": float(planned.visits[index, q]) for q in range(QUANTILES)}
            record["planning_delay"] = float(planned.delay[index])
            result.append(record)
        return result

    def problems(self, record: Mapping[str, Any]) -> dict[str, str]:
        """What is wrong with a run by its metrics, a line for each kind: no simulator is needed to see it."""
        run, step, lines = f"rewind: run {record['run']} ({record['name']})", f"at step {record['step']:,}", {}
        if record.get("alive") is False:
            lines["died"] = (
                f"{run} is no longer finite, or its Q beyond {EXPLODED:.0e}, {step}: it stays as it was before"
            )
        if record.get("q_excess", 0.0) > SLACK:
            at = self.numbers.index(record["run"])
            (low, high), bounds = self.possible[at], self.runs[at].agent.bounds
            rewards = f"its rewards add up to between {low:,.0f} and {high:,.0f}"
            free = bounds is not None and np.isinf(bounds[1])
            advice = " (`rewind train --bounded`, or `bound_targets`, would hold it)" if free else ""
            lines["diverges"] = (
                f"{run} has a Q of {record['q']:,.0f} {step}, but {rewards}: its critic diverges{advice}"
            )
        return lines

    def policies(self) -> Any:
        return self.engine.policies()

    def normalisers(self, rows: Sequence[int] | Array | None = None) -> tuple[Normaliser, Normaliser]:
        """Of observations and of actions, of several runs at once (default: all)."""
        chosen = self.sources if rows is None else [self.sources[row] for row in rows]
        return stacked([source.normaliser for source in chosen]), stacked([source.actions for source in chosen])

    # State

    def state(self) -> dict[str, Any]:
        """Everything, between two blocks; nothing may be planned ahead. Waits for the device."""
        assert self._next is None
        leaves = jax.tree.leaves(self.engine.state)
        state: dict[str, Any] = {
            "step": self.step,
            "memories": self.planner.state(),
            "leaves": [np.asarray(leaf) for leaf in leaves],
            "alive": np.asarray(self.engine.alive),
        }
        if self._unfed is not None and self._unfed[1].uncertainty is not None:
            state["uncertainty"] = np.asarray(self._unfed[1].uncertainty)
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        structure = jax.tree.structure(self.engine.state)
        self.planner.load_state(state["memories"])
        self.engine.state = jax.tree.unflatten(structure, [jnp.asarray(leaf) for leaf in state["leaves"]])
        self.engine.alive = jnp.asarray(state["alive"])
        self.step = int(state["step"])
        self._next = self._unfed = None
        if "uncertainty" in state:
            plans = [memory.last_plan for memory in self.planner.memories]  # None where nobody waits for feedback
            uncertainty = jnp.asarray(state["uncertainty"])
            self._unfed = (plans, Outcome({}, self.engine.alive, uncertainty))


def groups_of(runs: Sequence[Run]) -> list[list[int]]:
    """Numbers of runs that can share a program: agents of one structure."""
    grouped: dict[Any, list[int]] = defaultdict(list)
    for number, run in enumerate(runs):
        grouped[jax.tree.structure(run.agent)].append(number)
    return list(grouped.values())


def sources_of(data: Trajectories, runs: Sequence[Run], batch_size: int) -> list[Source]:
    """For each run; the same one where runs see the same data in the same way."""
    sources: dict[tuple[int, View], Source] = {}
    rows = 0
    for run in runs:
        raw = data_of(run, data)
        if (id(raw), run.view) not in sources:
            check_data(raw, run, batch_size)
            whole = agent_data(type(run.agent), raw)
            seen = run.view.apply(whole)
            normaliser = make_normaliser(seen, run.view.normalise_states)
            sources[id(raw), run.view] = Source(
                seen, normaliser, action_units(seen, run), rows, run.view.held_out(whole)
            )
            rows += seen.rows
    return [sources[id(data_of(run, data)), run.view] for run in runs]


def _check_fused(agent: Any, rows: int) -> None:
    from rewind.agents import fused  # Pallas: for those who want it

    inputs = agent.observation_size + agent.action_size  # of a critic, which has the most
    if not fused.fits((inputs, *agent.hidden, 1), rows):
        layers = ", ".join(map(str, agent.hidden))
        raise UsageError(
            "fused kernels take two or three hidden layers of 64, 128 or 256, batches of a multiple of 128 and at most "
            f"128 inputs (64 with three layers); given layers of {layers}, batches of {rows} and {inputs} inputs: "
            "leave fused out"
        )


def check_runs(data: Trajectories, runs: Sequence[Run], options: Options) -> None:
    """What agents cannot learn from, or not in so many steps, raises an error before anything is compiled."""
    check_disagreement([run for run in runs if run.sampler.name in PRIORITIES and PRIORITIES[run.sampler.name].dynamic])
    for run in runs:
        if options.fused and run.agent.has("hidden"):  # not somebody's own
            _check_fused(run.agent, options.batch_size)
        carried = run.agent.window == 1 and run.agent.beta is not None and plain(run.agent.beta) != 1.0
        if run.sampler.order != "backward" and carried:
            beta = f"beta {plain(run.agent.beta):g}"
            raise UsageError(f"order '{run.sampler.order}' carries no targets: {beta} needs 'backward', or a window")
    for numbers in groups_of(runs):
        together = [runs[number] for number in numbers]
        for run in {id(data_of(run, data)): run for run in together}.values():  # one for each data set
            check_data(data_of(run, data), run, options.batch_size)
        period = together[0].agent.period
        if options.steps % period:
            raise UsageError(f"steps is {options.steps:,}; expected a multiple of the agent's period, {period}")


def check_disagreement(runs: Sequence[Run]) -> None:
    """runs: whose ranks follow the critics"""
    for run in runs:
        if not run.agent.disagrees:
            raise UsageError(
                f"sampler {run.sampler.name!r} ranks by how much critics disagree, but {type(run.agent).__name__} has "
                "fewer than two here: choose a priority by rewards, or tr"
            )


def check_data(data: Trajectories, run: Run, batch_size: int) -> None:
    """What an agent cannot learn from is an error before anything is compiled."""
    data = agent_data(type(run.agent), data)
    sizes = {"observations": run.agent.observation_size, "actions": run.agent.action_size}
    for name, expected in sizes.items():
        array = getattr(data, name)
        if array.ndim != 2 or array.shape[1] != expected:
            raise DataError(f"{name} have shape {array.shape[1:]}; the agent expects ({expected},)")
    action_units(data, run)
    if batch_size > data.rows:
        raise UsageError(f"batch_size is {batch_size:,}, more than the {data.rows:,} rows of the data: --batch-size")


def action_units(data: Trajectories, run: Run) -> Normaliser:
    """What takes the actions of data to where its agent acts, between -max_action and max_action.

    Actions that are there already stay as they are, unless bounds are given. Without bounds, the smallest and the
    largest action of each column are its bounds.
    """
    low, high = (np.asarray(bound, np.float64) for bound in (data.actions.min(0), data.actions.max(0)))
    most, bounds = float(run.agent.max_action), run.view.action_bounds
    if bounds is None and max(-low.min(), high.max()) <= most * (1 + NEAR):
        return Normaliser(np.zeros(len(low), np.float32), np.ones(len(low), np.float32))
    columns = ", ".join(f"{a:g} to {b:g}" for a, b in zip(low, high, strict=True))
    if most != 1:
        raise DataError(f"the actions go from {columns}, but max_action is {most:g}: leave it out, or give larger ones")
    if bounds is None:
        warn(f"actions are not within -1 and 1: policies act within those of the data, {columns} (--action-bounds)")
    else:
        given = np.array(bounds, np.float64)
        if given.shape != (len(low), 2) or not np.isfinite(given).all() or not (given[:, 0] < given[:, 1]).all():
            raise UsageError(
                f"action_bounds are {bounds}; expected two numbers, the smaller first, for each of {columns}"
            )
        slack = NEAR * np.abs(given).max(1)
        if (low < given[:, 0] - slack).any() or (high > given[:, 1] + slack).any():
            raise DataError(
                f"the actions go from {columns}, beyond action_bounds {bounds}: clip them, or give wider ones"
            )
        low, high = given.T
    half = np.maximum((high - low) / 2, NEAR * np.maximum(1.0, np.abs(high)))  # of a constant column
    return Normaliser(((low + high) / 2).astype(np.float32), half.astype(np.float32))
