"""What a run is to the engine: an agent, a memory, a seed. Made by hand, in combinations, or from a `RunSpec`."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, asdict, dataclass, field, replace
from dataclasses import fields as dataclass_fields
from typing import Any

import numpy as np

from rewind.agents import AGENTS
from rewind.agents.agent import HIGH, LOW, Agent
from rewind.agents.settings import paper_settings, paper_view, required_beta
from rewind.data import Trajectories
from rewind.data.episodes import with_keys
from rewind.data.parts import missing_codes
from rewind.errors import UsageError, unknown_name, warn
from rewind.memory import PRIORITIES, TrajectoryReplay, UniformReplay
from rewind.memory.batch import is_integer
from rewind.run_spec import AROUND, OFF, PRECISION, SAMPLING, VIEW, RunSpec
from rewind.targets import target_bounds
from rewind.training.view import WITHOUT_HOLD_OUT, View, loaded

Memory = TrajectoryReplay | UniformReplay

OTHERS = ("baseline", "tr", "paper", "auto")  # samplers that are no priority


@dataclass(frozen=True)
class Sampler:
    """Which memory a run draws from: a sampler's name as in the paper's tables, and the settings of its memory.

    name: "baseline" (transitions, uniformly), "tr" (Trajectory Replay), "paper", "auto", or a priority (PTR)
    rank_exponent: eq. 5's alpha
    weighting_temperature: the memory's temperature
    """

    name: str = "tr"
    rank_exponent: float = 1.0
    reuse: str = "on_finish"
    stagger: bool = False
    order: str = "backward"
    weighting: str = "rank"
    weighting_temperature: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in OTHERS and self.name not in PRIORITIES:
            raise unknown_name("sampler", self.name, [*OTHERS, *PRIORITIES])
        self.memory(0)  # refuses what it does not know

    def memory(self, seed: int) -> Memory:
        """An empty memory of this kind."""
        if self.name == "baseline":
            return UniformReplay(seed=seed)
        priority = "uniform" if self.name == "tr" else self.name
        return TrajectoryReplay(
            priority, alpha=self.rank_exponent, reuse=self.reuse, stagger=self.stagger, order=self.order,
            weighting=self.weighting, temperature=self.weighting_temperature, seed=seed,
        )  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One training run. Runs that differ only in numbers, memories, seeds and data are trained together.

    data: what it learns from; None: what `train` is given
    """

    agent: Agent[Any]
    sampler: Sampler = field(default_factory=Sampler)
    seed: int = 0
    view: View = field(default_factory=View)
    name: str = ""
    data: Trajectories | None = field(default=None, repr=False, compare=False)

    def describe(self) -> dict[str, Any]:
        """Everything that makes the run what it is, for configuration files and for comparing them.

        Without bounds at infinity and what is off: an agent of an older version has no such fields.
        """
        numbers = {
            key: plain(value) if np.ndim(value) == 0 and not isinstance(value, (str, tuple)) else list(value)
            for key, value in vars(self.agent).items()
        }
        finite = {k: v for k, v in numbers.items() if v not in (-math.inf, math.inf) and (k, v) not in OFF}
        return {
            "name": self.name,
            "agent": {"class": type(self.agent).__name__, **finite},
            "sampler": asdict(self.sampler),
            "view": self.view.describe(),
            "seed": self.seed,
            **({} if self.data is None else {"data": {"name": self.data.name, "fingerprint": self.data.fingerprint}}),
        }


def data_of(run: Run, data: Trajectories) -> Trajectories:
    """Its own, or else that of all."""
    return data if run.data is None else run.data


def plain(value: Any) -> Any:
    """A number as it was written: 0.99, not the float32 next to it."""
    array = np.asarray(value)
    return float(str(array)) if array.dtype == np.float32 else array.item()


def make_runs(
    dataset: Any,
    algorithm: str = "td3_bc",
    *,
    samplers: str | Sampler | Sequence[str | Sampler] = ("tr",),
    betas: float | Sequence[float | None] | None = (1.0,),
    seeds: Iterable[int] = (0,),
    view: View | None = None,
    top: float | None = None,
    **settings: Any,
) -> list[Run]:
    """All combinations of samplers, betas and seeds of one algorithm on one data set; uniform draws, which carry no
    targets, once for each seed, with a beta of 1.

    Where the data set is in the catalogue, or rebuilt after one that is, the paper's hyper-parameters apply;
    `settings` are fields of the agent that win over them. A beta of None is the paper's beta for the data set.

    dataset: what `rewind.load` takes
    """
    kind = AGENTS[algorithm]
    _check_settings(algorithm, settings)
    given = loaded(dataset)
    data = agent_data(kind, given)
    if kind.discrete and given.actions.size == given.rows and (missing := missing_codes(given.actions)):
        warn(f"discrete actions: {missing}")
    samplers = [samplers] if isinstance(samplers, (str, Sampler)) else samplers
    several = betas if isinstance(betas, (Sequence, np.ndarray)) else [betas]
    several = several if kind.has("beta") else [1.0]
    if is_integer(seeds):
        raise UsageError(f"seeds is {seeds}; expected several numbers: [{seeds}], or range({seeds}) for that many")
    seeds = [int(seed) for seed in seeds]
    chosen_view = View(**paper_view(algorithm, data.name)) if view is None else view
    if top is not None:
        chosen_view = replace(chosen_view, top=top)
    sizes = {f"{what}_size": _width(what, getattr(data, f"{what}s")) for what in ("observation", "action")}
    runs = []
    for sampler in samplers:
        chosen = sampler if isinstance(sampler, Sampler) else Sampler(sampler)
        for beta in [1.0] if chosen.name == "baseline" and settings.get("window", 1) == 1 else several:
            value = required_beta(data.name) if beta is None else beta
            weighted = {"beta": value} if kind.has("beta") else {}
            agent = kind(**sizes, **{**paper_settings(algorithm, data.name), **weighted, **settings})
            for seed in seeds:
                name = f"{algorithm} {chosen.name} beta {value:g} seed {seed}"
                runs.append(Run(agent, chosen, seed, chosen_view, name))
    return runs


def _check_settings(algorithm: str, settings: dict[str, Any]) -> None:
    fields = [field.name for field in dataclass_fields(AGENTS[algorithm])]
    for name in settings:
        if name not in fields:
            raise unknown_name(f"setting of {algorithm}", name, fields)


LOOKED_AT = 10_000  # rows of data that may be large: enough to see that actions are not one-hot


def agent_data(kind: type[Agent[Any]], data: Trajectories) -> Trajectories:
    """The data as an agent takes it: dict observations as vectors, and one-hot actions where it takes those and the
    data has whole numbers.
    """
    data = with_vectors(data)
    if not kind.discrete:
        return data
    if data.actions.ndim == 2 and data.actions.shape[1] > 1:
        first = np.asarray(data.actions[:LOOKED_AT])
        if not (np.isin(first, (0, 1)).all() and (first.sum(1) == 1).all()):
            raise UsageError(f"actions of {kind.__name__} are whole numbers from 0 on, or one-hot; here: {first[0]}")
        return data
    numbers = np.asarray(data.actions).reshape(data.rows)
    if not (np.issubdtype(numbers.dtype, np.integer) or (numbers == np.round(numbers)).all()) or numbers.min() < 0:
        raise UsageError(f"actions of {kind.__name__} are whole numbers from 0 on, or one-hot; here: {numbers[:5]}")
    return replace(data, actions=np.eye(int(numbers.max()) + 1, dtype=np.float32)[numbers.astype(np.int64)])


def with_vectors(data: Trajectories) -> Trajectories:
    """The data with the parts of its dict observations side by side, in alphabetical order of their keys."""
    if not isinstance(data.observations, dict):
        return data
    for key, part in data.observations.items():
        if part.ndim > 2:
            raise UsageError(
                f"observation '{key}' has shape {part.shape[1:]}; agents take vectors: choose the others by keys "
                "(--keys), or train your own network on the memory's batches"
            )
    return with_keys(data, list(data.observations))


def _width(what: str, array: Any) -> int:
    if array.ndim != 2:
        hints = {"action": "where actions are discrete, choose dqn, discrete_iql or discrete_bc"}
        hint = hints.get(what, "or train your own network on the memory's batches")
        raise UsageError(
            f"each {what} has shape {array.shape[1:]}; agents take vectors: "
            f"give the {what}s the shape ({len(array):,}, numbers); {hint}"
        )
    return int(array.shape[1])


def for_steps(run: Run, steps: int) -> Run:
    """The run with the fields that depend on the number of steps, where they are not set."""
    agent = run.agent
    unset: dict[str, Any] = {
        name: value for name, value in agent.defaults(steps).items() if np.isinf(vars(agent)[name])
    }
    return replace(run, agent=replace(agent, **unset)) if unset else run


def usual_settings(algorithm: str, dataset: str | None, steps: int) -> dict[str, Any]:
    """What a run on a data set has where nobody sets anything: the agent's fields, and the view of the data."""
    kind = AGENTS[algorithm]
    defaults = {field.name: field.default for field in dataclass_fields(kind) if field.default is not MISSING}
    view = {"top": View.top, "action_bounds": None, **WITHOUT_HOLD_OUT, **paper_view(algorithm, dataset)}
    return {**defaults, **kind.defaults(steps), **paper_settings(algorithm, dataset), **view}


def engine_run(spec: RunSpec, data: Trajectories) -> Run:
    """The run, with the paper's hyper-parameters for its data where its settings have no others."""
    kind = AGENTS[spec.algorithm]
    given = {**kind.defaults(spec.steps), **dict(spec.settings)}
    whole = {field.name for field in dataclass_fields(kind) if field.type in (int, "int")}
    settings: dict[str, Any] = {
        name: int(value) if name in whole else value
        for name, value in given.items()
        if name not in (*AROUND, PRECISION)
    }
    view = {name: settings.pop(name) for name in VIEW if name in settings}
    bounded = settings.pop("bounded", False)
    sampling: dict[str, Any] = {name: settings.pop(name) for name in SAMPLING if name in settings}
    sampler = Sampler(spec.sampler, spec.rank_exponent, spec.reuse, spec.stagger, **sampling)
    (run,) = make_runs(data, spec.algorithm, samplers=[sampler], betas=[spec.beta], seeds=[spec.seed], **settings)
    run = replace(run, view=replace(run.view, **view))
    return bound_targets([run], data)[0] if bounded else run


def bound_targets(runs: Sequence[Run], data: Any) -> list[Run]:
    """The runs with the targets of their critics kept within the returns that are possible with their rewards.

    This stops a critic that diverges. A finite bound that an agent already has stays.

    data: what `rewind.load` takes
    """
    data = loaded(data)
    ranges: dict[tuple[int, View, float], tuple[float, float]] = {}
    result = []
    for run in runs:
        agent, source = run.agent, data_of(run, data)
        if agent.bounds is None:
            able = ", ".join(name for name, kind in AGENTS.importable() if kind.has(LOW, HIGH))
            raise UsageError(f"targets of {type(agent).__name__} cannot be bounded; those of {able} can")
        key = (id(source), run.view, plain(agent.discount))
        if key not in ranges:
            ranges[key] = possible_q(run.view.apply(source), agent)
        if not np.isfinite(ranges[key]).all():
            raise UsageError(f"a discount of {key[-1]:g} bounds nothing; set target_low and target_high yourself")
        pairs = zip(ranges[key], agent.bounds, strict=True)
        low, high = (float(possible if np.isinf(given) else given) for possible, given in pairs)
        if low > high:
            raise UsageError(f"targets cannot be at least {low:g} and at most {high:g}; the data's: {ranges[key]}")
        result.append(replace(run, agent=agent.bounded(low, high)))
    return result


def possible_q(data: Trajectories, agent: Agent[Any]) -> tuple[float, float]:
    """The smallest and the largest return that is possible with the rewards of the data.

    Infinite for an agent without critics, and for one whose Q includes an entropy bonus.
    """
    if agent.discount is None or plain(agent.discount) >= 1.0 or agent.entropy_bonus:
        return -np.inf, np.inf
    discount = plain(agent.discount)
    low, high = target_bounds(data.rewards, discount)
    return low - discount * plain(agent.largest_penalty) / (1 - discount), high
