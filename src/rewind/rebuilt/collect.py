"""Play the episodes of a recipe in independent chunks, and join them in order.

A chunk is `width` episodes of one of the recipe's policies. It depends only on its recipe, seed and numbers, so that
the process that plays it, the time, and the number of other chunks make no difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, from_d4rl
from rewind.errors import DataError
from rewind.rebuilt.players import Player
from rewind.rebuilt.recipes import Recipe


@dataclass(frozen=True, eq=False)
class Episodes:
    """Complete episodes one after another.

    observations: (rows, observation) float32
    actions: (rows, action) float32
    rewards: (rows,) float32 of the environment
    lengths: (episodes,)
    terminated: (episodes,) by the environment; in a maze, at the episode's own goal
    finals: (episodes, observation) the state after the last row
    """

    observations: Array
    actions: Array
    rewards: Array
    lengths: Array
    terminated: Array
    finals: Array

    @property
    def rows(self) -> int:
        return len(self.rewards)

    def cut(self, rows: int) -> Episodes:
        """The first `rows` rows. The last episode may be cut: not terminated, with a known next state."""
        if rows >= self.rows:
            return self
        ends = np.cumsum(self.lengths)
        last = int(np.searchsorted(ends, rows))  # the episode of row `rows - 1`
        lengths, terminated = self.lengths[: last + 1].copy(), self.terminated[: last + 1].copy()
        finals = self.finals[: last + 1].copy()
        if ends[last] > rows:
            lengths[last] -= ends[last] - rows
            terminated[last] = False
            finals[last] = self.observations[rows]
        return Episodes(self.observations[:rows], self.actions[:rows], self.rewards[:rows], lengths, terminated, finals)


FIELDS = tuple(field.name for field in fields(Episodes))


def join(parts: Iterable[Episodes]) -> Episodes:
    parts = list(parts)
    return Episodes(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in FIELDS})


def episode_stream(seed: int, name: str, part: int, episode: int) -> np.random.Generator:
    """The random numbers of one episode. They do not depend on when it is played.

    part: index of the recipe's policy that plays it
    """
    key = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
    return np.random.default_rng(np.random.SeedSequence([seed, key, part, episode]))


def with_goal(recipe: Recipe, seed: int) -> Recipe:
    """The recipe with the goal that its data is rewarded for.

    Where it names none, that is one draw of the evaluation's distribution, by the seed: the same for all episodes. As
    with D4RL's -v0, the evaluation draws its own goals: they differ from the data's by up to 1.5 m on each axis.
    """
    if recipe.maze is None or recipe.maze.target is not None:
        return recipe
    from rewind.envs.antmaze import draw_goal
    from rewind.envs.mazes import find_maze

    maze = find_maze(recipe.environment.split("-")[1])
    x, y = draw_goal(maze, episode_stream(seed, f"goal of {recipe.name}", 0, 0))
    return replace(recipe, maze=replace(recipe.maze, target=(float(x), float(y))))


def play(player: Player, recipe: Recipe, seed: int, part: int, chunk: int) -> Episodes:
    """Play chunk number `chunk` of a part, every episode to its end."""
    width, horizon, env = recipe.width, recipe.horizon, player.env
    streams = [episode_stream(seed, recipe.name, part, chunk * width + index) for index in range(width)]
    observations, _ = env.reset(seed=[int(stream.integers(2**31)) for stream in streams])
    player.prepare(streams, horizon)
    playing = np.ones(width, bool)
    lengths, ended = np.zeros(width, np.int64), np.zeros(width, bool)
    all_states, all_actions, all_rewards = [observations.astype(np.float32)], [], []
    for step in range(horizon):
        actions = player.act(step, observations)
        observations, rewards, terminated, truncated, _ = env.step(actions)
        all_states.append(observations.astype(np.float32))
        all_actions.append(actions)
        all_rewards.append(rewards.astype(np.float32))
        lengths += playing
        ended |= playing & terminated
        playing &= ~(terminated | truncated)
        if not playing.any():
            break
    return _episodes(np.stack(all_states, 1), np.stack(all_actions, 1), np.stack(all_rewards, 1), lengths, ended)


def _episodes(states: Array, actions: Array, rewards: Array, lengths: Array, terminated: Array) -> Episodes:
    """From (width, steps, ...) to rows, without the steps after an episode's end."""
    kept = np.arange(actions.shape[1]) < lengths[:, None]
    if not np.isfinite(states[:, :-1][kept]).all():
        raise DataError("the simulation reached a state that is not a number; the policy is unusable")
    finals = states[np.arange(len(lengths)), lengths]
    return Episodes(states[:, :-1][kept], actions[kept], rewards[kept], lengths, terminated, finals)


def to_trajectories(episodes: Episodes, recipe: Recipe, notes: dict[str, Any]) -> Trajectories:
    """The data set of these episodes. In a maze, rewards are those of the evaluation's goal."""
    if recipe.maze is not None:
        return relabelled(episodes, recipe, notes)
    return Trajectories(
        **{name: getattr(episodes, name) for name in FIELDS if name != "finals"},
        final_observations=episodes.finals,
        final_known=np.ones(len(episodes.lengths), bool),
        name=recipe.name,
        notes={"boundaries": "episodes", **notes},
    )


def relabelled(episodes: Episodes, recipe: Recipe, notes: dict[str, Any]) -> Trajectories:
    """Rewards as in the evaluation: 1, and a terminal, where the next state is at the evaluation's goal.

    Most episodes lead elsewhere, and those that pass the goal continue after it. Trajectories end as in D4RL's files:
    at the last of consecutive rewarded rows. What follows is a separate trajectory.
    """
    maze = recipe.maze
    assert maze is not None and maze.target is not None
    ends = np.cumsum(episodes.lengths) - 1
    successors = np.concatenate([episodes.observations[1:], episodes.finals[-1:]])
    successors[ends] = episodes.finals
    reached = np.linalg.norm(successors[:, :2] - np.asarray(maze.target, np.float32), axis=1) <= maze.reached
    timeouts = np.zeros(episodes.rows, bool)
    timeouts[ends] = True
    flat = {
        "observations": episodes.observations,
        "actions": episodes.actions,
        "rewards": reached.astype(np.float32),
        "terminals": reached,
        "timeouts": timeouts,
        "next_observations": successors,
    }
    data = from_d4rl(flat, recipe.name, merge_fragments=True)
    return replace(data, notes={**data.notes, **notes})
