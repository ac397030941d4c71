"""How many critics diverge: plain, with bounded targets, with layer norm, and ReBRAC's; and what they score."""

import json
from collections.abc import Mapping, Sequence

from rewind.report.document import Block, Cell, Line, Table
from rewind.report.methods import Method, short
from rewind.report.runs import FinishedRun, scores_of
from rewind.report.stability import CRITICS, critic_known, diverged
from rewind.run_spec import RunSpec
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, load_definitions
from rewind_lab.paper.halves import NAMED, in_step
from rewind_lab.paper.published import in_print
from rewind_lab.paper.report.results import PaperResults

# The table of the evidence that has the runs of each kind of critic.
CRITIC_TABLES = {
    "TD3+BC": "a_mazes",
    "TD3+BC, bounded": "a_bounded",
    "TD3+BC, layer norm": "a_layer_norm",
    "ReBRAC": "b_rebrac",
}
METHODS = {Method("baseline"): "uniform", Method("tr"): "TR", Method("tr", 0.75): "TR, β 0.75"}
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
    told = [critic if len(own) == len(METHODS) else f"{critic} ({', '.join(own)})" for critic, own in missing.items()]
    shown += [f"Not run yet: {'; '.join(told)}."] if told else []
    return [*shown, *_elsewhere(results)]


def _elsewhere(results: PaperResults) -> list[Block]:
    """Of TD3+BC on other sets, whatever the sampler: those on which a critic diverged."""
    counts: dict[str, dict[bool, list[bool]]] = {}  # by data set with the other settings, and layer norm
    for run in results.every.values():
        control = in_step(run.dataset, run.method.sampler, stagger=run.protocol.stagger)
        if run.algorithm == "td3_bc" and run.dataset not in NAMED["antmaze-v1"] and critic_known(run) and not control:
            settings = json.loads(run.protocol.settings)
            norm = bool(settings.pop("layer_norm", False))
            name = ", ".join([short(run.dataset), *(f"{key} {value}" for key, value in settings.items())])
            counts.setdefault(name, {False: [], True: []})[norm].append(diverged(run))
    lines = [
        Line(name, [Cell(f"{sum(lost)} of {len(lost)}" if lost else "") for lost in ways.values()])
        for name, ways in sorted(counts.items())
        if any(map(any, ways.values()))
    ]
    columns = ["Data set", "Without layer norm", "With layer norm"]
    note = "Data sets on which none diverged are left out."
    return [Table("TD3+BC's critics that diverge on other data, all samplers", columns, lines, note)] if lines else []


def wanted_runs(mazes: Sequence[str]) -> Wanted:
    """The runs that the evidence wants on these mazes."""
    tables = load_definitions(EVIDENCE).wanted(RunChoice(list(CRITIC_TABLES.values())))
    return {
        (critic, words): [
            spec for spec in tables[name] if spec.dataset in mazes and Method(spec.sampler, spec.beta) == method
        ]
        for critic, name in CRITIC_TABLES.items()
        for method, words in METHODS.items()
    }


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
