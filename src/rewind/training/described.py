"""From the description of a run to what the engine trains."""

from __future__ import annotations

from dataclasses import replace

from rewind.agents import AGENTS
from rewind.data import Trajectories
from rewind.run_spec import AROUND, VIEW, RunSpec
from rewind.training.bounds import bound_targets
from rewind.training.spec import Run, Sampler, make_runs


def engine_run(spec: RunSpec, data: Trajectories) -> Run:
    """The run, with the paper's hyper-parameters for its data where its settings have no others."""
    settings = {**AGENTS[spec.algorithm].defaults(spec.steps), **dict(spec.settings)}
    settings = {name: value for name, value in settings.items() if name not in AROUND}
    view = {name: settings.pop(name) for name in VIEW if name in settings}
    bounded = settings.pop("bounded", False)
    sampler = Sampler(spec.sampler, spec.rank_exponent, spec.reuse, spec.stagger)
    (run,) = make_runs(data, spec.algorithm, samplers=[sampler], betas=[spec.beta], seeds=[spec.seed], **settings)
    run = replace(run, view=replace(run.view, **view))
    return bound_targets([run], data)[0] if bounded else run
