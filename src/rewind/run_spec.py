"""What a run is, as data: enough to train it anywhere, and a name that is the same everywhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

from rewind.agents.settings import has_critics, paper_settings
from rewind.data.catalogue import known_entry
from rewind.memory import PRIORITIES

SHAPES = ("hidden", "ensemble", "period")  # fields of agents that change the compiled program
DEFAULT_BLOCK = 100  # of samplers whose ranks follow the critics (training.group)


@dataclass(frozen=True)
class RunSpec:
    """One run. Two that would train alike are equal, see `canonical`.

    dataset: a name or path that `rewind.load` takes
    settings: fields of the agent that are not the paper's, by name
    block: steps planned at once; None: the engine's own
    """

    dataset: str
    algorithm: str = "td3_bc"
    sampler: str = "tr"
    beta: float = 1.0
    settings: tuple[tuple[str, Any], ...] = ()
    reuse: str = "on_finish"
    exponent: float = 1.0
    stagger: bool = False
    block: int | None = None
    batch_size: int = 256
    steps: int = 1_000_000
    episodes: int = 10
    seed: int = 0

    @cached_property
    def run(self) -> str:
        """The short digest that names the run in the results. A field that is added later renames no old run."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        told = {name: value for name, value in own.items() if name not in DEFAULTS or value != DEFAULTS[name]}
        return digest([json.dumps(told, sort_keys=True)])

    @property
    def program(self) -> tuple[Any, ...]:
        """Runs of one program can be trained together: on one data set, or on several of one suite and one shape."""
        known = known_entry(self.dataset)
        data = self.dataset if known is None else (known.suite, known.sizes)
        numbers = {**paper_settings(self.algorithm, self.dataset), **dict(self.settings)}
        shapes = {name: _frozen(name, value) for name, value in numbers.items() if name in SHAPES}
        own = (self.algorithm, tuple(sorted(shapes.items())), self.block, self.batch_size, self.steps, self.episodes)
        return (data, *own)

    @property
    def dynamic(self) -> bool:
        """Whether its ranks follow the critics."""
        return self.sampler in PRIORITIES and PRIORITIES[self.sampler].of == "uncertainty"

    @property
    def suite(self) -> str:
        known = known_entry(self.dataset)
        return "other" if known is None else known.suite

    @property
    def label(self) -> str:
        """For people."""
        beta = "" if self.beta == 1.0 else f" beta {self.beta:g}"
        return f"{self.dataset} {self.algorithm} {self.sampler}{beta} seed {self.seed}"

    def record(self) -> dict[str, Any]:
        return {**asdict(self), "settings": dict(self.settings)}


DEFAULTS = {each.name: each.default for each in fields(RunSpec) if each.name != "dataset"}


def from_record(record: Mapping[str, Any]) -> RunSpec:
    settings = record["settings"].items()
    return RunSpec(**{**record, "settings": tuple((name, _frozen(name, value)) for name, value in settings)})


def canonical(spec: RunSpec) -> RunSpec:
    """The same run without what makes no difference to it."""
    paper = paper_settings(spec.algorithm, spec.dataset)
    own = {name: value for name, value in spec.settings if (name, value) != ("bounded", False)}
    settings = sorted((name, _frozen(name, value)) for name, value in own.items() if paper.get(name) != value)
    spec = replace(spec, settings=tuple(settings), beta=float(spec.beta), exponent=float(spec.exponent))
    if not has_critics(spec.algorithm):
        spec = replace(spec, beta=1.0)
    if spec.sampler == "baseline":  # no sweeps: nothing is carried, nothing ranked
        spec = replace(spec, beta=1.0, reuse="on_finish", exponent=1.0, stagger=False)
    if spec.sampler == "tr":
        spec = replace(spec, exponent=1.0)
    if not spec.dynamic or spec.block == DEFAULT_BLOCK:
        spec = replace(spec, block=None)
    return spec


def group_name(specs: Sequence[RunSpec]) -> str:
    return digest(sorted(spec.run for spec in specs))


def digest(parts: Sequence[str]) -> str:
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()


def _frozen(name: str, value: Any) -> Any:
    """Numbers as floats, so that 50 is 50.0; shapes as they are, lists as tuples."""
    if isinstance(value, (list, tuple)):
        return tuple(value)
    return value if name in SHAPES else float(value)
