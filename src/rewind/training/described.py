"""From the description of a run to what the engine trains."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from rewind.agents import AGENTS
from rewind.data import Trajectories
from rewind.run_spec import AROUND, VIEW, RunSpec
from rewind.training.bounds import bound_targets
from rewind.training.spec import Run, Sampler, make_runs


def engine_run(spec: RunSpec, data: Trajectories) -> Run:
    """The run, with the paper's hyper-parameters for its data where its settings have no others."""
    kind = AGENTS[spec.algorithm]
    given = {**kind.defaults(spec.steps), **dict(spec.settings)}
    whole = {field.name for field in fields(kind) if field.type in (int, "int")}
    settings: dict[str, Any] = {
        name: int(value) if name in whole else value for name, value in given.items() if name not in AROUND
    }
    view = {name: settings.pop(name) for name in VIEW if name in settings}
    bounded = settings.pop("bounded", False)
    sampler = Sampler(spec.sampler, spec.rank_exponent, spec.reuse, spec.stagger)
    (run,) = make_runs(data, spec.algorithm, samplers=[sampler], betas=[spec.beta], seeds=[spec.seed], **settings)
    run = replace(run, view=replace(run.view, **view))
    return bound_targets([run], data)[0] if bounded else run
