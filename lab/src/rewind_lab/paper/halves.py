"""The data sets of the evidence in two halves: on one a setting is chosen, on the other the choice is tested.

Fixed on 2026-11-16, before the first run on any of these sets. Until the choice and its date are committed (`CHOICE`),
the held-back half sees uniform sampling and behaviour cloning alone; a test holds `evidence.toml` to it.
"""

import hashlib
from importlib import resources

SEED = 20261116
CHOICE = resources.files("rewind_lab.paper") / "choice.toml"  # written when the setting is chosen
ALWAYS_CHOOSING = ("rewind/antmaze-medium-play-v1", "rewind/antmaze-large-diverse-v1")

MAZES = ("umaze", "umaze-diverse", "medium-play", "medium-diverse", "large-play", "large-diverse")
LEVELS = ("medium", "medium-replay", "medium-expert")
SCENES = ("cube-single", "cube-double", "scene", "puzzle-3x3")

# Each group is halved by itself; of an odd one, the larger part goes to the two halves in turn.
GROUPS: tuple[tuple[str, ...], ...] = (
    tuple(f"rewind/antmaze-{maze}-v1" for maze in MAZES),
    tuple(f"rewind/{body}-{level}-v1" for body in ("hopper", "halfcheetah", "walker2d") for level in LEVELS),
    *(
        tuple(f"rewind/{task}-{kind}" for task in ("pen", "door", "hammer", "relocate"))
        for kind in ("demos-v0", "cloned-v0", "expert-v1")
    ),
    *(
        tuple(f"rewind/ogbench-{scene}-{kind}-task{number}-v0" for number in range(1, 6))
        for kind in ("play", "noisy")
        for scene in SCENES
    ),
)


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


def _drawn(name: str) -> str:
    """A number drawn for this name, the same on every machine and with every version of every library."""
    name = name.replace("-task", "-singletask-task")  # what OGBench's tasks were called when the halves were fixed
    return hashlib.sha256(f"{SEED}/{name}".encode()).hexdigest()
