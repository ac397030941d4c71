"""The recipes of the rebuilt data sets. A recipe is only data; one program builds all of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from rewind.errors import unknown_name

VERSION = 1  # of all recipes and of the code that builds them: any change of the data changes this

MILLION = 1_000_000
RANDOM, STEER, GIVEN = "random", "steer", "given"  # not a shipped file: uniform actions, a controller, the user's file


@dataclass(frozen=True)
class MazeRecipe:
    """Starts, goals and rewards of episodes in a maze.

    maze: the maze with the goals of data collection
    starts: at the origin, or on any free cell without a goal
    goals: the maze's goal cells, or any free cell
    noise: standard deviation of the noise added to each action before it is clipped
    target: x and y of the goal that is rewarded, which need not be the episode's own. The evaluation draws AntMaze's
        goal as the goal cell's centre + uniform(0, 1) + uniform(0, 0.5) on each axis, and D4RL labelled its data for
        one such draw; here it is the mean of all draws
    stop: whether an episode ends at its own goal; otherwise only at the horizon
    reached: distance to a goal, in metres, within which it is reached
    """

    maze: str
    starts: Literal["origin", "anywhere"]
    goals: Literal["cells", "anywhere"]
    noise: float
    target: tuple[float, float]
    stop: bool = True
    reached: float = 0.5


@dataclass(frozen=True)
class Recipe:
    """How a data set is made.

    environment: where the data is made, and policies learned from it are evaluated
    horizon: steps after which an episode is cut
    size: number of transitions
    policies: each contributes the same share, in this order: names of shipped files ("NAME-*": all with a number),
        or one of RANDOM, STEER, GIVEN
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
    made = [*_locomotion(), *_antmaze(), *_pointmaze(), *_adroit()]
    return MappingProxyType({recipe.name: recipe for recipe in made})


def find_recipe(name: str) -> Recipe:
    """The recipe of that name. Raises an error with the nearest names if there is none."""
    if name not in recipes():
        raise unknown_name("rebuilt data set", name, recipes(), where="known: rewind data list")
    return recipes()[name]


def _locomotion() -> Iterator[Recipe]:
    """Like D4RL's Gym sets; medium-replay has the same number of transitions as D4RL's."""
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


def _antmaze() -> Iterator[Recipe]:
    """Like D4RL's: "play" goes to chosen cells, "diverse" anywhere; only umaze has one start."""
    sets: dict[str, tuple[str, Literal["origin", "anywhere"], Literal["cells", "anywhere"]]] = {
        "umaze": ("umaze", "origin", "cells"),
        "umaze-diverse": ("umaze", "anywhere", "anywhere"),
        "medium-play": ("medium-data", "anywhere", "cells"),
        "medium-diverse": ("medium-data", "anywhere", "anywhere"),
        "large-play": ("large-data", "anywhere", "cells"),
        "large-diverse": ("large-data", "anywhere", "anywhere"),
    }
    targets = {"umaze": (0.75, 8.75), "medium": (20.75, 20.75), "large": (32.75, 24.75)}
    for kind, (maze, starts, goals) in sets.items():
        size = kind.split("-")[0]
        horizon = 700 if size == "umaze" else 1000
        maze_recipe = MazeRecipe(maze, starts, goals, noise=0.2, target=targets[size])
        environment = f"rewind/AntMaze-{size}-v0"
        yield Recipe(f"rewind/antmaze-{kind}-v0", environment, horizon, MILLION, ("ant",), width=32, maze=maze_recipe)


def _pointmaze() -> Iterator[Recipe]:
    """Rewind's PointMaze: a point that is steered from anywhere to anywhere."""
    mazes = {"umaze": (150, (0.0, 2.0)), "medium": (300, (5.0, 5.0)), "large": (400, (8.0, 6.0))}
    for maze, (horizon, target) in mazes.items():
        maze_recipe = MazeRecipe(maze, "anywhere", "anywhere", noise=0.5, target=target)
        environment = f"rewind/PointMaze-{maze}-v0"
        yield Recipe(f"rewind/pointmaze-{maze}-v0", environment, horizon, MILLION, (STEER,), maze=maze_recipe)


def _adroit() -> Iterator[Recipe]:
    """5,000 trajectories of the user's expert. Few are played together, because Adroit environments are large."""
    tasks = {"pen": ("AdroitHandPen-v1", 100), "door": ("AdroitHandDoor-v1", 200)}
    tasks |= {"hammer": ("AdroitHandHammer-v1", 200), "relocate": ("AdroitHandRelocate-v1", 200)}
    for task, (environment, horizon) in tasks.items():
        yield Recipe(f"rewind/{task}-expert-v0", environment, horizon, 5_000 * horizon, (GIVEN,), width=8)


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
    if recipe.maze is not None and used["maze"]["stop"] != recipe.maze.stop:
        differences["episodes"] = "continue after their goals"
    return differences
