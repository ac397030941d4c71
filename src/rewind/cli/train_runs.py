"""`rewind train`: the runs that its options describe."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from rewind.agents import AGENTS
from rewind.agents.settings import agent_label, paper_batch_size, paper_settings, required_beta
from rewind.cli.train_options import TrainOptions
from rewind.data.catalogue import known_entry
from rewind.errors import UsageError, unknown_name, warn
from rewind.evaluation.scoring import find_environment, usual_environment
from rewind.rebuilt.recipes import built_otherwise
from rewind.run_spec import SAMPLING, VIEW, RunSpec, canonical
from rewind.training.spec import usual_settings

# Of the data, or with a flag of their own.
ELSEWHERE = {"observation_size": "the data", "action_size": "the data", "hidden": "--hidden", "beta": "--betas",
             "layer_norm": "--layer-norm", "window": "--window"}  # fmt: skip
PENALTIES = ("actor_penalty", "critic_penalty")  # ReBRAC's, which its authors chose for each data set


class Described(NamedTuple):
    """A run as data.

    variant: what it is called without its seed
    extra: what its name ends with
    """

    spec: RunSpec
    variant: str
    extra: str


def describe_runs(command: TrainOptions, name: str | None, notes: Mapping[str, Any]) -> list[Described]:
    """All combinations of samplers, betas, seeds and numbers, each run once.

    name, notes: of the data
    """
    agent, memory = command.agent, command.memory
    fixed, swept = parse_settings(AGENTS[agent.algorithm], agent.set)
    view = {setting: value for setting in VIEW if (value := getattr(command.data, setting)) is not None}
    flags = {flag: value for flag in ("hidden", "layer_norm", "window") if (value := getattr(agent, flag)) is not None}
    for flag in flags:
        if not AGENTS[agent.algorithm].has(flag):
            raise UsageError(f"--{flag.replace('_', '-')}: {agent.algorithm} has none")
    fixed |= {**view, **flags}
    sampling = {setting: getattr(memory, setting) for setting in SAMPLING}
    around = built_otherwise(notes) | sampling | ({"bounded": True} if agent.bounded else {})
    environment = find_environment(command.evaluation.env, name, notes)
    if environment != usual_environment(name, notes):
        around["environment"] = environment or "none"
    common = RunSpec(
        name or file_name(command), agent.algorithm, reuse=memory.reuse, rank_exponent=memory.rank_exponent,
        stagger=memory.stagger, block=memory.block, batch_size=batch_size_of(command, name), steps=agent.steps,
        episodes=command.evaluation.episodes,
    )  # fmt: skip
    usual = usual_settings(agent.algorithm, name, agent.steps)
    if agent.algorithm == "rebrac":
        _say_unpublished(common, {**paper_settings("rebrac", name), **fixed, **swept}, usual)
    described: dict[RunSpec, Described] = {}  # the paper's beta may be one of the others
    for values in product(*swept.values()):
        tried = dict(zip(swept, values, strict=True))
        extra = "".join(f" {setting} {value:g}" for setting, value in tried.items())
        unusual = {setting: value for setting, value in {**fixed, **tried}.items() if value != usual[setting]}
        settings = tuple({**unusual, **around}.items())
        for sampler, beta, seed in _combinations(command, name):
            variant = sampler if _without_beta(command, sampler) else f"{sampler} beta {beta:g}"
            spec = canonical(replace(common, sampler=sampler, beta=beta, seed=seed, settings=settings))
            described.setdefault(spec, Described(spec, variant + extra, extra))
    return list(described.values())


def _say_unpublished(spec: RunSpec, chosen: Mapping[str, Any], usual: Mapping[str, Any]) -> None:
    """Warn where penalties are the class's own: neither published for the data set nor set."""
    if taken := {setting: usual[setting] for setting in PENALTIES if setting not in chosen}:
        numbers = " and ".join(f"{setting} {value:g}" for setting, value in taken.items())
        label, flags = agent_label(spec.algorithm), " ".join(f"{setting}=..." for setting in taken)
        warn(f"{label}: Rewind knows no published penalties for {spec.dataset}; taking {numbers} (--set {flags})")


def batch_size_of(command: TrainOptions, name: str | None) -> int:
    """As asked, or else the paper's for the data set of this name."""
    asked = command.agent.batch_size
    return paper_batch_size(command.agent.algorithm, name) if asked is None else asked


def file_name(command: TrainOptions) -> str:
    """What data without a name is called; never as a data set that the paper has settings for."""
    path = Path(command.data.dataset)
    return path.stem if known_entry(path.stem) is None else path.name


def _combinations(command: TrainOptions, name: str | None) -> Iterator[tuple[str, float, int]]:
    """All samplers with all betas and seeds; those for which beta changes nothing once."""
    for sampler in command.memory.chosen:
        betas = (1.0,) if _without_beta(command, sampler) else command.agent.betas
        for beta in betas:
            value = required_beta(name) if beta == "paper" else float(beta)
            yield from ((sampler, value, seed) for seed in command.agent.seeds)


def _without_beta(command: TrainOptions, sampler: str) -> bool:
    agent = command.agent
    return (sampler == "baseline" and (agent.window or 1) == 1) or not AGENTS[agent.algorithm].has("beta")


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
