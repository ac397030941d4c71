"""The data sets of the evidence in two halves: on one a setting is chosen, on the other the choice is tested.

Fixed on 2026-11-16, before the first run on any of these sets. Until the choice and its date are committed (`CHOICE`),
the held-back half sees uniform sampling and behaviour cloning alone: the definitions leave out what else their tables
want there.
"""

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import resources

from rewind.run_spec import RunSpec

SEED = 20261116
CHOICE = resources.files("rewind_lab.paper") / "choice.toml"  # written when the setting is chosen
ALWAYS_CHOOSING = ("rewind/antmaze-medium-play-v1", "rewind/antmaze-large-diverse-v1")

MAZES = ("umaze", "umaze-diverse", "medium-play", "medium-diverse", "large-play", "large-diverse")
LEVELS = ("medium", "medium-replay", "medium-expert")
TASKS = ("pen", "door", "hammer", "relocate")
SCENES = ("cube-single", "cube-double", "scene", "puzzle-3x3")

# Each group is halved by itself; of an odd one, the larger part goes to the two halves in turn.
NAMED: dict[str, tuple[str, ...]] = {
    "antmaze-v1": tuple(f"rewind/antmaze-{maze}-v1" for maze in MAZES),
    "mujoco-v1": tuple(
        f"rewind/{body}-{level}-v1" for body in ("hopper", "halfcheetah", "walker2d") for level in LEVELS
    ),
    **{
        f"adroit-{kind.partition('-')[0]}": tuple(f"rewind/{task}-{kind}" for task in TASKS)
        for kind in ("demos-v0", "cloned-v0", "expert-v1")
    },
    **{
        f"ogbench-{scene}-{kind}": tuple(f"rewind/ogbench-{scene}-{kind}-task{number}-v0" for number in range(1, 6))
        for kind in ("play", "noisy")
        for scene in SCENES
    },
}
GROUPS: tuple[tuple[str, ...], ...] = tuple(NAMED.values())
TESTED = {  # groups whose held-back sets the choice is tested on
    "held-back-sparse": ("antmaze-v1", "adroit-cloned", "adroit-expert"),
    "held-back-ogbench": ("ogbench-cube-single-play", "ogbench-scene-play"),
    "held-back-dense": ("mujoco-v1",),
}
# Sets whose trajectories have one length: without staggered starts all slots of a batch are at one time step.
ONE_LENGTH = (
    *(f"rewind/halfcheetah-{level}-v1" for level in LEVELS),
    *NAMED["adroit-expert"],
    *(name for group, names in NAMED.items() if group.startswith("ogbench") for name in names),
)
# What stands for staggered starts on these sets alone, in definitions.
WHERE_ONE_LENGTH = "one length"
# Settings of uniform sampling and cloning that say nothing of what is to be chosen.
ALLOWED = ("top", "hidden", "temperature")


def usually_staggered(dataset: str, sampler: str) -> bool:
    """Whether claims count sweeps with staggered starts: on trajectories of one length."""
    return dataset in ONE_LENGTH and sampler != "baseline"


def in_step(dataset: str, sampler: str, *, stagger: bool) -> bool:
    """Whether sweeps put all slots of a batch at one time step. Such runs are controls: no claim is judged by them."""
    return usually_staggered(dataset, sampler) and not stagger


def choosing_half() -> list[str]:
    """The sets on which a setting is chosen."""
    chosen: list[str] = []
    larger = True
    for group in GROUPS:
        drawn = sorted(group, key=lambda name: (name not in ALWAYS_CHOOSING, _drawn(name)))
        chosen += drawn[: (len(group) + larger) // 2]
        larger ^= len(group) % 2 == 1
    return chosen


def held_back_half() -> list[str]:
    """The sets on which the choice is tested."""
    chosen = set(choosing_half())
    return [name for group in GROUPS for name in group if name not in chosen]


def named_sets(names: Iterable[str]) -> list[str]:
    """Names of data sets, with groups of NAMED spelt out."""
    return [each for name in names for each in _named().get(name, (name,))]


@cache
def _named() -> dict[str, tuple[str, ...]]:
    tested = {name: tuple(each for group in groups for each in NAMED[group] if each in _held_back())
              for name, groups in TESTED.items()}  # fmt: skip
    return NAMED | tested


def closed(spec: RunSpec) -> bool:
    """Whether a run must wait for the choice."""
    if spec.dataset not in _held_back() or CHOICE.is_file():
        return False
    return spec.sampler != "baseline" or any(name not in ALLOWED for name, _ in spec.settings)


@cache
def _held_back() -> frozenset[str]:
    return frozenset(held_back_half())


def _drawn(name: str) -> str:
    """A number drawn for this name, the same on every machine and with every version of every library."""
    name = name.replace("-task", "-singletask-task")  # what OGBench's tasks were called when the halves were fixed
    return hashlib.sha256(f"{SEED}/{name}".encode()).hexdigest()
