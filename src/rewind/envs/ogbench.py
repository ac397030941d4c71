"""OGBench's single tasks: many copies of the package's own environment, in processes of their own.

The package computes in Python, so that one core makes a few hundred steps per second. Each process
(`python -m rewind.envs.ogbench`) has one environment, and copies of it that share its compiled model of 60 MB.

The reward is 1 where the task is solved, and that is the end: the return is OGBench's success.
"""

from __future__ import annotations

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from rewind.arrays import Array
from rewind.data.ogbench import package_env
from rewind.envs.vector import ArrayEnv, unbounded
from rewind.errors import missing_extra, require
from rewind.processes import Answer, Message, Process, available_cores, serve


class OGBenchTask(ArrayEnv):
    """A single task of OGBench, such as `cube-single-singletask-task2-v0`.

    max_episode_steps: default: OGBench's
    threads: number of processes, 0 for one on each core; the results do not depend on it
    """

    reference_scores = (0.0, 1.0)
    threaded = True

    def __init__(
        self,
        name: str,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int = 0,
    ) -> None:
        if find_spec("ogbench") is None:
            raise missing_extra("ogbench", "ogbench")
        count = max(1, min(num_envs, threads or available_cores()))
        self._process_of = np.arange(num_envs) % count
        self._place = np.arange(num_envs) // count  # among the copies of its process
        self._processes = [Process("rewind.envs.ogbench") for _ in range(count)]
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="OGBench")
        copies = np.bincount(self._process_of, minlength=count)
        facts = self._ask({at: {"name": name, "copies": copies[at]} for at in range(count)})[0]
        low, high = facts["low"], facts["high"]
        super().__init__(
            num_envs, unbounded(int(facts["observation"])), gymnasium.spaces.Box(low, high, low.shape, np.float32),
            max_episode_steps or int(facts["horizon"]), autoreset_mode,
        )  # fmt: skip
        self._observations = np.zeros((num_envs, int(facts["observation"])))

    def _ask(self, messages: dict[int, Message]) -> dict[int, Answer]:
        """One message to each of some processes, all at once; their answers."""
        asked = {at: self._threads.submit(self._processes[at].ask, message) for at, message in messages.items()}
        return {at: answer.result() for at, answer in asked.items()}

    def _ask_about(self, ids: Array, columns: dict[str, Array]) -> dict[str, Array]:
        """Ask about these copies; each column has one entry for each of them, and so do the answers."""
        parts = {at: part for at in range(len(self._processes)) if (part := self._process_of[ids] == at).any()}
        answers = self._ask(
            {
                at: {"copies": self._place[ids[part]], **{name: column[part] for name, column in columns.items()}}
                for at, part in parts.items()
            }
        )
        joined: dict[str, Array] = {}
        for at, part in parts.items():
            for name, values in answers[at].items():
                joined.setdefault(name, np.zeros((len(ids), *values.shape[1:]), values.dtype))[part] = values
        return joined

    def _begin(self, ids: Array, seeded: Array) -> None:
        states = [json.dumps(self.streams[index].bit_generator.state) if seeded[index] else "" for index in ids]
        if len(ids):
            self._observations[ids] = self._ask_about(ids, {"streams": np.array(states)})["observations"]

    def _advance(self, actions: Array, ids: Array | None) -> tuple[Array, Array]:
        ids = np.arange(self.num_envs) if ids is None else ids
        solved = np.zeros(self.num_envs, bool)
        if len(ids):
            answer = self._ask_about(ids, {"actions": actions[ids]})
            self._observations[ids], solved[ids] = answer["observations"], answer["solved"]
        return solved.astype(np.float64), solved

    def _observe(self) -> Array:
        return self._observations.copy()

    def close_extras(self, **_: Any) -> None:
        for process in self._processes:
            process.kill()
        self._threads.shutdown()


class _Copies:
    """In a process: copies of one environment. They share its model, of which an episode changes only the damping."""

    def __init__(self, name: str, count: int) -> None:
        first = package_env(name)
        env = first.unwrapped
        env.reset(seed=0)
        mujoco = require("mujoco", "ogbench")
        self.model = env.model
        self.facts = {
            "observation": first.observation_space.shape[0],
            "low": first.action_space.low,
            "high": first.action_space.high,
            "horizon": first.spec.max_episode_steps,
        }
        self.envs = [copy.copy(env) for _ in range(count)]
        for twin in self.envs:
            twin._data = mujoco.MjData(self.model)
            vars(twin).update({key: value.copy() for key, value in vars(env).items() if isinstance(value, np.ndarray)})
        self.damping = np.repeat(self.model.dof_damping[None], count, axis=0)

    def reset(self, index: int, stream: str) -> Array:
        env = self.envs[index]
        if stream:
            env.np_random = np.random.default_rng()
            env.np_random.bit_generator.state = json.loads(stream)
        return np.asarray(self._with_damping(index, env.reset)[0])

    def step(self, index: int, action: Array) -> tuple[Array, bool]:
        observation, _, terminated, _, _ = self._with_damping(index, self.envs[index].step, action)
        return observation, bool(terminated)

    def _with_damping(self, index: int, call: Any, *arguments: Any) -> Any:
        self.model.dof_damping[:] = self.damping[index]
        result = call(*arguments)
        self.damping[index] = self.model.dof_damping
        return result


def main() -> None:
    """Answer: a name is a new task; streams are resets, actions are steps."""
    copies: list[_Copies] = []

    def answer(message: Answer) -> Message:
        if "name" in message:
            copies[:] = [_Copies(str(message["name"]), int(message["copies"]))]
            return copies[0].facts
        chosen = message["copies"].tolist()
        if "streams" in message:
            begun = [copies[0].reset(*both) for both in zip(chosen, message["streams"].tolist(), strict=True)]
            return {"observations": np.stack(begun)}
        moved = [copies[0].step(*both) for both in zip(chosen, message["actions"], strict=True)]
        observations, solved = zip(*moved, strict=True)
        return {"observations": np.stack(observations), "solved": np.array(solved)}

    serve(answer)


if __name__ == "__main__":
    main()
