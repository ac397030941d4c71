"""The recipes of the rebuilt data sets. A recipe is only data; one program builds all of them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from rewind.data.ogbench import REBUILT
from rewind.errors import unknown_name

VERSION = 1  # of all recipes and of the code that builds them: any change of the data changes this, or
REVISED = {"rewind/ogbench-scene-noisy-v0": 2}  # the version of one. Scenes: version 1 depended on chance

MILLION = 1_000_000
# Not a shipped file: uniform actions, a controller, OGBench's oracles, the user's file
RANDOM, STEER, ORACLE, GIVEN = "random", "steer", "oracle", "given"
NO_FILE = (RANDOM, STEER, ORACLE)


@dataclass(frozen=True)
class MazeRecipe:
    """Starts, goals and rewards of episodes in a maze.

    maze: the maze with the goals of data collection
    starts: at the origin, or on any free cell without a goal
    goals: the maze's goal cells, or any free cell
    noise: standard deviation of the noise added to each action before it is clipped
    target: x and y of the goal that is rewarded, which need not be the episode's own. The evaluation draws AntMaze's
        goal as the goal cell's centre + uniform(0, 1) + uniform(0, 0.5) on each axis, and D4RL labelled its data for
        one such draw. None: one such draw, by the data's seed. The -v0 sets have the mean of all draws instead
    stop: whether an episode ends at its own goal; otherwise only at the horizon. Two numbers: it continues for that
        many steps after it first reached its goal, drawn from the first number to the second
    reached: distance to a goal, in metres, within which it is reached
    """

    maze: str
    starts: Literal["origin", "anywhere"]
    goals: Literal["cells", "anywhere"]
    noise: float
    target: tuple[float, float] | None
    stop: bool | tuple[int, int] = True
    reached: float = 0.5


@dataclass(frozen=True)
class Recipe:
    """How a data set is made.

    environment: where the data is made, and policies learned from it are evaluated
    horizon: steps after which an episode is cut
    size: number of transitions
    policies: each contributes the same share, in this order: names of shipped files ("NAME-*": all with a number),
        or one of RANDOM, STEER, ORACLE, GIVEN; or another data set, whose episodes are repeated
    width: episodes played together; part of the recipe, because it changes rounding
    """

    name: str
    environment: str
    horizon: int
    size: int
    policies: tuple[str, ...]
    width: int = 64
    maze: MazeRecipe | None = None


@cache
def recipes() -> Mapping[str, Recipe]:
    """Every data set that can be built, by name."""
    made = [*_locomotion(), *_antmaze(), *_pointmaze(), *_adroit(), *_ogbench()]
    return MappingProxyType({recipe.name: recipe for recipe in made})


def find_recipe(name: str) -> Recipe:
    """The recipe of that name. Raises an error with the nearest names if there is none."""
    if not is_rebuilt(name):
        raise unknown_name("rebuilt data set", name, recipes(), where="known: rewind data list")
    return recipes()[_file_of(name)]


def is_rebuilt(name: str) -> bool:
    return _file_of(name) in recipes()


def _file_of(name: str) -> str:
    """The data set whose file has the rows: the five tasks of an OGBench set differ only in rewards."""
    return re.sub(rf"^({REBUILT}.*)-task[1-5](-v\d)$", r"\1\2", name)


def later_version(name: str) -> str | None:
    """The data set that replaces this one: of the same name, with a higher version."""
    stem, _, version = name.rpartition("-v")
    later = f"{stem}-v{int(version) + 1}"
    return later if later in recipes() else None


def _locomotion() -> Iterator[Recipe]:
    """Like D4RL's Gym sets; medium-replay has the same number of transitions as D4RL's. -v1 is as good as D4RL's."""
    tasks = {"hopper": ("Hopper-v4", 402_000), "halfcheetah": ("HalfCheetah-v4", 202_000)}
    tasks["walker2d"] = ("Walker2d-v4", 302_000)
    for task, (environment, replay) in tasks.items():
        sets = {
            "random": ((RANDOM,), MILLION),
            "medium": ((f"{task}-medium",), MILLION),
            "medium-replay": ((f"{task}-replay-*",), replay),
            "medium-expert": ((f"{task}-medium", f"{task}-expert"), 2 * MILLION),
            "expert": ((f"{task}-expert",), MILLION),
        }
        for kind, (policies, size) in sets.items():
            yield Recipe(f"rewind/{task}-{kind}-v0", environment, 1000, size, policies)
        medium = f"v1/{task}-medium"  # also the last stage of its replay
        sets = {
            "medium": ((medium,), MILLION),
            "medium-replay": ((f"v1/{task}-replay-*", medium), replay),
            "medium-expert": ((medium, f"{task}-expert"), 2 * MILLION),
        }
        for kind, (policies, size) in sets.items():
            yield Recipe(f"rewind/{task}-{kind}-v1", environment, 1000, size, policies)


def _antmaze() -> Iterator[Recipe]:
    """Like D4RL's: "play" goes to chosen cells, "diverse" anywhere; only umaze has one start.

    -v1: a fast walker and a slow one, which together reach their goals as often and as quickly as D4RL's and fall as
    often, and for each set the ending that gives the number of pieces nearest to D4RL's (docs/rebuilt_data.md).
    """
    sets: dict[str, tuple[str, Literal["origin", "anywhere"], Literal["cells", "anywhere"]]] = {
        "umaze": ("umaze", "origin", "cells"),
        "umaze-diverse": ("umaze", "anywhere", "anywhere"),
        "medium-play": ("medium-data", "anywhere", "cells"),
        "medium-diverse": ("medium-data", "anywhere", "anywhere"),
        "large-play": ("large-data", "anywhere", "cells"),
        "large-diverse": ("large-data", "anywhere", "anywhere"),
    }
    targets = {"umaze": (0.75, 8.75), "medium": (20.75, 20.75), "large": (32.75, 24.75)}
    endings: dict[str, bool | tuple[int, int]] = {"umaze": (8, 8), "large-play": (250, 250), "large-diverse": False}
    drawn = {"large-diverse": (32.657, 24.278)}  # with the seed's own draw no ending fits
    for kind, (maze, starts, goals) in sets.items():
        size = kind.split("-")[0]
        horizon = 700 if size == "umaze" else 1000
        maze_recipe = MazeRecipe(maze, starts, goals, noise=0.2, target=targets[size])
        environment = f"rewind/AntMaze-{size}-v0"
        yield Recipe(f"rewind/antmaze-{kind}-v0", environment, horizon, MILLION, ("ant",), width=32, maze=maze_recipe)
        maze_recipe = replace(maze_recipe, target=drawn.get(kind), stop=endings.get(kind, True))
        walkers: tuple[str, ...] = ("v1/ant-fast", "v1/ant-slow")
        if kind == "umaze-diverse":  # its goals are near, and D4RL's walker reaches nearly all
            walkers = ("v1/ant-fast", *walkers)
        yield Recipe(f"rewind/antmaze-{kind}-v1", environment, horizon, MILLION, walkers, width=32, maze=maze_recipe)


def _pointmaze() -> Iterator[Recipe]:
    """Rewind's PointMaze: a point that is steered from anywhere to anywhere."""
    mazes = {"umaze": (150, (0.0, 2.0)), "medium": (300, (5.0, 5.0)), "large": (400, (8.0, 6.0))}
    for maze, (horizon, target) in mazes.items():
        maze_recipe = MazeRecipe(maze, "anywhere", "anywhere", noise=0.5, target=target)
        environment = f"rewind/PointMaze-{maze}-v0"
        yield Recipe(f"rewind/pointmaze-{maze}-v0", environment, horizon, MILLION, (STEER,), maze=maze_recipe)


def _adroit() -> Iterator[Recipe]:
    """Like D4RL's, with its numbers of episodes and steps. Few are played together: these environments are large.

    -expert-v0 is made by the user's expert. The others are made by policies of our own: cloned from the episodes of
    published experts; with more noise, for as long as people took for D4RL's demonstrations; cloned from those.
    """
    tasks = {"pen": (100, 200), "door": (200, 269), "hammer": (200, 452), "relocate": (200, 398)}
    for task, (horizon, demonstration) in tasks.items():
        environment, size, demos = f"AdroitHand{task.title()}-v1", 5_000 * horizon, f"rewind/{task}-demos-v0"
        yield Recipe(f"rewind/{task}-expert-v0", environment, horizon, size, (GIVEN,), width=8)
        yield Recipe(f"rewind/{task}-expert-v1", environment, horizon, size, (f"adroit/{task}-expert",), width=8)
        demonstrator = (f"adroit/{task}-demonstrator",)
        yield Recipe(demos, environment, demonstration, 25 * demonstration, demonstrator, width=5)
        halves = (demos, f"adroit/{task}-clone")
        yield Recipe(f"rewind/{task}-cloned-v0", environment, horizon, size, halves, width=8)


def _ogbench() -> Iterator[Recipe]:
    """OGBench's manipulation sets, by its own oracles: 1,000 episodes of 1,000 steps, evaluated on the default task."""
    for task in ("cube-single", "cube-double", "scene", "puzzle-3x3"):
        for kind in ("play", "noisy"):
            name = f"{REBUILT}{task}-{kind}-v0"
            yield Recipe(name, f"{task}-singletask-v0", 1000, MILLION, (ORACLE,), width=4)


def built_otherwise(notes: Mapping[str, Any]) -> dict[str, Any]:
    """How a rebuilt data set differs from what its name stands for: its size, its seed, its policy, where episodes end.

    notes: of the data
    """
    made = notes.get("made", {})
    used = made.get("recipe", {})
    recipe = recipes().get(used.get("name", ""))
    if recipe is None:
        return {}
    (first, *more), policies = recipe.policies, [policy["name"] for policy in made["policies"]]
    differences: dict[str, Any] = {"transitions": used["size"]} if used["size"] != recipe.size else {}
    differences |= {"data seed": made["seed"]} if made["seed"] else {}
    if not more and first != GIVEN and "*" not in first and policies != [first]:
        differences["policy"] = policies[0]
    if recipe.maze is not None and recipe.maze.stop is not False and used["maze"]["stop"] is False:
        differences["episodes"] = "continue after their goals"
    return differences
