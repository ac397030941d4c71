"""What sets the runs of a table apart that the paper has not, and what to call it."""

import json
import math
from collections.abc import Callable
from typing import Any

from rewind.agents.settings import paper_settings
from rewind.report.methods import ALGORITHMS, LABELS
from rewind.run_spec import RunSpec

Variant = tuple[tuple[str, Any], ...]  # what a run has of the things that differ in its table

USUAL = {"window": 1, "precision": "default", "order": "backward"}  # of runs that do not name them
SWEEPS = ("reuse", "rank_exponent", "stagger", "order")
BOUNDS = ("target_low", "target_high")  # of the critics' targets
WORDS: dict[str, Callable[[Any], str]] = {
    "algorithm": lambda value: ALGORITHMS[value],
    "sampler": lambda value: LABELS[value],
    "beta": lambda value: f"β {value}",
    "stagger": lambda value: "staggered" if value else "from the end",
    "bounded": lambda value: "bounded" if value else "",
    "block": lambda value: f"{value} steps planned",
}


def described(spec: RunSpec) -> dict[str, Any]:
    settings = paper_settings(spec.algorithm, spec.dataset) | dict(spec.settings)
    settings, bounded = without_bounds(settings)
    values = {
        "algorithm": spec.algorithm,
        "sampler": spec.sampler,
        "beta": spec.beta,
        "reuse": spec.reuse,
        "rank_exponent": spec.rank_exponent,
        "stagger": spec.stagger,
        "block": spec.block or "default",
        "bounded": bounded,  # by what, differs from one data set to the next
        **USUAL,
        **settings,
    }
    if spec.sampler == "baseline":  # it has no sweeps that these could be of
        values = {name: value for name, value in values.items() if name not in SWEEPS}
    return values


def without_bounds(settings: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """An agent's settings but for bounds of its targets, and whether it has any: a bound at infinity is none."""
    bounded = bool(settings.get("bounded", False)) or any(
        math.isfinite(settings.get(name, math.inf)) for name in BOUNDS
    )
    return {name: value for name, value in settings.items() if name not in (*BOUNDS, "bounded")}, bounded


def differing(specs: dict[RunSpec, dict[str, Any]]) -> list[str]:
    """What varies on some data set; what only differs from one data set to the next is the paper's setting."""
    values: dict[tuple[str, str], set[str]] = {}
    for spec, each in specs.items():
        for name, value in each.items():
            values.setdefault((name, spec.dataset), set()).add(json.dumps(value))
    return list(dict.fromkeys(name for (name, _), found in values.items() if len(found) > 1))


def order(variant: Variant) -> list[tuple[float, str]]:
    """Agents and samplers in the paper's order, numbers by size."""
    orders = {"algorithm": list(ALGORITHMS), "sampler": list(LABELS)}
    return [
        (orders[name].index(value) if name in orders else value if isinstance(value, (int, float)) else 0.0, str(value))
        for name, value in variant
    ]


def name_of(variant: Variant) -> str:
    carries = ("sampler", "baseline") not in variant or dict(variant).get("window", 1) != 1
    told = [_told(name, value) for name, value in variant if name != "beta" or carries]  # or beta weighs nothing
    return ", ".join(text for text in told if text)


def _told(name: str, value: Any) -> str:
    if name in WORDS:
        return WORDS[name](value)
    return "" if USUAL.get(name) == value else f"{name.replace('_', ' ')} {value}"
