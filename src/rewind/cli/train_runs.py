"""`rewind train`: the runs that its options describe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from rewind.agents import AGENTS
from rewind.agents.settings import required_beta
from rewind.cli.train_options import TrainOptions
from rewind.data import Trajectories
from rewind.envs.make import known_task
from rewind.errors import UsageError, unknown_name
from rewind.rebuilt.recipes import built_otherwise
from rewind.run_spec import VIEW, RunSpec, canonical
from rewind.training import Run, engine_run
from rewind.training.spec import plain

# Of the data, or with a flag of their own.
ELSEWHERE = {"observation_size": "the data", "action_size": "the data", "hidden": "--hidden", "beta": "--betas"}


class Described(NamedTuple):
    """A run, as data and as the engine takes it.

    variant: what it is called without its seed
    """

    spec: RunSpec
    run: Run
    variant: str


def describe_runs(command: TrainOptions, data: Trajectories) -> list[Described]:
    """All combinations of samplers, betas, seeds and numbers."""
    agent, memory = command.agent, command.memory
    fixed, swept = parse_settings(AGENTS[agent.algorithm], agent.set)
    view = {name: value for name in VIEW if (value := getattr(command.data, name)) is not None}
    fixed |= {**view, **({} if agent.hidden is None else {"hidden": agent.hidden})}
    around = built_otherwise(data.notes) | ({"bounded": True} if agent.bounded else {})
    environment = find_environment(command.evaluation.env, data)
    if environment != find_environment("auto", data):
        around["environment"] = environment or "none"
    common = RunSpec(
        data_name(command, data), agent.algorithm, reuse=memory.reuse, rank_exponent=memory.rank_exponent,
        stagger=memory.stagger, block=memory.block, batch_size=agent.batch_size, steps=agent.steps,
        episodes=command.evaluation.episodes,
    )  # fmt: skip
    usual = engine_run(common, data)
    described = []
    for values in product(*swept.values()):
        tried = dict(zip(swept, values, strict=True))
        extra = "".join(f" {name} {value:g}" for name, value in tried.items())
        given = {**fixed, **tried}
        unusual = {name: value for name, value in given.items() if value != _usual(usual, name)}
        settings = tuple({**unusual, **around}.items())
        for sampler, beta, seed in _combinations(command, data):
            variant = sampler if _without_beta(command, sampler) else f"{sampler} beta {beta:g}"
            spec = replace(common, sampler=sampler, beta=beta, seed=seed, settings=settings)
            run = engine_run(spec, data)
            described.append(Described(canonical(spec), replace(run, name=run.name + extra), variant + extra))
    return described


def data_name(command: TrainOptions, data: Trajectories) -> str:
    return data.name or Path(command.data.dataset).stem


def _usual(run: Run, name: str) -> Any:
    """What a run has of a setting when nobody sets it."""
    if name in VIEW:
        return getattr(run.view, name)
    value = getattr(run.agent, name)
    return value if isinstance(value, tuple) else plain(value)


def _combinations(command: TrainOptions, data: Trajectories) -> Iterator[tuple[str, float, int]]:
    """All samplers with all betas and seeds; those for which beta changes nothing once."""
    for sampler in command.memory.samplers:
        betas = (1.0,) if _without_beta(command, sampler) else command.agent.betas
        for beta in betas:
            value = required_beta(data.name) if beta == "paper" else float(beta)
            yield from ((sampler, value, seed) for seed in command.agent.seeds)


def _without_beta(command: TrainOptions, sampler: str) -> bool:
    return sampler == "baseline" or not AGENTS[command.agent.algorithm].has("beta")


def find_environment(asked: str, data: Trajectories) -> str | None:
    """What to evaluate on: as asked, or what is known of the data; None: nothing."""
    if asked == "none":
        return None
    if asked != "auto":
        return asked
    if data.name is not None and known_task(data.name) is not None:
        return data.name
    noted: str | None = data.notes.get("environment")
    return noted


# `--set NAME=NUMBER`: the numbers of an agent from the command line.


def parse_settings(agent: Any, given: Sequence[str]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The numbers that are the same in all runs, and those to try several values of.

    agent: the class whose fields they are
    given: "name=number" or "name=number,number"
    """
    kinds = {field.name: int if field.type in (int, "int") else float for field in fields(agent)}
    fixed: dict[str, Any] = {}
    swept: dict[str, list[Any]] = {}
    for text in given:
        name, equals, numbers = text.partition("=")
        if not equals:
            raise UsageError(f"--set {text}: expected NAME=NUMBER")
        if name in ELSEWHERE and name in kinds:
            raise UsageError(f"--set {name}: it comes from {ELSEWHERE[name]}")
        if name not in kinds:
            raise unknown_name(f"number of {agent.__name__}", name, kinds.keys() - ELSEWHERE)
        if name in fixed or name in swept:
            raise UsageError(f"--set {name} is given twice; several values go as {name}=1,2")
        values = [_number(name, part, kinds[name]) for part in numbers.split(",")]
        if len(set(values)) < len(values):
            raise UsageError(f"--set {text}: expected different values")
        if len(values) == 1:
            fixed[name] = values[0]
        else:
            swept[name] = values
    return fixed, swept


def _number(name: str, text: str, kind: type[int] | type[float]) -> Any:
    try:
        value = kind(text)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise UsageError(f"--set {name}={text}: expected {expected}") from None
    if not math.isfinite(value):
        raise UsageError(f"--set {name}={text}: expected a finite number")
    return value
