"""Does the recommended setting hold where it was not chosen? A stated test on the held-back half."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rewind.run_spec import RunSpec
from rewind.statistics import Measured
from rewind.table import table
from rewind_lab.paper.choice import SWITCHES, KindSetting, read_choice
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, load_definitions, own_settings
from rewind_lab.paper.halves import choosing_half, named_sets
from rewind_lab.paper.report.comparisons import told
from rewind_lab.paper.report.results import PaperResults

WORST_BOUND, WORST_SET = -2.0, -10.0  # points: of a kind's lower bound, and of any one set
RULE = (
    f"A setting passes if the lower bound of its pooled difference to uniform sampling is above {WORST_BOUND:g} points "
    f"on sparse and on dense sets, and no set's difference is below {WORST_SET:g}."
)
AGENT = "td3_bc"  # with which a setting is chosen and tested
Sets = dict[str, list[float]]  # scores by data set


@dataclass(frozen=True)
class KindResult:
    """The chosen setting against uniform sampling on one kind of data."""

    kind: str
    pooled: Measured
    sets: Mapping[str, Measured]

    @property
    def passes(self) -> bool:
        low = self.pooled.estimate.low
        return low is not None and low > WORST_BOUND and all(one.value >= WORST_SET for one in self.sets.values())


def outcome_of(results: PaperResults) -> list[KindResult] | str:
    """The test's outcome, or why there is none yet."""
    specs = load_definitions(EVIDENCE).wanted(RunChoice(["recommendation"]))["recommendation"]
    setting = read_choice()
    if setting is None:
        return "not run yet: no setting is chosen (`rewind paper choice`)"
    missing = [spec for spec in specs if spec.run not in results.every]
    if missing:
        return f"not run yet: {len(missing):,} of {len(specs):,} runs are missing"
    uniform: Sets = {}
    chosen: Sets = {}
    for spec in specs:
        (uniform if _plain(spec) else chosen).setdefault(spec.dataset, []).append(results.every[spec.run].score)
    return [
        KindResult(
            kind,
            _difference(results, chosen, uniform, names),
            {name: _difference(results, chosen, uniform, [name]) for name in names},
        )
        for kind, names in _by_kind(name for name in uniform if name in chosen).items()
        if not setting.way(kind).uniform  # what cannot differ is not tested
    ]


def _by_kind(names: Iterable[str]) -> dict[str, list[str]]:
    """Data sets by their rewards: MuJoCo's are dense."""
    dense = set(named_sets(["mujoco-v1"]))
    kinds: dict[str, list[str]] = {"sparse": [], "dense": []}
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
    other = {"sparse", "dense"} - {kind.kind for kind in outcome}
    untested = "".join(f" On {kind} sets it is uniform sampling: nothing to test." for kind in sorted(other))
    return f"The recommended setting {'passes' if passed(outcome) else 'fails'}.{untested} {RULE}"


def outcome_text(outcome: list[KindResult] | str) -> str:
    if isinstance(outcome, str):
        return f"{outcome[0].upper()}{outcome[1:]}.\n{RULE}"
    rows = [{"set": name, "difference": told(one.estimate, "+.1f")} for name, one, _ in outcome_rows(outcome)]
    return f"{table(rows)}\n\n{verdict_text(outcome)}"


def candidates(results: PaperResults) -> str:
    """What has run on the choosing half: each way to train TD3+BC, its difference to uniform sampling by kind."""
    wanted = load_definitions(EVIDENCE).wanted(RunChoice(algorithms=[AGENT]))
    choosing = set(choosing_half())
    cells: dict[str, Sets] = {}
    for spec in dict.fromkeys(spec for specs in wanted.values() for spec in specs):
        score = results.every[spec.run].score if spec.run in results.every else np.nan
        has_own = own_settings(spec.suite, AGENT).keys() <= dict(spec.settings).keys()
        if spec.dataset in choosing and has_own and np.isfinite(score):
            cells.setdefault(_way(spec), {}).setdefault(spec.dataset, []).append(score)
    uniform = cells.pop("baseline", {})
    rows = []
    for way, found in cells.items():
        both = [name for name, own in found.items() if min(len(own), len(uniform.get(name, []))) > 1]
        row = {"setting": way}
        for kind, names in _by_kind(both).items():
            difference = told(_difference(results, found, uniform, names).estimate, "+.1f") if names else ""
            row[kind] = f"{difference} ({len(names)})" if names else "-"
        rows.append(row)
    note = "difference to uniform sampling in points, [95% interval], (data sets of the choosing half)"
    return f"{table(rows)}\n{note}" if rows else "no runs on the choosing half yet"


def _way(spec: RunSpec) -> str:
    """Stagger and the agent's own numbers are left out: OGBench's runs have them and others have not."""
    own = own_settings(spec.suite, spec.algorithm).items()
    given = {name: value for name, value in spec.settings if (name, value) not in own}
    switches = {name: given.pop(name) for name in SWITCHES if name in given}
    others = [f"{name} {value}" for name, value in given.items()]
    others += [f"reuse {spec.reuse}"] if spec.reuse != "on_finish" else []
    return ", ".join([str(KindSetting(spec.sampler, spec.beta, **switches)), *others])
