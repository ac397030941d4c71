"""`rewind train --recommended`: the settings that our runs recommend for such data, and why."""

from dataclasses import replace
from typing import Any

from rewind.agents import AGENTS
from rewind.agents.agent import HIGH, LOW
from rewind.cli.train_options import AgentOptions, MemoryOptions, TrainOptions
from rewind.data import Trajectories
from rewind.errors import UsageError
from rewind.memory.choice import caution, choose, recommended
from rewind.memory.sweeps import LONG, common_length


def with_recommended(command: TrainOptions, data: Trajectories) -> TrainOptions:
    """The command with recommended settings, which are printed with their evidence."""
    choice = choose(data, rule="auto")
    row, kind = recommended()[choice.label], AGENTS[command.agent.algorithm]
    one_length = (common_length(data.transitions) or 0) >= LONG
    sampler = row["sampler"]
    agent: dict[str, Any] = {}
    if kind.has("beta") and sampler != "baseline":
        agent["betas"] = (row["beta"],)
    if kind.has(LOW, HIGH):
        agent["bounded"] = row["bounded"]
    if kind.has("layer_norm") and row["layer_norm"]:
        agent["layer_norm"] = True
    memory: dict[str, Any] = {"samplers": (sampler,)}
    if sampler != "baseline":
        memory["stagger"] = one_length if row["stagger"] == "one length" else row["stagger"]
    _check_unset(command.agent, AgentOptions(), ("betas", "bounded", "layer_norm"))
    _check_unset(command.memory, MemoryOptions(), ("samplers", "stagger"))
    kind_of = "equal" if choice.share == 1.0 else choice.label
    print(f"recommended for {kind_of} rewards: {choice.because}.{caution()}")
    if kind.has("layer_norm") and not row["layer_norm"] and vars(kind).get("layer_norm") is not True:
        agent["layer_norm"] = None  # as the algorithm has it: no
    for name, value in (memory | agent).items():
        shown = " ".join(map(str, value)) if isinstance(value, tuple) else "yes" if value else "no"
        line = {"samplers": "sampler", "betas": "beta"}.get(name, name)
        print(f"  {line.replace('_', ' ')}: {shown} ({row['evidence'][line]})")
    return replace(command, agent=replace(command.agent, **agent), memory=replace(command.memory, **memory))


def _check_unset(options: Any, defaults: Any, names: tuple[str, ...]) -> None:
    for name in names:
        if getattr(options, name) != getattr(defaults, name):
            raise UsageError(f"--recommended sets --{name.replace('_', '-')}: leave one of them out")
