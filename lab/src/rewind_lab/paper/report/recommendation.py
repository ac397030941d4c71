"""Does the recommended setting hold where it was not chosen? A stated test on the held-back half."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rewind.data.ogbench import suite_of
from rewind.errors import UsageError
from rewind.run_spec import RunSpec
from rewind.statistics import Measured
from rewind.table import table
from rewind_lab.paper.choice import SWITCHES, KindSetting, read_choice, way_of
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, in_order, load_definitions, own_settings
from rewind_lab.paper.halves import choosing_half, in_step, named_sets
from rewind_lab.paper.published import ALL_SUITES
from rewind_lab.paper.report.comparisons import LEAST_RUNS, told
from rewind_lab.paper.report.results import PaperResults

WORST_BOUND, WORST_SET = -2.0, -10.0  # points: of a kind's lower bound, and of any one set
RULE = (
    f"A setting passes if the lower bound of its pooled difference to uniform sampling is above {WORST_BOUND:g} points "
    f"on sparse and on dense sets, and no set's difference is below {WORST_SET:g}. That shows that it is not much "
    "worse, not that it is better."
)
KINDS = ("sparse", "dense")
AGENT = "td3_bc"  # with which a setting is chosen and tested
Sets = dict[str, list[float]]  # scores by data set


@dataclass(frozen=True)
class KindResult:
    """The chosen setting against uniform sampling on one kind of data."""

    kind: str
    pooled: Measured
    sets: Mapping[str, Measured]

    @property
    def worst(self) -> float:
        """The lowest difference of a set."""
        return min(one.value for one in self.sets.values())

    @property
    def passes(self) -> bool:
        low = self.pooled.estimate.low
        return low is not None and low > WORST_BOUND and self.worst >= WORST_SET


def outcome_of(results: PaperResults) -> list[KindResult] | str:
    """The test's outcome, or why there is none yet: what is to be said of the test."""
    specs, setting = _wanted(), read_choice()
    if setting is None:
        return "has not run yet: no setting is chosen (`rewind paper choice`)"
    missing = [spec for spec in specs if spec.run not in results.every]
    if missing:
        sets, unfinished = ({spec.dataset for spec in some} for some in (specs, missing))
        return f"is not complete: {len(sets) - len(unfinished)} of {len(sets)} data sets have all their runs"
    uniform, chosen = _both_sides(results, specs)
    return [
        KindResult(kind, _difference(results, chosen, uniform, names), _by_set(results, chosen, uniform, names))
        for kind, names in _by_kind(name for name in uniform if name in chosen).items()
        if not setting.way(kind).uniform  # what cannot differ is not tested
    ]


def so_far(results: PaperResults) -> dict[str, Measured]:
    """Differences on the sets whose runs are all there, while those of others are missing; and their mean."""
    specs = _wanted()
    open_sets = {spec.dataset for spec in specs if spec.run not in results.every}
    uniform, chosen = _both_sides(results, [spec for spec in specs if spec.dataset not in open_sets])
    return _with_mean(results, chosen, uniform, [name for name in uniform if name in chosen])


def over_norm(results: PaperResults) -> dict[str, Measured]:
    """The setting over uniform sampling that has layer norm too, on the sets of the test where both have runs."""
    _, chosen = _both_sides(results, [spec for spec in _wanted() if spec.run in results.every])
    wanted = load_definitions(EVIDENCE).wanted(RunChoice(["a_layer_norm", "recommendation_norm"]))
    norm: Sets = {}
    for spec in in_order(wanted):
        if spec.sampler == "baseline" and spec.run in results.every:
            norm.setdefault(spec.dataset, []).append(results.every[spec.run].score)
    return _with_mean(results, chosen, norm, [name for name in chosen if len(norm.get(name, ())) >= LEAST_RUNS])


def _wanted() -> Sequence[RunSpec]:
    return load_definitions(EVIDENCE).wanted(RunChoice(["recommendation"]))["recommendation"]


def _both_sides(results: PaperResults, specs: Iterable[RunSpec]) -> tuple[Sets, Sets]:
    """Scores of uniform sampling and of the chosen setting."""
    uniform: Sets = {}
    chosen: Sets = {}
    for spec in specs:
        (uniform if _plain(spec) else chosen).setdefault(spec.dataset, []).append(results.every[spec.run].score)
    return uniform, chosen


def _by_set(results: PaperResults, ones: Sets, others: Sets, names: Iterable[str]) -> dict[str, Measured]:
    return {name: _difference(results, ones, others, [name]) for name in names}


def _with_mean(results: PaperResults, ones: Sets, others: Sets, names: Sequence[str]) -> dict[str, Measured]:
    found = _by_set(results, ones, others, names)
    return found | ({mean_of(len(names)): _difference(results, ones, others, names)} if len(names) > 1 else {})


def mean_of(count: int) -> str:
    return f"mean of {count} sets"


def _by_kind(names: Iterable[str]) -> dict[str, list[str]]:
    """Data sets by their rewards: MuJoCo's are dense."""
    dense = set(named_sets(["mujoco-v1"]))
    kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name in names:
        kinds["dense" if name in dense else "sparse"].append(name)
    return kinds


def _difference(results: PaperResults, ones: Sets, others: Sets, names: Sequence[str]) -> Measured:
    return results.difference(AGENT, {name: (np.array(ones[name]), np.array(others[name])) for name in names})


def _plain(spec: RunSpec) -> bool:
    return spec.sampler == "baseline" and dict(spec.settings) == own_settings(spec.suite, spec.algorithm)


def passed(outcome: Sequence[KindResult]) -> bool:
    return all(kind.passes for kind in outcome)


def outcome_rows(outcome: Sequence[KindResult]) -> Iterator[tuple[str, Measured, bool]]:
    """A name, a difference, and whether it is pooled: each kind's sets, then the kind."""
    for kind in outcome:
        for name, one in kind.sets.items():
            yield name, one, False
        yield f"{kind.kind}, {len(kind.sets)} sets", kind.pooled, True


def verdict_text(outcome: Sequence[KindResult]) -> str:
    other = set(KINDS) - {kind.kind for kind in outcome}
    untested = "".join(f" On {kind} sets it is uniform sampling: nothing to test." for kind in sorted(other))
    return f"The recommended setting {'passes' if passed(outcome) else 'fails'}.{untested} {RULE}"


def outcome_text(outcome: list[KindResult] | str) -> str:
    if isinstance(outcome, str):
        return f"Its test on other data sets {outcome}.\n{RULE}"
    rows = [{"set": name, "difference": told(one.estimate, "+.1f")} for name, one, _ in outcome_rows(outcome)]
    return f"{table(rows)}\n\n{verdict_text(outcome)}"


def candidates(results: PaperResults) -> str:
    """What has run on the choosing half: each way to train TD3+BC, its difference to uniform sampling by kind."""
    rows = []
    for way, kinds in _compared(results).items():
        row = {"setting": way}
        for kind in KINDS:
            found = kinds.get(kind)
            row[kind] = f"{told(found.pooled.estimate, '+.1f')} ({len(found.sets)})" if found else "-"
            row[f"worst {kind} set"] = f"{found.worst:+.1f}" if found else "-"
        rows.append(row)
    note = (
        "difference to uniform sampling in points, [95% interval], (data sets of the choosing half)\n"
        "on trajectories of one length (halfcheetah, Adroit's experts, OGBench) with staggered starts only"
    )
    return f"{table(rows)}\n{note}" if rows else "no runs on the choosing half yet"


def _compared(results: PaperResults) -> dict[str, dict[str, KindResult]]:
    """Each way against uniform sampling, by kind, on the sets of the choosing half where both have several runs."""
    cells = _cells(results)
    uniform = cells.pop("baseline", {})
    compared: dict[str, dict[str, KindResult]] = {}
    for way, found in cells.items():
        both = [name for name, own in found.items() if min(len(own), len(uniform.get(name, []))) > 1]
        compared[way] = {
            kind: KindResult(kind, _difference(results, found, uniform, names), _by_set(results, found, uniform, names))
            for kind, names in _by_kind(both).items()
            if names
        }
    return compared


def by_rule(results: PaperResults) -> tuple[dict[str, KindSetting], str]:
    """What evidence.toml's rule chooses for each kind, and why.

    Of the settings with runs on every set of a kind that any of them ran on, and no set too far below uniform sampling,
    the one with the highest lower bound of the pooled difference, if that is above 0; otherwise uniform sampling.
    """
    compared = _compared(results)
    chosen: dict[str, KindSetting] = {}
    reasons = []
    for kind in KINDS:
        ways = {way: kinds[kind] for way, kinds in compared.items() if kind in kinds and _is_setting(way)}
        every = {name for found in ways.values() for name in found.sets}
        complete = {way: one for way, one in ways.items() if one.sets.keys() == every and one.worst >= WORST_SET}
        gaining = {way: one for way, one in complete.items() if _low(one) > 0}
        best = max(gaining, key=lambda way: _low(gaining[way]), default="baseline")
        chosen[kind] = way_of(best)
        gain = f"{told(gaining[best].pooled.estimate, '+.1f')} points" if gaining else "no gain is clear"
        asked = f"of {len(ways)} settings {len(complete)} ran on all of them and are nowhere too far below"
        reasons.append(f"{gain} over uniform sampling on {len(every)} data sets with {kind} rewards ({asked})")
    return chosen, f"by the rule of evidence.toml: {'; '.join(reasons)}"


def taken_apart(results: PaperResults) -> dict[str, Measured]:
    """What the setting chosen for sparse rewards gains on the choosing half, by suite and by what it consists of."""
    setting = read_choice()
    if setting is None:
        return {}
    cells = _cells(results)
    ours, uniform = cells.get(str(setting.sparse), {}), cells.get("baseline", {})
    names = _by_kind(name for name in ours if name in uniform)["sparse"]
    suites: dict[str, list[str]] = {}
    for name in names:
        suites.setdefault(str(suite_of(name)), []).append(name)
    parts = {
        f"{ALL_SUITES[suite]} ({len(own)})": _difference(results, ours, uniform, own) for suite, own in suites.items()
    }
    norm = cells.get(str(KindSetting("baseline", layer_norm=True)), {})
    if setting.sparse.layer_norm and set(names) <= norm.keys():
        plain = [name for name in names if "layer_norm" not in own_settings(str(suite_of(name)), AGENT)]
        parts[f"layer norm alone, where the usual critics have none ({len(plain)})"] = _difference(
            results, norm, uniform, plain
        )
        parts[f"the setting over uniform sampling with layer norm ({len(names)})"] = _difference(
            results, ours, norm, names
        )
    return parts


def _low(found: KindResult) -> float:
    low = found.pooled.estimate.low
    return -np.inf if low is None else low


def _is_setting(way: str) -> bool:
    """Whether it can be chosen: others are controls."""
    try:
        return way_of(way).sampler != ""
    except UsageError:
        return False


def _cells(results: PaperResults) -> dict[str, Sets]:
    """Scores on the choosing half by way to train and data set."""
    wanted = load_definitions(EVIDENCE).wanted(RunChoice(algorithms=[AGENT]))
    choosing = set(choosing_half())
    scores: dict[RunSpec, float] = {}
    for spec in (spec for specs in wanted.values() for spec in specs if spec.run in results.every):
        has_own = own_settings(spec.suite, AGENT).keys() <= dict(spec.settings).keys()
        control = in_step(spec.dataset, spec.sampler, stagger=spec.stagger)
        if spec.dataset in choosing and has_own and not control:
            scores[spec] = results.every[spec.run].score
    cells: dict[str, Sets] = {_ways(spec)[0]: {} for spec in scores}
    for spec, score in scores.items():
        for way in _ways(spec):
            if way in cells and np.isfinite(score):
                cells[way].setdefault(spec.dataset, []).append(score)
    return cells


def _ways(spec: RunSpec) -> list[str]:
    """How it was trained; and the same with what is on there anyway, such as OGBench's layer norm.

    Stagger and the agent's own numbers are left out: OGBench's runs have them and others have not.
    """
    own = own_settings(spec.suite, spec.algorithm)
    given = {name: value for name, value in spec.settings if (name, value) not in own.items()}
    switches = {name: given.pop(name) for name in SWITCHES if name in given}
    others = [f"{name} {value}" for name, value in given.items()]
    others += [f"reuse {spec.reuse}"] if spec.reuse != "on_finish" else []
    setting = KindSetting(spec.sampler, spec.beta, **switches)
    same = [setting, *(KindSetting(**(vars(setting) | {name: True})) for name in SWITCHES if own.get(name))]
    return [", ".join([str(each), *others]) for each in same]
