"""`rewind paper run` and `finish`: from options to a runner."""

from __future__ import annotations

from dataclasses import replace

import jax

from rewind.progress import say
from rewind.training.engine import device_kind
from rewind.training.session import find_device
from rewind_lab.paper.clock import Deadline, parse_duration
from rewind_lab.paper.commands import PaperFinish, PaperRun
from rewind_lab.paper.cost_table import measure_cost
from rewind_lab.paper.definitions import in_order
from rewind_lab.paper.job import JobOptions
from rewind_lab.paper.runner import Runner, RunnerOptions
from rewind_lab.paper.work import begun, is_trained, work_folder


def run_paper(command: PaperRun) -> None:
    """Groups first, then the measurement of costs where it is wanted."""
    deadline = _deadline(command.budget)
    definitions, wanted = command.read()
    job = JobOptions(definitions.defaults.points, command.checkpoint_minutes, command.device, fused=command.fused)
    groups = float("inf") if command.groups is None else command.groups
    options = RunnerOptions(command.group_minutes * 60, command.runs_per_group, groups, "gpu", job, command.jsonl)
    runs = in_order(wanted)
    if command.ray is not None:
        from rewind_lab.paper.ray_runner import RayRunner

        RayRunner(command.out, runs, deadline, options, command.ray).run()
        return
    with jax.default_device(find_device(command.device)):
        device = device_kind()
        Runner(command.out, runs, deadline, replace(options, device=device)).run()
        for name in wanted:
            if definitions.tables[name].kind == "cost" and not deadline.passed:
                measure_cost(definitions.tables[name], command.out, deadline, device)


def finish_paper(command: PaperFinish) -> None:
    """The runs of trained groups are all that is wanted, and all cores are there to play them."""
    left = [spec for group in begun(command.out) if is_trained(work_folder(command.out, group)) for spec in group]
    if not left:
        say(f"no trained group in {command.out / 'work'} has evaluations left")
        return
    options = RunnerOptions(device=device_kind(), jsonl=command.jsonl)
    Runner(command.out, left, _deadline(command.budget), options).run()


def _deadline(budget: str | None) -> Deadline:
    return Deadline() if budget is None else Deadline(parse_duration(budget))
