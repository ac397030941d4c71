"""The one setting that is recommended: chosen on the choosing half, written down with its date, tested on the other."""

import json
import tomllib
from dataclasses import asdict, dataclass, fields
from typing import Any

from rewind.errors import DataError
from rewind_lab.paper import halves


@dataclass(frozen=True)
class Setting:
    """What is recommended to start with, whatever the agent's own numbers.

    because: the evidence, in words
    runs: how many finished runs on the choosing half it was chosen from
    """

    date: str
    sampler: str
    beta: float
    stagger: bool
    bounded: bool
    layer_norm: bool
    because: str
    runs: int

    @property
    def agent(self) -> dict[str, Any]:
        """Settings of a run, where they are not the agent's own."""
        return {name: True for name in ("bounded", "layer_norm") if getattr(self, name)}

    @property
    def words(self) -> str:
        extra = [name.replace("_", " ") for name in ("stagger", "bounded", "layer_norm") if getattr(self, name)]
        return ", ".join([f"sampler {self.sampler}", f"beta {self.beta:g}", *extra])


def read_choice() -> Setting | None:
    """What was chosen; None as long as nothing is."""
    if not halves.CHOICE.is_file():
        return None
    try:
        content = tomllib.loads(halves.CHOICE.read_text(encoding="utf-8"))
        return Setting(**{field.name: field.type(content[field.name]) for field in fields(Setting)})  # type: ignore[operator]
    except (tomllib.TOMLDecodeError, KeyError, ValueError, TypeError) as error:
        names = ", ".join(field.name for field in fields(Setting))
        raise DataError(f"{halves.CHOICE}: not a choice ({error}); expected {names}") from error


def choice_text(setting: Setting) -> str:
    """As TOML."""
    lines = ["# Written by `rewind paper choice`, before any run of it on the held-back half. Never edited."]
    for name, value in asdict(setting).items():
        lines.append(f"{name} = {toml_value(value)}")
    return "\n".join(lines) + "\n"


def toml_value(value: str | float | bool) -> str:
    """As TOML writes it, which for these is what JSON writes."""
    return json.dumps(value, ensure_ascii=False)
