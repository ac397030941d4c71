"""`make`: an environment by its name, in a fast version if there is one."""

from __future__ import annotations

import io
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr
from typing import TYPE_CHECKING, Any

from rewind.data.catalogue import Entry, catalogue, known_entry
from rewind.data.ogbench import environment_id
from rewind.errors import DataError, UsageError, require, unknown_name
from rewind.registry import Registry, import_attribute

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from rewind.envs.vector import ArrayEnv

OWN = "rewind/"
FAST = ("Hopper-v4", "HalfCheetah-v4", "Walker2d-v4")
SINGLE_TASK = "-singletask-"  # in OGBench's ids
# Prefixes of Gymnasium-Robotics' environments
ROBOTICS = ("Adroit", "FrankaKitchen", "Fetch", "Hand", "PointMaze_", "AntMaze_")
# Other packages' environments by id: a Gymnasium environment's class, or a function that makes one
ENVIRONMENTS: Registry[Callable[..., Any]] = Registry("environment", "rewind.environments", {})
# Horizons of PointMaze. Those of AntMaze are D4RL's, in the catalogue.
POINT_HORIZONS = {"umaze": 150, "medium": 300, "large": 400}
GOALS = {"v0": "environment", "v2": "reset"}  # when AntMaze draws its goal
BROKEN = ("FrankaKitchen", "Fetch", "Hand")  # those that read joints by their names


def register() -> None:
    """Register Rewind's environments with Gymnasium; calling it again does nothing."""
    gymnasium = require("gymnasium", "envs")

    def add(name: str, module: str, vector: str, horizon: int, **options: str) -> None:
        if name not in gymnasium.registry:
            single, many = (f"rewind.envs.{module}:{made}" for made in ("single", vector))
            gymnasium.register(
                name, entry_point=single, vector_entry_point=many, max_episode_steps=horizon, kwargs=options
            )

    for maze, horizon in POINT_HORIZONS.items():
        add(f"rewind/PointMaze-{maze}-v0", "pointmaze", "PointMaze", horizon, maze=maze)
    ants = {task.environment: task.horizon for task in catalogue().values() if task.suite == "antmaze"}
    for name, horizon in ants.items():
        _, maze, version = name.split("-")
        add(name, "antmaze", "AntMaze", horizon, maze=maze, goal=GOALS[version])
    grid = "rewind/GridWorld-large-v0"
    if grid not in gymnasium.registry:
        gymnasium.register(grid, entry_point="rewind.envs.gridworld:GridWorld", max_episode_steps=100)


def known_task(name: str) -> Entry | None:
    """A catalogued data set that is evaluated in `name`: a data set, a rebuilt one, or an environment's id."""
    return known_entry(name) or next((task for task in catalogue().values() if task.environment == name), None)


def noted_environment(noted: object, where: str) -> str | None:
    """The environment that a file names. It must not name a module: to open a file would import that module.

    where: the file, for the error
    """
    if noted is not None and (not isinstance(noted, str) or ":" in noted):
        raise DataError(
            f"{where} names the environment {noted!r}, which would import a module that the file chose; "
            "if you trust it, name the environment yourself: --env NAME"
        )
    return noted


def make(name: str, num_envs: int = 1, seed: int | None = None, **options: Any) -> VectorEnv[Any, Any, Any]:
    """`num_envs` copies of an environment.

    Hopper, HalfCheetah and Walker2d `-v4`, OGBench's single tasks, and all of Rewind's own, are arrays of simulations
    (`ArrayEnv`). Others come from `gymnasium.make_vec`.

    name: a data set, for its environment; a Gymnasium id: `rewind/AntMaze-umaze-v2`, `AdroitHandPen-v1`;
        `package:Own-v0`, to import the package that registers it; or one of `ENVIRONMENTS`
    seed: of copy 0; copy i has seed + i. With a seed, the environment is returned reset
    options: for the environment's constructor
    """
    chosen = _environment(name)
    env = _array_env(chosen, num_envs, options) or _any(name, chosen, num_envs, options)
    if seed is not None:
        env.reset(seed=seed)
    return env


def steps_in_python(name: str) -> bool:
    """Whether its copies are Python objects, which one core steps one after the other."""
    return _array_class(_environment(name)) is None


def _environment(name: str) -> str:
    """The id of an environment that is asked for by itself or by a data set."""
    task = known_task(name)
    return environment_id(name) or name if task is None else task.environment


def _array_class(name: str) -> tuple[str, dict[str, Any]] | None:
    """The class of a fast environment and its arguments; None where there is none."""
    gymnasium = require("gymnasium", "envs")
    register()
    if SINGLE_TASK in name:
        return "rewind.envs.ogbench:OGBenchTask", {"name": name}
    spec = gymnasium.registry.get(name)
    if name in FAST:
        return "rewind.envs.locomotion:Locomotion", {"task": name, "max_episode_steps": spec.max_episode_steps}
    if spec is not None and name.startswith(OWN) and spec.vector_entry_point is not None:
        return spec.vector_entry_point, {"max_episode_steps": spec.max_episode_steps, **spec.kwargs}
    return None


def _array_env(name: str, num_envs: int, options: dict[str, Any]) -> ArrayEnv | None:
    """A fast environment, or None. Not made through Gymnasium, which warns that every -v0 and -v4 is outdated."""
    kind_and_options = _array_class(name)
    if kind_and_options is None:
        return None
    kind, usual = kind_and_options
    env: ArrayEnv = import_attribute(kind)(**{"num_envs": num_envs, **usual, **options})
    env.spec = require("gymnasium", "envs").registry.get(name)
    return env


def _any(asked: str, name: str, num_envs: int, options: dict[str, Any]) -> VectorEnv[Any, Any, Any]:
    gymnasium = require("gymnasium", "envs")
    if name.startswith(ROBOTICS):
        require("mujoco", "robotics")
        with redirect_stderr(io.StringIO()):  # its import tells everybody what docs/environments.md says of Adroit
            gymnasium.register_envs(require("gymnasium_robotics", "robotics"))
    if ":" not in name and name not in gymnasium.registry and name in ENVIRONMENTS:
        gymnasium.register(name, entry_point=ENVIRONMENTS[name])
    if ":" not in name and name not in gymnasium.registry:
        raise unknown_name(
            "environment",
            asked,
            {*gymnasium.registry, *ENVIRONMENTS, *catalogue()},
            where="data sets: rewind data list; environments: gymnasium.pprint_registry()",
        )
    spec = gymnasium.registry.get(name)
    if spec is not None and str(spec.vector_entry_point).startswith("gymnasium."):
        options = {"vectorization_mode": "sync", **options}  # its own arrays of CartPoles take one seed for all copies
    try:
        env: VectorEnv[Any, Any, Any] = gymnasium.make_vec(name, num_envs=num_envs, **options)
    except Exception as error:  # depends on the environment's constructor
        raise UsageError(f"environment {asked!r} cannot be made: {_reason(name, error)}") from error
    return env


def _reason(name: str, error: Exception) -> str:
    """The error of a constructor; if it has no message, the place where it was raised."""
    reason = str(error)
    if not reason:
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{where.line} ({where.filename}, line {where.lineno})"
    if name.startswith(BROKEN) and isinstance(error, AssertionError):
        reason += (
            "; Gymnasium-Robotics up to 1.4.2 fails like this since MuJoCo 3.12, and Rewind's fast environments need "
            "4: use this one in a separate installation with 'mujoco<3.12'"
        )
    return f"{type(error).__name__}: {reason}"
