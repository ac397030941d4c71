"""Scores on OGBench's single tasks beside published ones: a section of the page of scores."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rewind.arrays import Array
from rewind.data.ogbench import REBUILT
from rewind.report.methods import ALGORITHMS, Method
from rewind.report.stability import critic_known, diverged
from rewind.run_spec import RunSpec
from rewind_lab.paper.definitions import RunChoice, in_order, load_definitions
from rewind_lab.paper.published import OGBenchMeans, ogbench_means
from rewind_lab.paper.report.comparisons import told
from rewind_lab.paper.report.results import PaperResults

FAR = 6.0  # points between means over the tasks
TASKS = range(1, 6)
Methods = Mapping[tuple[str, str], Method]  # by data set and agent
HEAD = """
## OGBench

Transitions drawn uniformly, by the same protocol: success in percent on each of the five tasks, mean over seeds; then
the mean of the tasks with its 95% interval over seeds. BC, TD3+BC and IQL have networks of 2 x 256 here, ReBRAC has
3 x 256 with layer norm. Published: {published}
"apart": ours less the published mean; far, if it is more than {far:g} points. "diverged": critics whose Q at the end is
outside the possible returns. Without layer norm some diverge here; the published networks have it.

| set | agent | task 1 | task 2 | task 3 | task 4 | task 5 | mean of five | seeds | diverged | published | apart |
|---|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---|
"""


def beside_ogbench(results: PaperResults, tables: Sequence[str], definitions: Path | None) -> str:
    """The section: a line for each set and agent that these tables of the definitions want."""
    means = ogbench_means()
    wanted = in_order(load_definitions(definitions).wanted(RunChoice(list(tables), "rewind")))
    pairs = {(_set_of(spec), spec.algorithm) for spec in wanted}
    order, methods = list(ALGORITHMS), _methods(results, wanted)
    ordered = sorted(pairs, key=lambda one: (one[0], order.index(one[1])))
    lines = [_line(results, methods, *pair, means) for pair in ordered]
    return HEAD.format(published=_source(means), far=FAR) + "\n".join(lines) + "\n"


def _set_of(spec: RunSpec) -> str:
    """cube-single-play of rewind/ogbench-cube-single-play-task2-v0"""
    return spec.dataset.removeprefix(REBUILT).rpartition("-task")[0]


def _methods(results: PaperResults, wanted: Sequence[RunSpec]) -> Methods:
    """What the wanted runs are runs of: settings of an agent's own are part of it."""
    ids = {spec.run for spec in wanted}
    return {(run.dataset, run.algorithm): run.method for run in results.runs if run.row["run"] in ids}


def _source(means: OGBenchMeans) -> str:
    check = "" if means.checked else ", as noted from memory: look them up before you quote them"
    return f"means over the five tasks of {means.source}, with networks of 4 x 512{check}."


def _line(results: PaperResults, methods: Methods, name: str, agent: str, means: OGBenchMeans) -> str:
    tasks = [f"{REBUILT}{name}-task{number}-v0" for number in TASKS]
    scores = {task: results.scores(task, agent, methods.get((task, agent), "baseline")) for task in tasks}
    counts = [len(runs) for runs in scores.values()]
    seeds = " to ".join(map(str, dict.fromkeys((min(counts), max(counts)))))
    ours, apart = _mean(results, agent, scores, theirs := means.of(name, agent))
    by_task = [f"{runs.mean():.1f}" if len(runs) else "-" for runs in scores.values()]
    published = "-" if theirs is None else f"{theirs:g}"
    lost = _diverged(results, methods, tasks, agent)
    return f"| {' | '.join([name, ALGORITHMS[agent], *by_task, ours, seeds, lost, published, apart])} |"


def _diverged(results: PaperResults, methods: Methods, tasks: Sequence[str], agent: str) -> str:
    """How many critics of how many; a dash where nothing is known of any."""
    found = (results.of(task, agent, methods.get((task, agent), "baseline")) for task in tasks)
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
