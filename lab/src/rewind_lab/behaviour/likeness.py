"""How like the published AntMaze data a walker's is: figures of played episodes as sums, which add up over chunks.

on its back     the torso's z axis points down (`uprightness` < 0)
saturated       entries of actions beyond 0.999 in absolute value
fragments       pieces if every rewarded row and every cut ends one, as published counts have it
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.envs.ant_model import uprightness
from rewind.envs.antmaze import REACHED, draw_goal
from rewind.envs.mazes import find_maze
from rewind.rebuilt.collect import Episodes
from rewind.rebuilt.summary import SATURATED
from rewind_lab.cards.likeness import OWN_GOAL, THIRD
from rewind_lab.cards.published import published

KINDS = ("umaze", "umaze-diverse", "medium-play", "medium-diverse", "large-play", "large-diverse")
PUBLISHED = {kind: published(f"antmaze-{kind}-v0").walker for kind in KINDS}
BY_EPISODE, BY_ROW = ("reached", "ended_on_back"), ("back", "saturated", "action_std")


def walker_sums(played: Episodes) -> dict[str, float]:
    """Of episodes that stop at their own goal; add them up, then `walker_figures`."""
    reached = played.terminated
    actions = played.actions.astype(np.float64)
    return {
        "episodes": len(reached),
        "rows": played.rows,
        "reached": int(reached.sum()),
        "steps": int(played.lengths[reached].sum()),
        "back": int((uprightness(played.observations) < 0.0).sum()),
        "ended_on_back": int(((uprightness(played.finals) < 0.0) & ~reached).sum()),
        "saturated": float((np.abs(played.actions) > SATURATED).mean(axis=1).sum()),
        "square": float((actions**2).mean(axis=1).sum()),
        "mean": float(actions.mean(axis=1).sum()),
    }


def walker_figures(sums: Mapping[str, float]) -> dict[str, float]:
    """Shares and means of what `walker_sums` counted."""
    rows, episodes = sums["rows"], sums["episodes"]
    return {
        "rows": rows,
        "episodes": episodes,
        "episodes_per_million": 1e6 * episodes / rows,
        "reached": sums["reached"] / episodes,
        "steps": sums["steps"] / max(1, sums["reached"]),
        "back": sums["back"] / rows,
        "ended_on_back": sums["ended_on_back"] / episodes,
        "saturated": sums["saturated"] / rows,
        "action_std": float(np.sqrt(sums["square"] / rows - (sums["mean"] / rows) ** 2)),
    }


def distance(kind: str, figures: Mapping[str, float]) -> dict[str, float]:
    """How far a set's figures are from the published ones, as signed shares of what is tolerated: 1 is the limit."""
    theirs = PUBLISHED[kind]
    away = {"reached": (figures["reached"] - theirs["reached"]) / OWN_GOAL}
    return away | {name: (figures[name] / theirs[name] - 1.0) / THIRD for name in ("back", "saturated")}


def mixed(walkers: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The figures of walkers that give the same number of rows each, and so more or fewer episodes."""
    episodes = np.array([figures["episodes_per_million"] for figures in walkers])
    reached = episodes * [figures["reached"] for figures in walkers]
    means = {name: np.average([w[name] for w in walkers], weights=episodes) for name in BY_EPISODE}
    means |= {name: np.mean([w[name] for w in walkers]) for name in BY_ROW}
    means["steps"] = np.average([w["steps"] for w in walkers], weights=reached) if reached.any() else 0.0
    counted = {name: sum(w[name] for w in walkers) for name in ("rows", "episodes")}
    return counted | {"episodes_per_million": float(episodes.mean())} | {n: float(mean) for n, mean in means.items()}


def evaluation_goals(kind: str, count: int, seed: int = 0) -> Array:
    """(count, 2) draws of the goal that the environment of a set evaluates by."""
    maze, stream = find_maze(kind.split("-")[0]), np.random.default_rng(seed)
    return np.stack([draw_goal(maze, stream) for _ in range(count)])


def fragment_sums(played: Episodes, own: Array, targets: Array, dwells: Sequence[int | None]) -> dict[str, Any]:
    """What endings would make of episodes that never stop, for each evaluation goal; lists over `dwells`.

    own: (episodes, 2) where each episode leads
    targets: (goals, 2) evaluation goals that rewards may be given for
    dwells: steps that an episode continues at its own goal, 0: it stops there, None: it never stops
    """
    ends = np.cumsum(played.lengths)
    successors = np.concatenate([played.observations[1:, :2], played.finals[-1:, :2]])
    successors[ends - 1] = played.finals[:, :2]
    episode = np.repeat(np.arange(len(ends)), played.lengths)
    step = np.arange(played.rows) - np.repeat(ends - played.lengths, played.lengths)
    there = np.linalg.norm(successors - own[episode], axis=1) <= REACHED
    first = np.full(len(ends), np.iinfo(np.int64).max // 2)
    np.minimum.at(first, episode[there], step[there])
    rewarded = np.linalg.norm(successors[:, None] - targets[None], axis=2) <= REACHED  # (rows, goals)
    sums: dict[str, list[Any]] = {name: [] for name in ("episodes", "rows", "rewarded", "ended_rewarded", "met")}
    for dwell in dwells:
        lengths = played.lengths if dwell is None else np.minimum(played.lengths, first + 1 + dwell)
        kept = step < lengths[episode]
        met = np.zeros((len(ends), len(targets)), bool)
        np.logical_or.at(met, episode[kept], rewarded[kept])
        sums["episodes"].append(len(ends))
        sums["rows"].append(int(lengths.sum()))
        sums["rewarded"].append(rewarded[kept].sum(axis=0).tolist())
        sums["ended_rewarded"].append(rewarded[ends - played.lengths + lengths - 1].sum(axis=0).tolist())
        sums["met"].append(met.sum(axis=0).tolist())
    return sums


def fragments_per_million(sums: Mapping[str, Any]) -> Array:
    """(dwells, goals) fragments in a million rows."""
    rewarded, ended = np.asarray(sums["rewarded"]), np.asarray(sums["ended_rewarded"])
    pieces = rewarded + np.asarray(sums["episodes"])[:, None] - ended
    per_million: Array = 1e6 * pieces / np.asarray(sums["rows"])[:, None]
    return per_million


def ending_table(dwells: Sequence[int | None], walkers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What each ending gives, per million rows, of walkers that give the same number of rows each.

    walkers: what `fragment_sums` counted; its first goal is the set's own
    """
    sums = [{name: np.asarray(values) for name, values in walker.items()} for walker in walkers]
    pieces = np.mean([fragments_per_million(walker) for walker in sums], axis=0)  # (dwells, goals)
    rewarded = np.mean([walker["rewarded"] / walker["rows"][:, None] for walker in sums], axis=0)
    episodes = np.stack([1e6 * walker["episodes"] / walker["rows"] for walker in sums])  # (walkers, dwells)
    met = np.sum([1e6 * walker["met"] / walker["rows"][:, None] for walker in sums], axis=0) / episodes.sum(0)[:, None]
    return [
        {
            "dwell": dwell,
            "rows": int(sum(walker["rows"][at] for walker in sums)),
            "episodes_per_million": round(float(episodes[:, at].mean())),
            "fragments": round(float(pieces[at, 0])),
            "rewarded_rows": round(float(rewarded[at, 0]), 5),
            "met": round(float(met[at, 0]), 4),
            "fragments_of_other_goals": [round(float(f(pieces[at, 1:]))) for f in (np.min, np.mean, np.max)],
        }
        for at, dwell in enumerate(dwells)
    ]
