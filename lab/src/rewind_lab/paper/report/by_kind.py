"""The README's evidence: what TR gains over uniform sampling by kind of data; `by_kind_words` says what that means."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from rewind.arrays import Array
from rewind.data.ogbench import suite_of
from rewind.report.methods import Method, short
from rewind.report.runs import Protocol, standard_protocol
from rewind.statistics import Estimate
from rewind_lab.paper import halves
from rewind_lab.paper.definitions import EVIDENCE, PRIORITIES, RunChoice, in_order, load_definitions, own_settings
from rewind_lab.paper.published import ALL_SUITES
from rewind_lab.paper.report.comparisons import LEAST_RUNS, limit_of, signed
from rewind_lab.paper.report.results import PaperResults, source

REWARDS = {"mujoco": "dense", "antmaze": "sparse", "adroit": "sparse", "ogbench": "sparse"}
AGENTS = ("td3_bc", "iql")
METHODS = {"TR": Method("tr", 1.0), "TR, β 0.75": Method("tr", 0.75)}  # of the figure
RANKED = {f"TR by `{name}`": Method(name, 1.0) for name in PRIORITIES}
WITH_NORM = ", layer norm in both"
Pairs = dict[str, tuple[Array, Array]]  # scores of both sides by data set
SHOWN = f"TR by avg_reward{WITH_NORM}"  # of the figure


@dataclass(frozen=True)
class Gain:
    """A method's mean difference to uniform sampling over data sets of a kind, in points.

    sets, limited: differences by data set with runs of both that can show one, and how many cannot (floor or ceiling)
    planned: how many sets of the kind are to have runs of TR
    runs: of both methods on the used ones
    p: of the difference, two-sided, not corrected; 1 where there is none
    strongest: the set that speaks for it most
    without: the same without that one; None if there is no other
    """

    agent: str
    kind: str
    method: str
    difference: Estimate | None
    sets: Mapping[str, float]
    limited: int
    planned: int
    runs: int = 0
    p: float = 1.0
    strongest: str = ""
    without: Estimate | None = None

    @property
    def rests_on_one(self) -> bool:
        """Whether nothing is clear without its strongest set."""
        return not clear(self.without)

    @property
    def used(self) -> int:
        return len(self.sets)

    @property
    def counted(self) -> str:
        """How many sets, and of which robot if there is but one."""
        robots = {name.partition("/")[2].partition("-")[0] for name in self.sets}
        robot = f", of {robots.pop()}" if self.kind == "mujoco" and len(robots) == 1 else ""
        return f"{self.used} of {self.planned} sets{robot}"

    @property
    def span(self) -> str:
        """The same, and from where to where the differences on them go."""
        if self.used < 2:
            return self.counted
        least, most = (signed(end(self.sets.values())) for end in (min, max))
        return f"{self.counted}: {least} to {most}"


def planned_sets(agent: str, kind: str) -> int:
    """How many data sets of a kind the evidence wants runs of TR on."""
    return _planned_sets(agent, kind, halves.CHOICE.is_file())


@cache
def _planned_sets(agent: str, kind: str, _chosen: bool, /) -> int:
    """Until a setting is chosen, the held-back sets are not wanted."""
    specs = in_order(load_definitions(EVIDENCE).wanted(RunChoice(algorithms=[agent])))
    return len({spec.dataset for spec in specs if spec.suite == kind and spec.sampler != "baseline"})


def gains_by_kind(results: PaperResults, methods: Mapping[str, Method] = METHODS) -> list[Gain]:
    """By agent, kind and method, whether there are runs or not."""
    return [_gain(results, agent, kind, method, methods[method]) for agent in AGENTS for kind in ALL_SUITES
            for method in methods]  # fmt: skip


def figure_gains(results: PaperResults) -> list[Gain]:
    """Those of the README's figure: TR, its weighted target, and a priority with layer norm, which is what was chosen.

    On OGBench critics have layer norm anyway.
    """
    named = {SHOWN: Method("avg_reward", 1.0)}
    with_norm = [replace(gain, method=SHOWN) for gain in gains_with_norm(results, named) if gain.kind != "ogbench"]
    on_ogbench = [gain for gain in gains_by_kind(results, named) if gain.kind == "ogbench"]
    return [*gains_by_kind(results), *with_norm, *on_ogbench]


def gains_with_norm(results: PaperResults, methods: Mapping[str, Method]) -> list[Gain]:
    """Likewise on the paper's sets with layer norm, over uniform sampling with it."""
    protocol = results.protocol._replace(settings=json.dumps({"layer_norm": True}))
    runs = [results.every[run.row["run"]] for run in results.others if run.protocol == protocol]
    runs = [replace(run, protocol=run.protocol._replace(settings=results.protocol.settings)) for run in runs]
    gains = gains_by_kind(PaperResults(runs, results.data), methods) if runs else []
    return [replace(gain, method=f"{gain.method}{WITH_NORM}") for gain in gains]


def _gain(results: PaperResults, agent: str, kind: str, label: str, method: Method) -> Gain:
    pairs = {}
    for name in results.datasets:
        if suite_of(name) == kind:
            sides = (as_run(results, name, agent, each) for each in (method, Method("baseline")))
            ones, others = (results.scores(name, agent, side) for side in sides)
            if min(len(ones), len(others)) >= LEAST_RUNS:
                pairs[name] = (ones, others)
    used = {name: pair for name, pair in pairs.items() if not limit_of(results, name, agent)}
    limited, planned = len(pairs) - len(used), planned_sets(agent, kind)
    if not used:
        return Gain(agent, kind, label, None, {}, limited, planned)
    runs = sum(len(side) for pair in used.values() for side in pair)
    measured = results.difference(agent, used)
    sets = {name: float(ones.mean() - others.mean()) for name, (ones, others) in used.items()}
    strongest, without = without_strongest(results, agent, used)
    return Gain(agent, kind, label, measured.estimate, sets, limited, planned, runs, measured.p(), strongest, without)


def without_strongest(results: PaperResults, agent: str, pairs: Pairs) -> tuple[str, Estimate | None]:
    """The set that speaks most for a difference, and the same without it; None if there is no other."""
    gains = {name: float(ones.mean() - others.mean()) for name, (ones, others) in pairs.items()}
    sign = 1 if sum(gains.values()) > 0 else -1
    strongest = max(gains, key=lambda name: sign * gains[name])
    rest = {name: pair for name, pair in pairs.items() if name != strongest}
    return strongest, results.difference(agent, rest).estimate if rest else None


def clear(difference: Estimate | None) -> bool:
    """Whether its interval is on one side of 0."""
    return difference is not None and difference.low is not None and not difference.low <= 0 <= difference.high


def resting(strongest: str) -> str:
    """What is said of a difference that is not clear without one set."""
    return f"; not clear without {short(strongest)}"


def as_run(results: PaperResults, dataset: str, agent: str, method: Method) -> Method:
    """On OGBench sweeps are staggered (evidence.toml, part c), and an agent may have numbers of its own."""
    if source(dataset) is not None:
        return method
    suite = suite_of(dataset)
    usual = standard_protocol([run for run in results.every.values() if run.dataset == dataset])
    staggered = suite == "ogbench" if method.sampler != "baseline" else usual.stagger  # uniform sampling has no sweeps
    protocol = Protocol(stagger=staggered, settings=json.dumps(own_settings(suite, agent), sort_keys=True))
    return method._replace(variant=protocol.against(usual))
