"""What a run is, as data: enough to train it anywhere, and a name that is the same everywhere."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

from rewind.agents.settings import agent_default, has_critics, paper_settings
from rewind.data.catalogue import known_entry
from rewind.data.ogbench import ogbench_family, suite_of
from rewind.memory import PRIORITIES

BLOCK = 1000  # steps planned at once
DYNAMIC_BLOCK = 100  # where ranks follow the critics: highly ranked trajectories come again within tens of steps
SHAPES = ("hidden", "ensemble", "period", "layer_norm", "window")  # fields of agents that change the compiled program
# Settings of what a run sees of the data.
VIEW = ("rewards", "normalise_states", "top", "action_bounds", "hold_out", "hold_out_seed")
# Settings of the memory, which runs without them have by default.
SAMPLING = {"order": "backward", "weighting": "rank", "weighting_temperature": 1.0}
# Settings that say how data or evaluations are not what the data set's name stands for.
AROUND = ("transitions", "data seed", "policy", "episodes", "environment")
PRECISION = "precision"  # setting: of matrix products, as JAX names them; the lab's runner heeds it


@dataclass(frozen=True)
class RunSpec:
    """One run. Two that would train alike are equal, see `canonical`.

    dataset: a name or path that `rewind.load` takes
    settings: by name, what is not the paper's: fields of the agent, `bounded`, those of SAMPLING, VIEW and AROUND
    rank_exponent: eq. 5's alpha
    block: steps planned at once; None: the engine's own
    """

    dataset: str
    algorithm: str = "td3_bc"
    sampler: str = "tr"
    beta: float = 1.0
    settings: tuple[tuple[str, Any], ...] = ()
    reuse: str = "on_finish"
    rank_exponent: float = 1.0
    stagger: bool = False
    block: int | None = None
    batch_size: int = 256
    steps: int = 1_000_000
    episodes: int = 10
    seed: int = 0

    @cached_property
    def run(self) -> str:
        """The short digest that names the run in the results. A field that is added or renamed renames no old run."""
        values = {OLD_NAMES.get(name, name): value for name, value in vars(self).items() if value != DEFAULTS[name]}
        if self.sampler in OLD_SAMPLERS:
            values["sampler"] = OLD_SAMPLERS[self.sampler]
        return digest([json.dumps(values, sort_keys=True)])

    @property
    def program(self) -> tuple[Any, ...]:
        """Runs of one program can be trained together: on one data set, or on several of one suite and one shape."""
        entry = known_entry(self.dataset)
        data: Any = ogbench_family(self.dataset) or self.dataset if entry is None else (entry.suite, entry.sizes)
        values = {**paper_settings(self.algorithm, self.dataset), **dict(self.settings)}
        compiled = (*SHAPES, PRECISION)
        shapes = tuple(sorted((name, _frozen(name, values[name])) for name in compiled if name in values))
        return data, self.algorithm, shapes, self.block, self.batch_size, self.steps, self.episodes

    @property
    def dynamic(self) -> bool:
        """Whether its ranks follow the critics."""
        return self.sampler in PRIORITIES and PRIORITIES[self.sampler].of == "uncertainty"

    @property
    def suite(self) -> str:
        return suite_of(self.dataset) or "other"

    @property
    def label(self) -> str:
        """For people."""
        beta = "" if self.beta == 1.0 else f" beta {self.beta:g}"
        return f"{self.dataset} {self.algorithm} {self.sampler}{beta} seed {self.seed}"

    def record(self) -> dict[str, Any]:
        return {**asdict(self), "settings": dict(self.settings)}


OLD_NAMES = {"rank_exponent": "exponent"}  # that ids are made of, and older files have
OLD_SAMPLERS = {"paper": "auto", "auto": "auto, by our runs"}  # likewise: "auto" was what "paper" is
DEFAULTS = {field.name: field.default for field in fields(RunSpec)}


def with_new_names(record: Mapping[str, Any]) -> dict[str, Any]:
    """A run, or a row of results, of any version."""
    new = {old: name for name, old in OLD_NAMES.items()}
    return {new.get(name, name): value for name, value in record.items()}


def from_record(record: Mapping[str, Any]) -> RunSpec:
    settings = record["settings"].items()
    values = {**with_new_names(record), "settings": tuple((name, _frozen(name, value)) for name, value in settings)}
    return RunSpec(**values)


OFF = (("bounded", False), ("layer_norm", False), ("window", 1), *SAMPLING.items())


def canonical(spec: RunSpec) -> RunSpec:
    """The same run without what makes no difference to it."""
    paper = paper_settings(spec.algorithm, spec.dataset)
    given = {
        name: value for name, value in spec.settings
        if (name, value) not in OFF or agent_default(spec.algorithm, name) not in (None, value)
    }  # fmt: skip
    if spec.sampler in ("baseline", "tr"):  # nothing is ranked
        given = {name: value for name, value in given.items() if not name.startswith("weighting")}
    if spec.sampler == "baseline":
        given.pop("order", None)
    settings = sorted((name, _frozen(name, value)) for name, value in given.items() if paper.get(name) != value)
    spec = replace(spec, settings=tuple(settings), beta=float(spec.beta), rank_exponent=float(spec.rank_exponent))
    if not has_critics(spec.algorithm):
        spec = replace(spec, beta=1.0)
    if spec.sampler == "baseline" and "window" not in given:  # no sweeps: nothing is carried
        spec = replace(spec, beta=1.0)
    if spec.sampler == "baseline":
        spec = replace(spec, reuse="on_finish", rank_exponent=1.0, stagger=False)
    if spec.sampler == "tr":
        spec = replace(spec, rank_exponent=1.0)
    chosen_from_data = spec.sampler in ("paper", "auto")  # possibly one that follows the critics
    if not (spec.dynamic or chosen_from_data) or (spec.dynamic and spec.block == DYNAMIC_BLOCK):
        spec = replace(spec, block=None)
    return spec


def group_name(specs: Sequence[RunSpec]) -> str:
    return digest(sorted(spec.run for spec in specs))


def digest(parts: Sequence[str]) -> str:
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()


def _frozen(name: str, value: Any) -> Any:
    """An agent's numbers as floats, so that 50 is 50.0; all else as it is, lists as tuples."""
    if isinstance(value, (list, tuple)):
        return tuple(tuple(item) if isinstance(item, list) else item for item in value)
    return value if name in (*SHAPES, *VIEW, *AROUND, PRECISION, "order", "weighting") else float(value)
