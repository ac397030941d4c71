"""Register Rewind's environments with Gymnasium."""

import gymnasium

from rewind.data.catalogue import catalogue

# Horizons of PointMaze. Those of AntMaze are D4RL's, in the catalogue.
POINT_HORIZONS = {"umaze": 150, "medium": 300, "large": 400}
GOALS = {"v0": "environment", "v2": "reset"}  # when AntMaze draws its goal


def register() -> None:
    """Register all ids; calling it again does nothing."""
    for maze, horizon in POINT_HORIZONS.items():
        _register(f"rewind/PointMaze-{maze}-v0", "pointmaze", "PointMaze", horizon, {"maze": maze})
    ants = {known.environment: known.horizon for known in catalogue().values() if known.suite == "antmaze"}
    for name, horizon in ants.items():
        _, maze, version = name.split("-")
        _register(name, "antmaze", "AntMaze", horizon, {"maze": maze, "goal": GOALS[version]})
    grid = "rewind/GridWorld-large-v0"
    if grid not in gymnasium.registry:
        gymnasium.register(grid, entry_point="rewind.envs.gridworld:GridWorld", max_episode_steps=100)


def _register(name: str, module: str, vector: str, horizon: int, options: dict[str, str]) -> None:
    if name not in gymnasium.registry:
        gymnasium.register(
            name,
            entry_point=f"rewind.envs.{module}:single",
            vector_entry_point=f"rewind.envs.{module}:{vector}",
            max_episode_steps=horizon,
            kwargs=options,
        )
