"""Hopper, HalfCheetah and Walker2d: equal to the bit to Gymnasium's `-v4` (D4RL's `-v2`), many at once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from rewind.arrays import Array
from rewind.envs.batched import MujocoEnv, mujoco
from rewind.envs.vector import unbounded
from rewind.errors import unknown_name

INFINITY = float("inf")
HORIZON = 1000


@dataclass(frozen=True)
class Task:
    """How the environments differ. reward = (x velocity + alive) - control_cost * |action|^2.

    asset: file name of Gymnasium's model
    frame_skip: simulation steps per action
    alive: reward per step; the unhealthy step that ends the episode gets it too
    height, angle: the healthy range of qpos[1] and qpos[2]
    state: the bound of all other coordinates of a healthy state
    velocity: bound to which observed velocities are clipped
    noise: of the first state; positions are uniform, velocities uniform or normal
    """

    asset: str
    frame_skip: int
    control_cost: float
    noise: float
    normal_velocities: bool = False
    alive: float = 0.0
    height: tuple[float, float] | None = None
    angle: tuple[float, float] = (-INFINITY, INFINITY)
    state: float = INFINITY
    velocity: float = INFINITY


TASKS = {
    "Hopper-v4": Task(
        "hopper.xml", frame_skip=4, control_cost=1e-3, noise=5e-3, alive=1.0,
        height=(0.7, INFINITY), angle=(-0.2, 0.2), state=100.0, velocity=10.0,
    ),
    "HalfCheetah-v4": Task("half_cheetah.xml", frame_skip=5, control_cost=0.1, noise=0.1, normal_velocities=True),
    "Walker2d-v4": Task(
        "walker2d.xml", frame_skip=4, control_cost=1e-3, noise=5e-3, alive=1.0,
        height=(0.8, 2.0), angle=(-1.0, 1.0), velocity=10.0,
    ),
}  # fmt: skip


def _compile(path: Path) -> Any:
    """Gymnasium's model. The mass is set after compiling, because MuJoCo 4 warns about `settotalmass` in a model."""
    spec = mujoco.MjSpec.from_file(str(path))
    total, spec.compiler.settotalmass = spec.compiler.settotalmass, -1.0
    model = spec.compile()
    if total > 0.0:
        mujoco.mj_setTotalmass(model, total)
        mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


class Locomotion(MujocoEnv):
    """One of `TASKS`, by its Gymnasium id. Observation: qpos without x, then qvel.

    terminate_when_unhealthy: as in Gymnasium; if False, an unhealthy robot continues without the reward for being alive
    options: see `MujocoEnv`
    """

    camera = "track"

    def __init__(self, task: str, num_envs: int = 1, *, terminate_when_unhealthy: bool = True, **options: Any) -> None:
        if task not in TASKS:
            raise unknown_name("environment", task, TASKS)
        self.task, self.terminate_when_unhealthy = TASKS[task], terminate_when_unhealthy
        assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
        model = _compile(assets / self.task.asset)
        low, high = model.actuator_ctrlrange.astype(np.float32).T
        observations, actions = unbounded(model.nq + model.nv - 1), gymnasium.spaces.Box(low, high, dtype=np.float32)
        options.setdefault("max_episode_steps", HORIZON)
        super().__init__(model, num_envs, observations, actions, self.task.frame_skip, **options)

    def _begin(self, ids: Array, seeded: Array) -> None:
        noise, model = self.task.noise, self.model
        qpos, qvel = np.empty((len(ids), model.nq)), np.empty((len(ids), model.nv))
        for row, index in enumerate(ids):
            stream = self.streams[index]
            qpos[row] = stream.uniform(-noise, noise, model.nq)
            if self.task.normal_velocities:
                qvel[row] = noise * stream.standard_normal(model.nv)
            else:
                qvel[row] = stream.uniform(-noise, noise, model.nv)
        self.set_state(ids, model.qpos0 + qpos, qvel)

    def _advance(self, actions: Array, ids: Array | None) -> tuple[Array, Array]:
        before = self.qpos[:, 0].copy()
        self.simulate(actions, ids)
        velocity = (self.qpos[:, 0] - before) / self.dt
        # The squares are summed in the precision of the actions, as in Gymnasium.
        cost = self.task.control_cost * np.square(actions).sum(axis=1)
        healthy = self._healthy()
        if self.terminate_when_unhealthy:
            return velocity + self.task.alive - cost, ~healthy
        return velocity + healthy * self.task.alive - cost, np.zeros(self.num_envs, bool)

    def _healthy(self) -> Array:
        task = self.task
        if task.height is None:
            return np.ones(self.num_envs, bool)
        height, angle = self.qpos[:, 1], self.qpos[:, 2]
        healthy: Array = (task.height[0] < height) & (height < task.height[1])
        healthy &= (task.angle[0] < angle) & (angle < task.angle[1])
        if task.state < INFINITY:
            healthy &= (np.abs(self.qpos[:, 2:]) < task.state).all(axis=1)
            healthy &= (np.abs(self.qvel) < task.state).all(axis=1)
        return healthy

    def _observe(self) -> Array:
        observations = np.concatenate((self.qpos[:, 1:], self.qvel), axis=1)
        if self.task.velocity < INFINITY:
            speeds = observations[:, self.model.nq - 1 :]
            np.clip(speeds, -self.task.velocity, self.task.velocity, out=speeds)
        return observations
