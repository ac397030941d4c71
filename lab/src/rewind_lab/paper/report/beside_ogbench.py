"""Scores on OGBench's single tasks beside published ones: a section of the page of scores."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.ogbench import REBUILT, family_of
from rewind.report.methods import ALGORITHMS, Method
from rewind.report.stability import critic_known, diverged
from rewind.run_spec import SHAPES, RunSpec
from rewind_lab.cards.cloned import tasks_of
from rewind_lab.cards.published import OGBenchMeans, ogbench_means
from rewind_lab.paper.definitions import RunChoice, in_order, load_definitions
from rewind_lab.paper.report.comparisons import told
from rewind_lab.paper.report.results import PaperResults

FAR = 6.0  # points between means over the tasks
NONE = np.empty(0)
Line = tuple[str, str, tuple[tuple[str, Any], ...]]  # a set of five tasks, an agent, settings unlike the published
Methods = Mapping[tuple[str, Line], Method]  # by data set and line
HEAD = """
## OGBench

Transitions drawn uniformly, by the same protocol: success in percent on each of the five tasks, mean over seeds; then
the mean of the tasks with its 95% interval over seeds. BC, TD3+BC and IQL have networks of 2 x 256 here, ReBRAC has
3 x 256 with layer norm. Published: {published}
The published IQL has a temperature of 1 on cube-single; our first runs had 10, the default of its code.
"apart": ours less the published mean; far, if it is more than {far:g} points. "diverged": critics whose Q at the end is
outside the possible returns. Without layer norm nearly all of TD3+BC's diverge here; the published networks have
it, and so has TD3+BC with alpha 0.2 (chosen on task 4).

| set | agent | task 1 | task 2 | task 3 | task 4 | task 5 | mean of five | seeds | diverged | published | apart |
|---|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---|
"""


def beside_ogbench(results: PaperResults, tables: Sequence[str], definitions: Path | None) -> str:
    """The section: a line for each set and agent that these tables of the definitions want."""
    means = ogbench_means()
    uniform = RunChoice(list(tables), "rewind", samplers=["baseline"])
    wanted = in_order(load_definitions(definitions).wanted(uniform))
    order, methods = list(ALGORITHMS), _methods(results, wanted)
    ordered = sorted({_line_of(spec) for spec in wanted}, key=lambda one: (one[0], order.index(one[1]), one[2]))
    lines = [_line(results, methods, line, means) for line in ordered]
    return HEAD.format(published=_source(means), far=FAR) + "\n".join(lines) + "\n"


def _line_of(spec: RunSpec) -> Line:
    """The size of networks is said above the table."""
    family = family_of(spec.dataset)
    assert family is not None
    return family, spec.algorithm, tuple(each for each in spec.settings if each[0] not in SHAPES)


def _methods(results: PaperResults, wanted: Sequence[RunSpec]) -> Methods:
    """What the wanted runs are runs of: settings of an agent's own are part of it."""
    lines = {spec.run: _line_of(spec) for spec in wanted}
    return {(run.dataset, lines[run.row["run"]]): run.method for run in results.runs if run.row["run"] in lines}


def _source(means: OGBenchMeans) -> str:
    check = "" if means.checked else ", as noted from memory: look them up before you quote them"
    return f"means over the five tasks of {means.source}, with networks of 4 x 512{check}."


def _line(results: PaperResults, methods: Methods, line: Line, means: OGBenchMeans) -> str:
    name, agent, settings = line
    tasks = list(tasks_of(f"{REBUILT}{name}-v0").values())
    ran = {task: methods.get((task, line)) for task in tasks}
    scores = {task: NONE if method is None else results.scores(task, agent, method) for task, method in ran.items()}
    counts = [len(runs) for runs in scores.values()]
    seeds = " to ".join(map(str, dict.fromkeys((min(counts), max(counts)))))
    ours, apart = _mean(results, agent, scores, theirs := means.of(name, agent))
    by_task = [f"{runs.mean():.1f}" if len(runs) else "-" for runs in scores.values()]
    published = "-" if theirs is None else f"{theirs:g}"
    lost = _diverged(results, methods, tasks, line)
    named = (name.replace("_", " ") + ("" if value is True else f" {value:g}") for name, value in settings)
    label = ", ".join([ALGORITHMS[agent], *named])
    return f"| {' | '.join([name, label, *by_task, ours, seeds, lost, published, apart])} |"


def _diverged(results: PaperResults, methods: Methods, tasks: Sequence[str], line: Line) -> str:
    """How many critics of how many; a dash where nothing is known of any."""
    found = (results.of(task, line[1], methods[task, line]) for task in tasks if (task, line) in methods)
    known = [run for runs in found for run in runs if critic_known(run)]
    return f"{sum(map(diverged, known))} of {len(known)}" if known else "-"


def _mean(results: PaperResults, agent: str, scores: dict[str, Array], theirs: float | None) -> tuple[str, str]:
    """The mean over the tasks, if all of them have runs, and how far it is from the published one."""
    if not all(map(len, scores.values())):
        return "not run yet", "-"
    ours = results.weighed(agent, {task: ((1.0, runs),) for task, runs in scores.items()}).estimate
    if ours.low is not None:  # success is between 0 and 100; Student's t does not know that
        ours = ours._replace(low=max(ours.low, 0.0), high=min(ours.high, 100.0))
    apart = 0.0 if theirs is None else ours.value - theirs
    far = ", far" if abs(apart) > FAR else ""
    return f"**{told(ours, '.1f')}**", "-" if theirs is None else f"{apart:+.1f}{far}"
