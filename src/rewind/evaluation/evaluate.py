"""Evaluation: all episodes of all runs at once, in one vector environment, with one policy call per step."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.envs.make import known_task, make
from rewind.errors import Abandoned, UsageError
from rewind.files import json_ready
from rewind.processes import never

Act = Callable[[Array], Any]
MOST_COPIES = 256  # of an environment that is a Python object with a simulator of its own


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What the episodes gave.

    environment: its id, or the data set it was asked by
    returns: (runs, episodes) undiscounted; NaN where the policy gave an action that is not a number
    lengths: (runs, episodes) steps
    seeds: (runs, episodes) of the environments; each episode is the first of an environment with that seed
    horizon: steps after which episodes were cut, None where the environment alone decides
    reference: the returns that score 0 and 100, None where nobody has set them
    """

    environment: str
    returns: Array
    lengths: Array
    seeds: Array
    horizon: int | None
    reference: tuple[float, float] | None

    @property
    def scores(self) -> Array | None:
        """(runs, episodes) 100 * (return - minimum) / (maximum - minimum), None without a reference."""
        if self.reference is None:
            return None
        low, high = self.reference
        return 100.0 * (self.returns - low) / (high - low)

    @property
    def score(self) -> Array:
        """(runs,) what is reported of each run: its mean score, or its mean return without a reference."""
        values = self.returns if self.scores is None else self.scores
        return np.asarray(values.mean(axis=1))

    def record(self) -> dict[str, Any]:
        """Everything, for a JSON file."""
        runs, episodes = self.returns.shape
        figures: dict[str, Any] = json_ready({"runs": runs, "episodes": episodes, **vars(self), "score": self.score})
        return figures


class Evaluator:
    """An environment that is kept to play many evaluations.

    env_name: a data set or a Gymnasium id, see `make`
    horizon: cut episodes here, unless the environment does so before; default: the catalogue's horizon of that task,
        or else the environment's own
    threads: of the simulator, 0 for all cores; the results do not depend on it
    options: for the environment's constructor
    """

    def __init__(
        self,
        env_name: str,
        runs: int,
        episodes: int,
        horizon: int | None = None,
        threads: int = 0,
        **options: Any,
    ) -> None:
        if runs < 1 or episodes < 1:
            raise UsageError(f"{runs} runs with {episodes} episodes: there must be at least one of each")
        self.env_name, self.runs, self.episodes = env_name, runs, episodes
        task = known_task(env_name)
        self.horizon = horizon if horizon is not None or task is None else task.horizon
        self.env, self.together = _environment(env_name, runs, episodes, threads, options)
        reference: tuple[float, float] | None = getattr(self.env, "reference_scores", None)
        self.reference = reference if task is None else (task.minimum_score, task.maximum_score)

    def __call__(self, act: Act, seed: int | Sequence[int] = 0, stop: Callable[[], bool] = never) -> Evaluation:
        """See `evaluate`.

        stop: asked at every step; where it says so, the episodes end with `Abandoned`
        """
        seeds = episode_seeds(seed, self.runs, self.episodes)
        begins = range(0, self.episodes, self.together)
        parts = [self._play(act, seeds[:, begin : begin + self.together], stop) for begin in begins]
        returns, lengths = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        return Evaluation(self.env_name, returns, lengths, seeds, self.horizon, self.reference)

    def _play(self, act: Act, seeds: Array, stop: Callable[[], bool]) -> tuple[Array, Array]:
        """One episode in each copy, until the last one is over; those that are over no longer count."""
        observations, _ = self.env.reset(seed=[int(seed) for seed in seeds.flat])
        returns, lengths = np.zeros(seeds.size), np.zeros(seeds.size, np.int64)
        playing = np.ones(seeds.size, bool)
        while playing.any() and (self.horizon is None or lengths.max() < self.horizon):
            if stop():
                raise Abandoned
            actions, lost = self._actions(act, observations, seeds.shape)
            returns[lost & playing] = np.nan
            observations, rewards, terminated, truncated, _ = self.env.step(actions)
            returns[playing] += rewards[playing]
            lengths += playing
            playing &= ~(terminated | truncated | lost)
        return returns.reshape(seeds.shape), lengths.reshape(seeds.shape)

    def _actions(self, act: Act, observations: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """The action of each copy, and whether it is none: a run that broke must not break the simulator."""
        actions = np.asarray(act(observations.reshape(*shape, -1)))
        space = self.env.single_action_space
        discrete = getattr(space, "n", None)
        if discrete is not None:
            return self._numbers(actions, (*shape, int(discrete)))
        expected = (*shape, *(space.shape or ()))
        if actions.shape != expected:
            raise UsageError(
                f"the policy gave actions of shape {actions.shape}; {self.env_name} takes (runs, episodes, action) = "
                f"{expected} and gives observations of {observations.shape[-1]} numbers"
            )
        actions = actions.reshape(len(observations), -1)
        lost = ~np.isfinite(actions).all(axis=1)
        return (np.where(lost[:, None], 0.0, actions) if lost.any() else actions), lost

    def _numbers(self, actions: Array, one_hot: tuple[int, ...]) -> tuple[Array, Array]:
        """The same for discrete actions, given one-hot or as numbers: plus `start` where they do not count from 0."""
        if actions.shape == one_hot:
            lost = np.isnan(actions).any(axis=-1)
            actions = actions.argmax(-1)
        elif actions.shape == one_hot[:-1]:
            lost = ~np.isfinite(actions)
        else:
            raise UsageError(
                f"the policy gave actions of shape {actions.shape}; {self.env_name} takes whole numbers, or one-hot "
                f"(runs, episodes, action) = {one_hot}"
            )
        actions = np.where(lost, 0, actions)
        wrong = (actions != np.floor(actions)) | (actions < 0) | (actions >= one_hot[-1])
        if wrong.any():
            raise UsageError(
                f"the policy gave the action {actions[wrong][0]}; {self.env_name} takes whole numbers from 0 to "
                f"{one_hot[-1] - 1}, or one-hot (runs, episodes, action) = {one_hot}"
            )
        return actions.ravel().astype(np.int64) + int(self.env.single_action_space.start), lost.ravel()


def evaluate(
    act: Act,
    env_name: str,
    runs: int = 1,
    episodes: int = 10,
    seed: int | Sequence[int] = 0,
    horizon: int | None = None,
    threads: int = 0,
) -> Evaluation:
    """Play `episodes` episodes of each of `runs` policies. The same arguments give the same numbers.

    act: (runs, episodes, observation) -> (runs, episodes, action), deterministic; where states are normalised it
        does that itself. It sees every episode at every step, also those that are over: shapes never change
    seed: episode e of run r does not depend on how many runs and episodes there are; a sequence has one seed per run
    horizon, threads: see `Evaluator`, which keeps its environment for the next evaluation
    """
    evaluator = Evaluator(env_name, runs, episodes, horizon, threads)
    with closing(evaluator.env):
        return evaluator(act, seed)


def episode_seeds(seed: int | Sequence[int], runs: int, episodes: int) -> Array:
    """(runs, episodes) one seed for each episode's environment."""
    if isinstance(seed, int):
        sources = [np.random.SeedSequence(seed, spawn_key=(run,)) for run in range(runs)]
    elif len(seed) == runs:
        sources = [np.random.SeedSequence(one) for one in seed]
    else:
        raise UsageError(f"{len(seed)} seeds for {runs} runs: give one number, or one for each run")
    return np.stack([source.generate_state(episodes) for source in sources]).astype(np.int64)


def _environment(name: str, runs: int, episodes: int, threads: int, options: dict[str, Any]) -> tuple[Any, int]:
    """The vector environment, and how many episodes of each run it plays together."""
    from rewind.envs.vector import ArrayEnv

    probe = make(name, 1, **options)
    probe.close()
    if not isinstance(probe, ArrayEnv):
        _check_spaces(name, probe)
        most = max(1, MOST_COPIES // runs)
        together = max(n for n in range(1, episodes + 1) if episodes % n == 0 and n <= most)
        return make(name, runs * together, **options), together
    options = {"autoreset_mode": "Disabled", **options}
    if probe.threaded:
        options["threads"] = threads
    return make(name, runs * episodes, **options), episodes


def _check_spaces(name: str, env: Any) -> None:
    from gymnasium.spaces import Box, Discrete

    for what in ("observation", "action"):
        space = getattr(env, f"single_{what}_space")
        if what == "action" and isinstance(space, Discrete):
            continue
        if not isinstance(space, Box) or len(space.shape) != 1:
            raise UsageError(
                f"{name} has {what}s of {space}; evaluation needs vectors: "
                "register it with a wrapper that flattens them"
            )
