"""The library's table of recommendations, written as the committed choice has it. The library does not know the lab."""

from importlib import resources
from pathlib import Path

from rewind.files import whole_file
from rewind_lab.paper.choice import Setting, toml_value
from rewind_lab.paper.definitions import PRIORITIES
from rewind_lab.paper.report.comparisons import told
from rewind_lab.paper.report.recommendation import KindResult

RECOMMENDED = Path(str(resources.files("rewind.memory") / "recommended.toml"))
HEAD = """\
# What to start with, by kind of rewards. Read by rewind.memory.choice.
#
# Written by `rewind paper choice` from lab/src/rewind_lab/paper/choice.toml. Never edited.
# `TrajectoryReplay("auto")` takes `priority`; `rewind train --recommended` takes the rest, as far as the agent has it.
"""
Outcome = list[KindResult] | str


def write_recommended(setting: Setting, outcome: Outcome) -> bool:
    """Write the table if it says something else; returns whether it did."""
    text = recommended_text(setting, outcome)
    if RECOMMENDED.read_text(encoding="utf-8") == text:
        return False
    with whole_file(RECOMMENDED) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return True


def recommended_text(setting: Setting, outcome: Outcome) -> str:
    """A way for each kind of rewards; what its test says stands with it."""
    lines = [HEAD, f"provisional = {toml_value(_provisional(outcome))}", f"date = {toml_value(setting.date)}"]
    together = "chosen together with the sampler, as one setting"
    for kind in ("sparse", "dense"):
        way, evidence = setting.way(kind), _evidence(setting, kind, outcome)
        values: dict[str, str | float | bool] = {
            "priority": way.sampler if way.sampler in PRIORITIES else "uniform",
            "sampler": way.sampler,
            "beta": way.beta,
            "stagger": "one length",
            "bounded": way.bounded,
            "layer_norm": way.layer_norm,
        }
        reasons = {name: evidence if name in ("priority", "sampler") else together for name in values}
        reasons["stagger"] = "on trajectories of one length all slots are at one time step, and TR scores far less"
        lines += ["", f"[{kind}]", *(f"{name} = {toml_value(value)}" for name, value in values.items())]
        lines += ["", f"[{kind}.evidence]", *(f"{name} = {toml_value(reason)}" for name, reason in reasons.items())]
    return "\n".join(lines) + "\n"


def _provisional(outcome: Outcome) -> str:
    if isinstance(outcome, str):
        return "its test on other data sets is not complete"
    failed = " and on ".join(kind.kind for kind in outcome if not kind.passes)
    return f"it failed its test on other {failed} data sets" if failed else ""


def _evidence(setting: Setting, kind: str, outcome: Outcome) -> str:
    chosen = f"chosen on {setting.date} from {setting.runs:,} runs: {reason(setting, kind)}"
    found = None if isinstance(outcome, str) else next((each for each in outcome if each.kind == kind), None)
    if found is None:
        return chosen
    where = f"{len(found.sets)} other {kind} data sets"
    return f"{chosen}; {told(found.pooled.estimate, '+.1f')} points over uniform sampling on {where}"


def reason(setting: Setting, kind: str) -> str:
    """Of a choice by the rule, what it says of this kind; otherwise all."""
    own = [clause for clause in setting.because.rstrip(".").split("; ") if f"with {kind} rewards" in clause]
    return own[0].rpartition("toml: ")[2] if len(own) == 1 else setting.because.rstrip(".")
