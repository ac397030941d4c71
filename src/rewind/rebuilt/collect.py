"""Episodes of a recipe: played in chunks, each on its own, and put together in order.

A chunk is `width` episodes of one of the recipe's policies. It depends on nothing but what describes it, so that it
makes no difference who plays it, when, or beside how many others.
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
    """Whole episodes one after another, as they were played.

    observations: (rows, observation) float32
    actions: (rows, action) float32
    rewards: (rows,) float32 of the environment
    lengths: (episodes,)
    terminated: (episodes,) by the environment; a walker's at its own goal
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
        """The first `rows` rows. The last episode may end early: nothing ended it, and its next state is known."""
        if rows >= self.rows:
            return self
        ends = np.cumsum(self.lengths)
        last = int(np.searchsorted(ends, rows))  # the episode that row `rows - 1` belongs to
        lengths, terminated = self.lengths[: last + 1].copy(), self.terminated[: last + 1].copy()
        finals = self.finals[: last + 1].copy()
        if ends[last] > rows:
            lengths[last] -= ends[last] - rows
            terminated[last] = False
            finals[last] = self.observations[rows]
        return Episodes(self.observations[:rows], self.actions[:rows], self.rewards[:rows], lengths, terminated, finals)


FIELDS = tuple(field.name for field in fields(Episodes))


def join(parts: Iterable[Episodes]) -> Episodes:
    """Episodes one after another."""
    parts = list(parts)
    return Episodes(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in FIELDS})


def episode_stream(seed: int, name: str, part: int, episode: int) -> np.random.Generator:
    """The random numbers of one episode: keyed by what it is, not by when it is played.

    part: which of the recipe's policies plays it
    """
    key = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
    return np.random.default_rng(np.random.SeedSequence([seed, key, part, episode]))


def play(player: Player, recipe: Recipe, seed: int, part: int, chunk: int) -> Episodes:
    """Chunk number `chunk` of a part, every episode to its end."""
    width, horizon, env = recipe.width, recipe.horizon, player.env
    streams = [episode_stream(seed, recipe.name, part, chunk * width + index) for index in range(width)]
    observations, _ = env.reset(seed=[int(stream.integers(2**31)) for stream in streams])
    player.prepare(streams, horizon)
    playing = np.ones(width, bool)
    lengths, ended = np.zeros(width, np.int64), np.zeros(width, bool)
    seen, done, given = [observations.astype(np.float32)], [], []
    for step in range(horizon):
        actions = player.act(step, observations)
        observations, rewards, terminated, truncated, _ = env.step(actions)
        seen.append(observations.astype(np.float32))
        done.append(actions)
        given.append(rewards.astype(np.float32))
        lengths += playing
        ended |= playing & terminated
        playing &= ~(terminated | truncated)
        if not playing.any():
            break
    return _episodes(np.stack(seen, 1), np.stack(done, 1), np.stack(given, 1), lengths, ended)


def _episodes(seen: Array, done: Array, given: Array, lengths: Array, terminated: Array) -> Episodes:
    """From (width, steps, ...) to rows; what was played after an episode's end is left out."""
    kept = np.arange(done.shape[1]) < lengths[:, None]
    if not np.isfinite(seen[:, :-1][kept]).all():
        raise DataError("the simulation gave a state that is no number; its policy is unusable")
    finals = seen[np.arange(len(lengths)), lengths]
    return Episodes(seen[:, :-1][kept], done[kept], given[kept], lengths, terminated, finals)


def to_trajectories(episodes: Episodes, recipe: Recipe, notes: dict[str, Any]) -> Trajectories:
    """The data set: what was played, or in a maze what it is worth to somebody who wants to its one goal."""
    if recipe.maze is not None:
        return relabelled(episodes, recipe, notes)
    return Trajectories(
        episodes.observations,
        episodes.actions,
        episodes.rewards,
        episodes.lengths,
        episodes.terminated,
        episodes.finals,
        np.ones(len(episodes.lengths), bool),
        name=recipe.name,
        notes={"boundaries": "episodes", **notes},
    )


def relabelled(episodes: Episodes, recipe: Recipe, notes: dict[str, Any]) -> Trajectories:
    """Rewards of the evaluation: 1, and a terminal, where the next state is at its goal.

    Most episodes lead elsewhere, and those that pass the goal go on after it. They are ended as the reader of D4RL's
    own files ends them: with the last of a run of rewarded rows; what follows is a trajectory of its own.
    """
    way = recipe.maze
    assert way is not None
    ends = np.cumsum(episodes.lengths) - 1
    successors = np.concatenate([episodes.observations[1:], episodes.finals[-1:]])
    successors[ends] = episodes.finals
    reached = np.linalg.norm(successors[:, :2] - np.asarray(way.target, np.float32), axis=1) <= way.reached
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
