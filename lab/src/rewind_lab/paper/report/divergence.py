"""How many critics diverge: plain, with bounded targets, with layer norm, and ReBRAC's; and what they score."""

import json
from collections.abc import Mapping, Sequence

from rewind.report.document import Block, Cell, Line, Table
from rewind.report.methods import ALGORITHMS, Method, short
from rewind.report.runs import FinishedRun, scores_of
from rewind.report.stability import CRITICS, critic_known, diverged
from rewind.run_spec import RunSpec
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, in_order, load_definitions
from rewind_lab.paper.halves import NAMED, in_step
from rewind_lab.paper.published import in_print
from rewind_lab.paper.report.results import PaperResults

CRITICS_BY = {  # agent and settings of each kind of critic
    "TD3+BC": ("td3_bc", {}),
    "TD3+BC, bounded": ("td3_bc", {"bounded": True}),
    "TD3+BC, layer norm": ("td3_bc", {"layer_norm": True}),
    "IQL": ("iql", {}),
    "ReBRAC": ("rebrac", {}),
}
METHODS = {Method("baseline"): "uniform", Method("tr"): "TR", Method("tr", 0.75): "TR, β 0.75"}
RANKED = {Method(name): f"TR by `{name}`" for name in ("avg_reward", "uqm_reward", "lower_uqm_unc")}
AGENTS = ("td3_bc", "iql")
WAYS = ("Uniform sampling", "Sweeps", "With layer norm, all")  # of sampling, on other data
NOTE = (
    f"{CRITICS} On each maze: the score, mean and standard deviation over seeds, and their number. Bounds keep Q from "
    "diverging, not from being wrong within them: compare scores too."
)
Wanted = Mapping[tuple[str, str], Sequence[RunSpec]]  # by kind of critic and method


def divergence(results: PaperResults) -> list[Block]:
    """A line for each kind of critic and method that has runs; a sentence for those that have none."""
    mazes = NAMED["antmaze-v1"]
    lines: list[Line] = []
    missing: dict[str, list[str]] = {}
    for (critic, method), specs in wanted_runs(mazes).items():
        runs = [results.every[spec.run] for spec in specs if spec.run in results.every]
        if runs:
            cells = [_on_maze([run for run in runs if run.dataset == maze]) for maze in mazes]
            lines.append(Line(critic, [Cell(method), Cell(f"{len(runs)} of {len(specs)}"), _lost(runs), *cells]))
        else:
            missing.setdefault(critic, []).append(method)
    columns = ["Critics", "Sampling", "Runs", "Diverged", *map(_maze, mazes)]
    shown: list[Block] = [Table("Critics that diverge", columns, lines, NOTE)] if lines else []
    ran = {line.head for line in lines}
    told = [f"{critic} ({', '.join(own)})" if critic in ran else critic for critic, own in missing.items()]
    shown += [f"Not run yet: {'; '.join(told)}."] if told else []
    return [*shown, *_elsewhere(results)]


def _elsewhere(results: PaperResults) -> list[Block]:
    """On other sets: those on which a critic diverged."""
    counts: dict[tuple[str, str], dict[str, list[bool]]] = {}  # by agent, and data set with the other settings
    for run in results.every.values():
        control = in_step(run.dataset, run.method.sampler, stagger=run.protocol.stagger)
        if run.algorithm in AGENTS and run.dataset not in NAMED["antmaze-v1"] and critic_known(run) and not control:
            settings = json.loads(run.protocol.settings)
            norm = bool(settings.pop("layer_norm", False))
            name = ", ".join([short(run.dataset), *(f"{key} {value}" for key, value in settings.items())])
            way = WAYS[2 if norm else run.method.sampler != "baseline"]
            counts.setdefault((run.algorithm, name), {way: [] for way in WAYS})[way].append(diverged(run))
    lines = []
    for (agent, name), ways in sorted(counts.items(), key=lambda item: (AGENTS.index(item[0][0]), item[0][1])):
        if any(map(any, ways.values())):
            cells = [Cell(f"{sum(lost)} of {len(lost)}" if lost else "") for lost in ways.values()]
            lines.append(Line(ALGORITHMS[agent], [Cell(name), *cells]))
    columns = ["Agent", "Data set", *WAYS]
    note = "Data sets on which none diverged are left out."
    return [Table("Critics that diverge on other data", columns, lines, note)] if lines else []


def wanted_runs(mazes: Sequence[str]) -> Wanted:
    """The runs that the evidence wants on these mazes."""
    specs = in_order(load_definitions(EVIDENCE).wanted(RunChoice()))
    plain = [spec for spec in specs if spec.dataset in mazes and spec.reuse == "on_finish"]
    wanted = {
        (critic, words): [
            spec for spec in plain
            if (spec.algorithm, dict(spec.settings)) == way and Method(spec.sampler, spec.beta) == method
        ]
        for critic, way in CRITICS_BY.items()
        for method, words in (METHODS | RANKED).items()
    }  # fmt: skip
    return {key: own for key, own in wanted.items() if own}


def _lost(runs: Sequence[FinishedRun]) -> Cell:
    """Of how many the critic diverged; of those whose Q was recorded."""
    known = [run for run in runs if critic_known(run)]
    lost = sum(map(diverged, known))
    return Cell(f"{lost} of {len(known)}" if known else "not recorded", strong=2 * lost > len(known))


def _on_maze(runs: Sequence[FinishedRun]) -> Cell:
    """The score, and how many of these critics diverged, if any did."""
    if not runs:
        return Cell(kind="missing")
    scores, lost = scores_of(runs), sum(diverged(run) for run in runs if critic_known(run))
    return Cell(f"{in_print(scores)} ({len(scores)})", f"{lost} diverged" if lost else "")


def mostly_diverged(results: PaperResults) -> list[Block]:
    """The data sets on which most of TR's critics diverge and fewer of uniform sampling's, in a sentence each."""
    told: list[Block] = []
    for name in results.datasets:
        counts = {words: _lost(results.of(name, "td3_bc", method)) for method, words in METHODS.items()}
        uniform, tr, _ = counts.values()
        if tr.strong and not uniform.strong:
            shown = "; ".join(f"{words}: {cell.text}" for words, cell in counts.items())
            told.append(f"Critics of TD3+BC that diverged on {short(name)}: {shown}.")
    return told


def _maze(name: str) -> str:
    return short(name).removeprefix("antmaze-")
