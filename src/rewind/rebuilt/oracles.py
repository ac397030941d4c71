"""OGBench's manipulation data, made with the package's own environments and scripted oracles.

As OGBench made its sets: an oracle brings one object to its target, then the environment draws the next target. *play*
follows plans with smooth noise; *noisy* reacts to the state, with noise in each action and some random actions. Rewards
are given afterwards, by the task (`rewind.data.ogbench`), so that one file serves all tasks.

A row of `Episodes` holds the observation, then the state that tasks are judged by: qpos and the states of the buttons.
"""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.ogbench import package_env, parsed_name, save_ogbench
from rewind.errors import require
from rewind.rebuilt.collect import Episodes, episode_stream
from rewind.rebuilt.recipes import Recipe

NOISE, SMOOTHING, SMALLEST = 0.1, 0.5, 0.4  # of actions; of a plan's noise; the smallest norm of a reaction
NOISE_SCALES = np.array([1.0, 1.0, 1.0, 3.0, 10.0])  # x, y, z, yaw, gripper
RANDOM_ACTIONS = {"cube": 0.1, "scene": 0.1, "puzzle": 0.2}  # their share in noisy data
OBJECTS = {"cube": ("cube",), "scene": ("cube", "button", "drawer", "window"), "puzzle": ("button",)}
# What a reset draws for one kind of object and leaves as it was for the others. Gymnasium resets a new environment
# without a seed, so what is found there depends on chance.
NOT_DRAWN = {"_target_button", "_target_button_states", "_target_drawer_pos", "_target_window_pos"}
TARGET_SITES = {"cube": {}, "puzzle": {}, "scene": {"drawer_handle_center_target": 1, "window_handle_center_target": 0}}

SIZES = {"cube-single": (28, 21, 0), "cube-double": (37, 28, 0), "scene": (40, 25, 2), "puzzle-3x3": (55, 23, 9)}
CUBE = slice(14, 17)  # x, y and z of the first cube in qpos


def task_and_kind(recipe: Recipe) -> tuple[str, str]:
    """By the name of its data set: cube-single and play."""
    parts = parsed_name(recipe.name)
    assert parts is not None
    return parts["task"], parts["kind"]


class OraclePlayer:
    """One environment, and an oracle for each kind of object in it."""

    def __init__(self, recipe: Recipe) -> None:
        self.task, kind = task_and_kind(recipe)
        self.plans, self.horizon = kind == "play", recipe.horizon
        self.family = self.task.partition("-")[0]
        self.env = package_env(
            f"{self.task}-v0", terminate_at_goal=False, mode="data_collection", max_episode_steps=recipe.horizon + 1
        )
        self.env.reset(seed=0)  # compiles the model
        self._first = {
            name: copy.deepcopy(value)
            for name, value in vars(self.env.unwrapped).items()
            if name.startswith(("_target", "_cur", "_prev"))
        }
        self._first |= {name: np.zeros_like(self._first[name])[()] for name in NOT_DRAWN & self._first.keys()}
        self._damping = self.env.unwrapped.model.dof_damping.copy()
        self.oracles = {name: self._oracle(name) for name in OBJECTS[self.family]}

    def _oracle(self, name: str) -> Any:
        kind = "Plan" if self.plans else "Markov"
        module = require(f"ogbench.manipspace.oracles.{kind.lower()}.{name}_{kind.lower()}", "ogbench")
        options: dict[str, Any] = {"gripper_always_closed": True} if self.family == "puzzle" else {}
        options |= {"noise": NOISE, "noise_smoothing": SMOOTHING} if self.plans else {"min_norm": SMALLEST}
        if self.family == "scene" and name == "cube" and not self.plans:
            options["max_step"] = 100
        return getattr(module, f"{name.title()}{kind}Oracle")(env=self.env, **options)

    def play(self, stream: np.random.Generator) -> tuple[Array, Array]:
        """One episode: (horizon + 1, columns) rows and (horizon, action) actions, float32."""
        while True:
            rows, actions = self._play(stream)
            if self.family != "scene" or _in_sight(_split(rows, self.task)["qpos"]):
                return rows, actions

    def _forget(self) -> None:
        """Undo what a reset leaves of the last episode: locks, and targets that an oracle sees for one step."""
        env = self.env.unwrapped
        vars(env).update(copy.deepcopy(self._first))
        env.model.dof_damping[:] = self._damping
        for site, axis in TARGET_SITES[self.family].items():
            env.model.site(site).pos[axis] = 0.0

    def _play(self, stream: np.random.Generator) -> tuple[Array, Array]:
        np.random.seed(int(stream.integers(2**32)))  # noqa: NPY002  the oracles draw from NumPy's global generator
        self._forget()
        observation, info = self.env.reset(seed=int(stream.integers(2**31)))
        stack = {"cube-single": 0.0, "cube-double": stream.uniform(0.0, 0.25)}.get(self.task, 0.5)
        noise = stream.uniform(0.0, NOISE) * NOISE_SCALES
        random_actions = RANDOM_ACTIONS[self.family]
        oracle = self.oracles[info["privileged/target_task"]]
        oracle.reset(observation, info)
        rows, actions = [_row(observation, info)], []
        for _ in range(self.horizon):
            if not self.plans and stream.uniform() < random_actions:
                action = stream.uniform(-1.0, 1.0, len(noise))
            else:
                action = oracle.select_action(observation, info)
                if not self.plans:
                    action = action + noise * stream.standard_normal(len(noise))
            action = np.clip(action, -1.0, 1.0).astype(np.float32)
            observation, _, _, _, info = self.env.step(action)
            rows.append(_row(observation, info))
            actions.append(action)
            if oracle.done:
                seen, target = self.env.unwrapped.set_new_target(p_stack=stack)
                oracle = self.oracles[target["privileged/target_task"]]
                oracle.reset(seen, target)
        return np.stack(rows), np.stack(actions)


def _row(observation: Array, info: Mapping[str, Any]) -> Array:
    return np.concatenate([observation, info["qpos"], info.get("button_states", ())]).astype(np.float32)


def _split(rows: Array, task: str) -> dict[str, Array]:
    observations, qpos, _ = SIZES[task]
    parts = np.split(rows, [observations, observations + qpos], axis=1)
    names = ("observations", "qpos", "button_states")
    return {name: part for name, part in zip(names, parts, strict=True) if part.size}


def _in_sight(qpos: Array) -> bool:
    """Whether the cube of a scene never leaves the table, except into the drawer; OGBench leaves out other episodes."""
    _, y, z = qpos[:, CUBE].T
    return not ((y >= 0.29) | ((y <= -0.3) & ((z < 0.06) | (z > 0.08)))).any()


def play_oracles(player: OraclePlayer, recipe: Recipe, seed: int, part: int, chunk: int) -> Episodes:
    """Play chunk number `chunk`, one episode after another."""
    episodes = range(chunk * recipe.width, (chunk + 1) * recipe.width)
    played = [player.play(episode_stream(seed, recipe.name, part, episode)) for episode in episodes]
    return Episodes(
        observations=np.concatenate([rows[:-1] for rows, _ in played]),
        actions=np.concatenate([actions for _, actions in played]),
        rewards=np.zeros(recipe.width * recipe.horizon, np.float32),
        lengths=np.full(recipe.width, recipe.horizon),
        terminated=np.zeros(recipe.width, bool),
        finals=np.stack([rows[-1] for rows, _ in played]),
    )


def write_oracles(episodes: Episodes, recipe: Recipe, notes: Mapping[str, Any], path: Path) -> None:
    """Write the file in OGBench's form. The final row of a trajectory has no action; it is written as zeros."""
    task, _ = task_and_kind(recipe)
    after = np.cumsum(episodes.lengths)  # where the final rows go
    rows = np.insert(episodes.observations, after, episodes.finals, axis=0)
    terminals = np.zeros(len(rows), bool)
    terminals[after + np.arange(len(after))] = True
    columns = {**_split(rows, task), "actions": np.insert(episodes.actions, after, 0.0, axis=0)}
    if "button_states" in columns:
        columns["button_states"] = columns["button_states"].astype(np.int64)
    save_ogbench({**columns, "terminals": terminals}, recipe.name, notes, path)
