"""The tables of the paper as data: which runs each of them wants."""

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from rewind.agents.settings import required_beta
from rewind.data.ogbench import suite_of
from rewind.errors import DataError, UsageError, unknown_name
from rewind.run_spec import RunSpec, canonical
from rewind_lab.paper.choice import read_choice
from rewind_lab.paper.datasets import Data, data_names
from rewind_lab.paper.halves import ONE_LENGTH, WHERE_ONE_LENGTH, closed, named_sets
from rewind_lab.paper.published import SUITES, published

ALGORITHMS = ("td3_bc", "iql", "edac", "rebrac", "bc")
# The paper's columns, in its order: priorities that other packages add do not enter its tables.
SAMPLERS = tuple(column.split()[1] for column in published("td3_bc")["mujoco"])
PRIORITIES = SAMPLERS[2:]  # all but uniform sampling and plain TR
CHOSEN = {"chosen on sparse": "sparse", "chosen on dense": "dense"}  # stand for what choice.toml says
EVIDENCE = Path(__file__).with_name("evidence.toml")  # what is trained on the -v1 data sets


@dataclass(frozen=True)
class Part:
    """A matrix: all combinations of its lists. See definitions.toml.

    own: with the agent's own numbers for data of the suite (defaults.own), where it has some
    beside: a kind of rewards; not wanted where uniform sampling is chosen for it, which has nothing to be compared with
    """

    datasets: tuple[str, ...]
    algorithms: tuple[str, ...] = ("td3_bc",)
    samplers: tuple[str, ...] = ("tr",)
    betas: tuple[float | str, ...] = (1.0,)
    settings: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    reuse: tuple[str, ...] = ("on_finish",)
    rank_exponents: tuple[float, ...] = (1.0,)
    stagger: tuple[bool | str, ...] = (False,)  # WHERE_ONE_LENGTH: on sets whose trajectories have one length
    blocks: tuple[int | None, ...] = (None,)
    seeds: int | None = None
    steps: int | None = None
    own: bool = False
    beside: str = ""


@dataclass(frozen=True)
class Defaults:
    """What holds for all tables.

    own: by suite and agent, settings without which it learns nothing there
    """

    steps: int = 1_000_000
    batch_size: int = 256
    episodes: int = 10
    points: int = 10
    seeds: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys((*SUITES, "other"), 3))
    settings: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    def own_of(self, suite: str, agent: str) -> dict[str, Any]:
        return dict(self.own.get(suite, {}).get(agent, {}))


@dataclass(frozen=True)
class TableDefinition:
    """A table or figure.

    kind: runs, or cost: nothing is trained, `rewind bench train` is run
    published: names of the paper's tables that it is to be compared with
    part: of the evidence, which `status` adds up
    points: evaluations on the way, where they are not the defaults'
    more: what else the definition says, for whoever draws it
    """

    name: str
    title: str
    parts: tuple[Part, ...] = ()
    includes: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    kind: str = "runs"
    part: str = ""
    points: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunChoice:
    """Which of the runs are wanted; None: all, or the definition's. Data sets come in the order they are named in."""

    tables: Sequence[str] = ()
    data: Data = "d4rl"
    datasets: Sequence[str] | None = None
    algorithms: Sequence[str] | None = None
    samplers: Sequence[str] | None = None
    seeds: Sequence[int] | None = None
    steps: int | None = None


@dataclass(frozen=True)
class Definitions:
    """All tables, in the order of the work."""

    defaults: Defaults
    tables: Mapping[str, TableDefinition]

    def chosen(self, names: Sequence[str] = ()) -> list[TableDefinition]:
        """The tables of these names in the order of the work; no names: all."""
        _check_names("table", names, self.tables)
        return [table for name, table in self.tables.items() if not names or name in names]

    def wanted(self, choice: RunChoice) -> dict[str, list[RunSpec]]:
        """The runs of each chosen table, without those that the choice leaves out."""
        tables = {table.name: list(self._runs(table, choice)) for table in self.chosen(choice.tables)}
        if choice.datasets is not None:
            there = list(dict.fromkeys(spec.dataset for specs in tables.values() for spec in specs))
            place = {name: at for at, name in enumerate(self._datasets(choice, there))}
            for name, specs in tables.items():
                tables[name] = sorted((s for s in specs if s.dataset in place), key=lambda s: place[s.dataset])
        for what, keep, known in (
            ("algorithm", choice.algorithms, ALGORITHMS),
            ("sampler", choice.samplers, SAMPLERS),
        ):
            if keep is not None:
                _check_names(what, keep, known)
                tables = {name: [s for s in specs if getattr(s, what) in keep] for name, specs in tables.items()}
        return tables

    def points(self, names: Iterable[str]) -> int:
        """Evaluations on the way of the runs of these tables: the fewest, since runs trained together share them."""
        return min((self.tables[name].points or self.defaults.points for name in names), default=self.defaults.points)

    def _datasets(self, choice: RunChoice, there: Sequence[str]) -> list[str]:
        """The names that the choice means, each of which some table must want."""
        found: list[str] = []
        where = f"known: those of `rewind data list` that a chosen table wants, and {', '.join(SUITES)}"
        for name in choice.datasets or ():
            meant = [each for each in data_names(named_sets([name]), choice.data) if each in there]
            meant += [each for each in there if name == suite_of(each)]
            if not meant:
                raise unknown_name("data set", name, {*there, *SUITES}, where=where)
            found += meant
        return list(dict.fromkeys(found))

    def _runs(self, table: TableDefinition, choice: RunChoice) -> Iterator[RunSpec]:
        """Each run once, in order."""
        seen: set[RunSpec] = set()
        for part in self._parts(table):
            for spec in self._expand(part, choice):
                if spec not in seen and not closed(spec):
                    seen.add(spec)
                    yield spec

    def _parts(self, table: TableDefinition) -> list[Part]:
        included = [part for name in table.includes for part in self._parts(self.tables[name])]
        return [*included, *table.parts]

    def _expand(self, part: Part, choice: RunChoice) -> Iterator[RunSpec]:
        setting = read_choice() if part.beside or part.samplers[0] in CHOSEN else None
        if part.beside and setting is not None and setting.way(part.beside).uniform:
            return
        if part.samplers[0] in CHOSEN:
            if setting is None:
                return
            way = setting.way(CHOSEN[part.samplers[0]])
            on = {name: [value] for name, value in way.agent.items()}
            part = replace(part, samplers=(way.sampler,), betas=(way.beta,), settings=on)
        own = self.defaults
        settings = {**own.settings, **part.settings}
        samplers = [each for name in part.samplers for each in (PRIORITIES if name == "priorities" else [name])]
        lists = {
            "algorithm": part.algorithms, "sampler": samplers, "beta": part.betas, "reuse": part.reuse,
            "rank_exponent": part.rank_exponents, "stagger": part.stagger, "block": part.blocks,
        }  # fmt: skip
        combined = product(product(*lists.values()), product(*settings.values()))
        variants = [
            {**dict(zip(lists, variant, strict=True)), "settings": tuple(zip(settings, values, strict=True))}
            for variant, values in combined
        ]
        for dataset in data_names(named_sets(part.datasets), choice.data):
            steps = choice.steps or part.steps or own.steps
            common = RunSpec(dataset, batch_size=own.batch_size, episodes=own.episodes, steps=steps)
            for seed, variant in product(self._seeds(part, choice, common.suite), variants):
                stagger = dataset in ONE_LENGTH if variant["stagger"] == WHERE_ONE_LENGTH else variant["stagger"]
                weight = required_beta(dataset) if variant["beta"] == "paper" else float(variant["beta"])
                given = own.own_of(common.suite, variant["algorithm"]) if part.own else {}
                given |= dict(variant["settings"])
                more = {"beta": weight, "settings": tuple(given.items()), "stagger": stagger}
                yield canonical(replace(common, seed=seed, **{**variant, **more}))

    def _seeds(self, part: Part, choice: RunChoice, suite: str) -> Sequence[int]:
        """As chosen; or so many as the part says, or else the defaults."""
        if choice.seeds is not None:
            return choice.seeds
        if part.seeds is None and suite not in self.defaults.seeds:
            there = ", ".join(self.defaults.seeds) or "none"
            raise UsageError(f"the definitions have no number of seeds for {suite} data under defaults.seeds: {there}")
        return range(self.defaults.seeds[suite] if part.seeds is None else part.seeds)


def in_order(tables: Mapping[str, Sequence[RunSpec]]) -> list[RunSpec]:
    """The runs of all tables, each once, the most valuable first."""
    return list(dict.fromkeys(spec for specs in tables.values() for spec in specs))


# Reading


def load_definitions(path: Path | None = None) -> Definitions:
    """The paper's, or those in a file of the same form."""
    if path is None:
        text = (resources.files("rewind_lab.paper") / "definitions.toml").read_text(encoding="utf-8")
    else:
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise DataError(f"the definitions in {path} cannot be read: {error}") from error
    try:
        return _definitions(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, UsageError) as error:
        raise DataError(f"{path or 'definitions.toml'}: {error}") from error


@cache
def own_settings(suite: str, agent: str) -> dict[str, Any]:
    """As the evidence has them."""
    return load_definitions(EVIDENCE).defaults.own_of(suite, agent)


def _definitions(content: dict[str, Any]) -> Definitions:
    defaults = _made(Defaults, "default", content.get("defaults", {}))
    tables = {name: _table(name, dict(table)) for name, table in content.get("tables", {}).items()}
    for table in tables.values():
        _check_names(f"table in includes of {table.name}", table.includes, tables)
    if not tables:
        raise UsageError("no tables: expected [tables.NAME] with parts")
    try:
        TopologicalSorter({name: table.includes for name, table in tables.items()}).prepare()
    except CycleError as error:
        cycle = " includes ".join(reversed(error.args[1]))
        raise UsageError(f"tables in a circle: {cycle}; take one of these includes out") from error
    return Definitions(defaults, tables)


def _table(name: str, content: dict[str, Any]) -> TableDefinition:
    parts = tuple(_part(name, part) for part in content.pop("parts", ()))
    own = {
        key: content.pop(key) for key in ("title", "includes", "published", "kind", "part", "points") if key in content
    }
    own = {key: tuple(value) if isinstance(value, list) else value for key, value in own.items()}
    return TableDefinition(name, own.pop("title", name), parts, more=content, **own)


def _part(table: str, content: dict[str, Any]) -> Part:
    part: Part = _made(Part, f"list of a part of table {table}", content)
    _check_names(f"algorithm in table {table}", part.algorithms, ALGORITHMS)
    _check_names(f"sampler in table {table}", part.samplers, (*SAMPLERS, "priorities", *CHOSEN))
    for beta in part.betas:
        if beta != "paper" and not (isinstance(beta, (int, float)) and 0 <= beta <= 1):
            raise UsageError(f"table {table} has a beta of {beta!r}; expected a number from 0 to 1, or 'paper'")
    for start in part.stagger:
        if start not in (True, False, WHERE_ONE_LENGTH):
            raise UsageError(f"table {table} has stagger = {start!r}; expected true, false or {WHERE_ONE_LENGTH!r}")
    for name in ("seeds", "steps"):
        value = getattr(part, name)
        if value is not None and (not isinstance(value, int) or value < 1):
            raise UsageError(f"table {table} has {name} = {value!r}; expected how many, 1 or more")
    return part


def _made(kind: Any, what: str, content: Mapping[str, Any]) -> Any:
    _check_names(what, content, [each.name for each in fields(kind)])
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in content.items()})


def _check_names(what: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise unknown_name(what, name, known)
