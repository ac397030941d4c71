"""`--set NAME=NUMBER`: the numbers of an agent from the command line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from rewind.errors import UsageError, unknown_name

# Of the data, or with a flag of their own.
ELSEWHERE = {"observation_size": "the data", "action_size": "the data", "hidden": "--hidden", "beta": "--betas"}


def parse_settings(agent: Any, given: Sequence[str]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The numbers that are the same in all runs, and those to try several values of.

    agent: the class whose fields they are
    given: "name=number" or "name=number,number"
    """
    kinds = {one.name: int if one.type in (int, "int") else float for one in fields(agent)}
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
