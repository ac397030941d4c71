"""`rewind paper run`: from options to a runner."""

from __future__ import annotations

from dataclasses import replace

import jax

from rewind.experiments.paper.clock import Deadline, parse_duration
from rewind.experiments.paper.commands import PaperRun
from rewind.experiments.paper.cost_table import measure_cost
from rewind.experiments.paper.definitions import in_order
from rewind.experiments.paper.job import JobOptions
from rewind.experiments.paper.runner import Runner, RunnerOptions
from rewind.training.engine import device_kind
from rewind.training.train import find_device


def run_paper(command: PaperRun) -> None:
    """Groups first, then the measurement of costs where it is wanted."""
    deadline = Deadline() if command.budget is None else Deadline(parse_duration(command.budget))
    definitions, wanted = command.read()
    job = JobOptions(definitions.defaults.points, command.checkpoint_minutes, command.device, fused=command.fused)
    options = RunnerOptions(command.group_minutes * 60, command.runs_per_group, "gpu", job, command.jsonl)
    runs = in_order(wanted)
    if command.ray is not None:
        from rewind.experiments.paper.ray_runner import RayRunner

        RayRunner(command.out, runs, deadline, options, command.ray).run()
        return
    with jax.default_device(find_device(command.device)):
        device = device_kind()
        Runner(command.out, runs, deadline, replace(options, device=device)).run()
        for name in wanted:
            if definitions.tables[name].kind == "cost" and not deadline.passed:
                measure_cost(definitions.tables[name], command.out, deadline, device)
