"""The one setting that is recommended: chosen on the choosing half, written down with its date, tested on the other."""

import json
import tomllib
from dataclasses import dataclass
from typing import Any

from rewind.errors import DataError, UsageError
from rewind_lab.paper import halves

SWITCHES = ("bounded", "layer_norm")  # settings that are on where they are named


@dataclass(frozen=True)
class KindSetting:
    """How to train on one kind of rewards, whatever the agent's own numbers. Sweeps over one length are staggered."""

    sampler: str
    beta: float = 1.0
    bounded: bool = False
    layer_norm: bool = False

    @property
    def agent(self) -> dict[str, Any]:
        """Settings of a run, where they are not the agent's own."""
        return {name: True for name in SWITCHES if getattr(self, name)}

    @property
    def uniform(self) -> bool:
        """Whether it is nothing but uniform sampling."""
        return self.sampler == "baseline" and not self.agent

    def __str__(self) -> str:
        beta = f", beta {self.beta:g}" if self.beta != 1.0 else ""
        return f"{self.sampler}{beta}" + "".join(f", {name}" for name in self.agent)


def way_of(text: str) -> KindSetting:
    """The way of a row that `rewind paper choice` prints: "tr, beta 0.75, layer_norm"."""
    sampler, *others = (word.strip() for word in text.split(","))
    given: dict[str, Any] = {}
    for word in others:
        name, _, value = word.partition(" ")
        try:
            given[name] = float(value) if name == "beta" else {"": True}[value]
            if name not in ("beta", *SWITCHES):
                raise KeyError(name)
        except (KeyError, ValueError):
            expected = f"SAMPLER, beta NUMBER, {', '.join(SWITCHES)}; all but the sampler may be left out"
            raise UsageError(f"{word!r} in {text!r} is no part of a setting; expected {expected}") from None
    return KindSetting(sampler, **given)


@dataclass(frozen=True)
class Setting:
    """What is recommended to start with, by kind of rewards.

    because: the evidence, in words
    runs: how many finished runs on the choosing half it was chosen from
    """

    date: str
    because: str
    runs: int
    sparse: KindSetting
    dense: KindSetting

    def way(self, kind: str) -> KindSetting:
        return {"sparse": self.sparse, "dense": self.dense}[kind]

    def __str__(self) -> str:
        return f"{self.sparse} on sparse rewards; {self.dense} on dense ones"


def read_choice() -> Setting | None:
    """What was chosen; None as long as nothing is."""
    if not halves.CHOICE.is_file():
        return None
    try:
        content = tomllib.loads(halves.CHOICE.read_text(encoding="utf-8"))
        date, because, runs = str(content["date"]), str(content["because"]), int(content["runs"])
        return Setting(date, because, runs, *(way_of(content[kind]) for kind in ("sparse", "dense")))
    except (tomllib.TOMLDecodeError, UsageError, KeyError, ValueError, AttributeError) as error:
        names = "date, because, runs, sparse, dense"
        raise DataError(f"{halves.CHOICE}: not a choice ({error}); expected {names}") from error


def choice_text(setting: Setting) -> str:
    """As TOML."""
    lines = ["# Written by `rewind paper choice`, before any run of it on the held-back half. Never edited."]
    for name in ("date", "because", "runs"):
        lines.append(f"{name} = {toml_value(getattr(setting, name))}")
    lines += [f"{kind} = {toml_value(str(setting.way(kind)))}" for kind in ("sparse", "dense")]
    return "\n".join(lines) + "\n"


def toml_value(value: str | float | bool) -> str:
    """As TOML writes it, which for these is what JSON writes."""
    return json.dumps(value, ensure_ascii=False)
