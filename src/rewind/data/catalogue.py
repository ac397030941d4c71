"""What is known of each published data set: files, environments, scores, labels."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rewind.errors import unknown_name

Label = Literal["sparse", "dense"]


@dataclass(frozen=True)
class Entry:
    """One data set of the catalogue. The facts and where they come from: `catalogue.toml`.

    name: D4RL's, which is also the id of the environment D4RL registers for it
    suite: mujoco, antmaze or adroit
    label: whether the paper calls the suite's rewards sparse or dense; `auto` priorities go by it
    file, address: the published file and where it is published
    base_environment: what D4RL's environment is made from
    environment: the Gymnasium id to evaluate on
    sizes: of an observation and an action
    horizon: steps after which an episode is cut
    minimum_score, maximum_score: the returns that score 0 and 100
    episodes: published count, ending at terminals | timeouts (on AntMaze: mostly one-step fragments)
    boundaries: the rule to end trajectories by, flags or flags+jump
    merge_fragments: whether to join the one-step success fragments
    rebuilt: the nearest set that Rewind makes itself; other policies, so never the same data
    paper: whether it is one of the paper's 23
    """

    name: str
    suite: str
    label: Label
    folder: str
    file: str
    address: str
    base_environment: str
    environment: str
    sizes: tuple[int, int]
    horizon: int
    minimum_score: float
    maximum_score: float
    episodes: int
    boundaries: Literal["flags", "flags+jump"]
    merge_fragments: bool
    rebuilt: str
    paper: bool = False


@cache
def catalogue() -> Mapping[str, Entry]:
    """Every data set by name: a suite's tasks in turn, within a task the paper's sets first."""
    text = resources.files("rewind.data").joinpath("catalogue.toml").read_text(encoding="utf-8")
    families = tomllib.loads(text)
    host = families.pop("host")
    entries = {}
    for family in families.values():
        for task in family.pop("tasks").values():
            for name, facts in task.pop("sets").items():
                values = {**family, **task, **facts}
                values |= {"sizes": tuple(values["sizes"]), "address": f"{host}/{values['folder']}/{values['file']}"}
                entries[name] = Entry(name=name, **values)
    return MappingProxyType(entries)


def entry(name: str) -> Entry:
    """The catalogue's entry of that name, or an error with the nearest names."""
    if name not in catalogue():
        raise unknown_name("data set", name, catalogue(), where="known: rewind data list")
    return catalogue()[name]


@cache
def known_entry(name: str | None) -> Entry | None:
    """What is known of a data set: a catalogued one's entry, or that of the D4RL set a rebuilt one is named after.

    `rewind/antmaze-umaze-v0` goes by `antmaze-umaze-v0`, `rewind/hopper-medium-v0` by `hopper-medium-v2`, and
    `rewind/pen-demos-v0`, whose demonstrations are not people's, by `pen-human-v1`. None for any other name.
    """
    room, _, set_name = (name or "").rpartition("/")
    if room != "rewind":
        return catalogue().get(name or "")
    set_name = _unversioned(set_name).replace("-demos", "-human")
    return next((published for published in catalogue().values() if _unversioned(published.name) == set_name), None)


def _unversioned(name: str) -> str:
    return name.rpartition("-v")[0]


def known_label(name: str | None) -> Label | None:
    """The label of a catalogued set, or of one that Rewind rebuilds; None for any other name."""
    published = known_entry(name)
    return None if published is None else published.label


def entry_of_file(file: str) -> Entry | None:
    """The set that is published under this file name."""
    return next((published for published in catalogue().values() if published.file == file), None)


@overload
def normalised_score(name: str, returns: float) -> float: ...
@overload
def normalised_score(name: str, returns: ArrayLike) -> NDArray[np.float64]: ...
def normalised_score(name: str, returns: ArrayLike) -> NDArray[np.float64] | float:
    """100 * (return - minimum) / (maximum - minimum), as papers print it; D4RL's own leaves the 100 out."""
    reference = entry(name)
    span = reference.maximum_score - reference.minimum_score
    scores = 100.0 * (np.asarray(returns, dtype=np.float64) - reference.minimum_score) / span
    return scores if scores.ndim else float(scores)
