"""The README's evidence: what TR gains over uniform sampling by kind of data, and what that says so far."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rewind.data.ogbench import suite_of
from rewind.memory.choice import caution, recommended
from rewind.report.document import Block, Cell, Line, Table
from rewind.report.methods import ALGORITHMS, Method
from rewind.report.runs import Protocol, standard_protocol
from rewind.statistics import LEVEL, Estimate, holm
from rewind_lab.paper.definitions import PRIORITIES, own_settings
from rewind_lab.paper.published import ALL_SUITES
from rewind_lab.paper.report.claims import Finding
from rewind_lab.paper.report.comparisons import LEAST_RUNS, limit_of, points, signed
from rewind_lab.paper.report.controls import progress
from rewind_lab.paper.report.results import PaperResults, source

REWARDS = {"mujoco": "dense", "antmaze": "sparse", "adroit": "sparse", "ogbench": "sparse"}
AGENTS = ("td3_bc", "iql")
METHODS = {"TR": Method("tr", 1.0), "TR, β 0.75": Method("tr", 0.75)}  # of the figure
RANKED = {f"TR by `{name}`": Method(name, 1.0) for name in PRIORITIES}
WITH_NORM = ", layer norm in both"
SHOWN = f"TR by avg_reward{WITH_NORM}"  # of the figure
MOST_NAMED = 2  # clear gains in the README, and clear losses


@dataclass(frozen=True)
class Gain:
    """A method's mean difference to uniform sampling over data sets of a kind, in points.

    sets, limited: differences by data set with runs of both that can show one, and how many cannot (floor or ceiling)
    runs: of both methods on the used ones
    p: of the difference, two-sided, not corrected; 1 where there is none
    """

    agent: str
    kind: str
    method: str
    difference: Estimate | None
    sets: Mapping[str, float]
    limited: int
    runs: int
    p: float = 1.0

    @property
    def used(self) -> int:
        return len(self.sets)

    @property
    def counted(self) -> str:
        """How many sets, of which robot if there is but one, and from where to where the differences on them go."""
        robots = {name.partition("/")[2].partition("-")[0] for name in self.sets}
        robot = robots.pop() if self.kind == "mujoco" and len(robots) == 1 else ""
        if self.limited:
            sets = f"{self.used} of {self.used + self.limited} sets" + (f", of {robot}" if robot else "")
        else:
            sets = " ".join(filter(None, (str(self.used), robot, "set" if self.used == 1 else "sets")))
        if self.used < 2:
            return sets
        least, most = (signed(end(self.sets.values())) for end in (min, max))
        return f"{sets}: {least} to {most}"


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
    limited = len(pairs) - len(used)
    if not used:
        return Gain(agent, kind, label, None, {}, limited, 0)
    runs = sum(len(side) for pair in used.values() for side in pair)
    measured = results.difference(agent, used)
    sets = {name: float(ones.mean() - others.mean()) for name, (ones, others) in used.items()}
    return Gain(agent, kind, label, measured.estimate, sets, limited, runs, measured.p())


def as_run(results: PaperResults, dataset: str, agent: str, method: Method) -> Method:
    """On OGBench sweeps are staggered (evidence.toml, part c), and an agent may have numbers of its own."""
    if source(dataset) is not None:
        return method
    suite = suite_of(dataset)
    usual = standard_protocol([run for run in results.every.values() if run.dataset == dataset])
    staggered = suite == "ogbench" if method.sampler != "baseline" else usual.stagger  # uniform sampling has no sweeps
    protocol = Protocol(stagger=staggered, settings=json.dumps(own_settings(suite, agent), sort_keys=True))
    return method._replace(variant=protocol.against(usual))


# In words


def evidence(results: PaperResults, findings: Sequence[Finding]) -> list[Block]:
    """A caption of the figure, what was measured, how the claims stand, and what to do."""
    head, *rest = clear_blocks(results, MOST_NAMED)
    return [f"*{_caption(results)}*", f"**{head}**", *rest, _claims(findings), _advice()]


def clear_blocks(results: PaperResults, most: int | None = None) -> list[Block]:
    """Whether plain TR differs from uniform sampling, and a table of the methods that clearly do.

    most: gains in the table, and as many losses
    """
    known = [
        gain
        for gains in (gains_by_kind, gains_with_norm)
        for gain in gains(results, METHODS | RANKED)
        if gain.difference is not None
    ]
    if not known:
        return ["Not measured yet: no data set has enough runs of TR and of uniform sampling."]
    clear = _clear(known)
    head = f"Plain TR {_plain_words([gain for gain in clear if gain.method == 'TR'])}."
    variants = [gain for gain in clear if gain.method != "TR"]
    return [" ".join([head, f"{_directions(variants)}."] if variants else [head]), *_table(known, clear, most)]


def _clear(gains: Sequence[Gain]) -> list[Gain]:
    """Those that chance alone seldom makes: their p values are corrected for their number."""
    return [gain for gain, p in zip(gains, holm([gain.p for gain in gains]), strict=True) if p <= 1 - LEVEL]


def _plain_words(clear: Sequence[Gain]) -> str:
    if not clear:
        return "does not clearly differ from uniform sampling on any kind of data"
    return " and ".join(f"{word} on {_places(gains)}" for word, gains in _sides(clear, "gains", "loses"))


def _directions(variants: Sequence[Gain]) -> str:
    told = [f"{word} on {_places(gains)}" for word, gains in _sides(variants, "gain", "lose")]
    return f"Some variants {', others '.join(told)}"


def _sides(gains: Sequence[Gain], more: str, less: str) -> list[tuple[str, list[Gain]]]:
    """Those that score more and those that score less, as far as there are any, each with its word."""
    above, below = ([gain for gain in gains if _value(gain) * sign > 0] for sign in (1, -1))
    return [(word, side) for word, side in ((more, above), (less, below)) if side]


def _places(gains: Sequence[Gain]) -> str:
    return " and ".join(dict.fromkeys(map(_where, gains)))


def _table(known: Sequence[Gain], clear: Sequence[Gain], most: int | None) -> list[Block]:
    """The clear differences, the largest gain first; below, how many are not, and where plain TR comes nearest."""
    ordered = sorted(clear, key=lambda gain: -abs(_value(gain)))
    shown = [gain for _, side in _sides(ordered, "", "") for gain in side[:most]]
    lines = [
        Line(gain.method, [Cell(_where(gain)), Cell(points(gain.difference)), Cell(gain.counted)])
        for gain in sorted(shown, key=_value, reverse=True)
    ]
    told = [f"{len(clear) - len(shown)} more, smaller."] if len(shown) < len(clear) else []
    unclear = [gain for gain in known if gain not in clear]
    if unclear:
        told.append(f"Not clear, after Holm's correction: {len(unclear)} of {len(known)} comparisons.")
    if plain := [gain for gain in unclear if gain.method == "TR"]:
        nearest = min(plain, key=lambda gain: gain.p)
        told.append(f"Plain TR comes nearest on {_where(nearest)}: {points(nearest.difference)}.")
    note = " ".join(told)
    columns = ("Method", "Data (agent)", "Points", "Data sets: range")
    return [Table("Clear differences from uniform sampling", columns, lines, note)] if clear else [note]


def _where(gain: Gain) -> str:
    return f"{ALL_SUITES[gain.kind]} ({ALGORITHMS[gain.agent]})"


def _caption(results: PaperResults) -> str:
    _, done, wanted = progress(results)
    sets = len({run.dataset for run in results.every.values()})
    share = f"{done:,} of {wanted:,} planned runs" if done < wanted else f"All {wanted:,} planned runs"
    return f"{share}, on {sets} rebuilt data sets, with 95% intervals over seeds."


def _value(gain: Gain) -> float:
    assert gain.difference is not None
    return float(gain.difference.value)


def _claims(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.state for finding in findings if finding.contrast is not None)
    words = {"holds": "hold", "fails": "do not hold", "undecided": "are undecided", "open": "lack data",
             "unplanned": "are not tested"}  # fmt: skip
    told = ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items() if counts[verdict])
    return f"Of the paper's {counts.total()} claims about scores (by agent), {told}."


def _advice() -> str:
    """As the library recommends; until that has passed its test, to compare."""
    setting = recommended_words()
    if caution():
        row = recommended()["sparse"]
        samplers = " ".join(dict.fromkeys(["baseline", "tr", str(row["sampler"])]))
        norm = " --layer-norm" if row["layer_norm"] is True else ""
        return (
            f"**What to use:** compare on your own data: `rewind train --samplers {samplers} --betas 1 0.75{norm}` "
            f"(`baseline`: uniform sampling). `--recommended` sets {setting}.{caution()}"
        )
    return (
        f"**What to use:** start with `rewind train --recommended`. It sets {setting}, and has passed its test on "
        "other data sets."
    )


def recommended_words() -> str:
    """What `rewind train --recommended` sets."""
    sparse, dense = (_words(recommended()[kind]) for kind in ("sparse", "dense"))
    return sparse if sparse == dense else f"{sparse} on sparse rewards, {dense} on dense ones"


def _words(row: dict[str, object]) -> str:
    if row["sampler"] == "baseline":
        words = ["uniform sampling"]
    else:
        words = ["TR" if row["sampler"] == "tr" else f"TR by `{row['sampler']}`"]
        words += [f"a weighted target (beta {row['beta']:g})"] if row["beta"] != 1 else []
        words += ["staggered starts"] if row["stagger"] is True else []
    words += [
        word for name, word in (("bounded", "bounded targets"), ("layer_norm", "layer norm")) if row[name] is True
    ]
    return " with ".join([words[0], " and ".join(words[1:])] if words[1:] else words)
