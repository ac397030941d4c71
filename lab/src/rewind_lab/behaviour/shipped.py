"""The policies that ship with Rewind: a table of them, and how often the ant of the -v0 sets reaches its own goal."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewind.data.catalogue import known_entry, normalised_score
from rewind.envs.make import known_task
from rewind.errors import UsageError
from rewind.progress import progress
from rewind.rebuilt.orders import POLICIES
from rewind.rebuilt.policy import BehaviourPolicy, load_behaviour
from rewind.rebuilt.recipes import find_recipe, recipes

MAZES = ("umaze", "medium-play", "large-play")


def shipped() -> dict[str, BehaviourPolicy]:
    """The policies that ship with Rewind, by name."""
    paths = sorted(POLICIES.rglob("*.npz"))
    return {path.relative_to(POLICIES).with_suffix("").as_posix(): load_behaviour(path) for path in paths}


@dataclass(frozen=True)
class MeasuredReturn:
    """What a policy returns: in 100 episodes, or in a data set that it makes.

    mean, deviation: of the episodes' returns; the deviation is None if it is not known
    score: the mean, normalised; None where no scores are defined
    source: the data set; "" for 100 episodes
    """

    mean: float
    deviation: float | None
    score: float | None
    source: str = ""


def described(
    policies: Mapping[str, BehaviourPolicy], returns: Mapping[str, MeasuredReturn] | None = None
) -> list[dict[str, Any]]:
    """Rows of a table: seed, step, returns and scores of policies.

    returns: of policies whose files have none
    """
    return [
        _row(name, policy.meta, _own_return(policy) or (returns or {}).get(name)) for name, policy in policies.items()
    ]


def _row(name: str, meta: Mapping[str, Any], measured: MeasuredReturn | None) -> dict[str, Any]:
    row = {"policy": name, "seed": meta.get("seed", "-")}
    row["step"] = f"{meta['step']:,}" if "step" in meta else "-"  # those of Adroit are fitted to a published expert
    figures = (None, None, None) if measured is None else (measured.mean, measured.deviation, measured.score)
    forms = {"return": "{:.0f}", "deviation": "{:.0f}", "score": "{:.1f}"}
    for (head, form), figure in zip(forms.items(), figures, strict=True):
        row[head] = "-" if figure is None else form.format(figure)
    return row | {"measured on": measured.source if measured is not None else ""}


def _own_return(policy: BehaviourPolicy) -> MeasuredReturn | None:
    """What the file says."""
    if "return" not in policy.meta:
        return None
    mean, known = float(policy.meta["return"]), known_task(str(policy.meta.get("environment")))
    score = None if known is None else normalised_score(known.name, mean)
    return MeasuredReturn(mean, float(policy.meta["deviation"]), score)


def measured_returns(cards: Mapping[str, Any], stages: Mapping[str, Any]) -> dict[str, MeasuredReturn]:
    """By policy, from the data sets that it makes alone, and from its part of medium-replay-v1.

    cards: of `rewind data cards`
    stages: lab/results/behaviour/v1_mujoco.json
    """
    found = {}
    for made in stages.get("sets", ()):
        for name, part in zip(made["policies"], made["parts"], strict=True):
            found[f"v1/{name}"] = _of_scores(made["set"], part)
    for recipe in recipes().values():
        if len(recipe.policies) == 1 and (figures := cards.get(recipe.name)):
            score = figures.get("behaviour_score")
            found.setdefault(recipe.policies[0], MeasuredReturn(figures["mean_return"], None, score, recipe.name))
    return found


def _of_scores(name: str, part: Mapping[str, float]) -> MeasuredReturn:
    """Returns from the scores of a data set's part."""
    known = known_entry(name)
    assert known is not None, f"{name} is named after a set of D4RL's"
    span = (known.maximum_score - known.minimum_score) / 100.0
    mean = known.minimum_score + span * part["mean_score"]
    return MeasuredReturn(mean, span * part["deviation"], part["mean_score"], name)


def measure(policy: Path | None = None, episodes: int = 200, seed: int = 0) -> list[dict[str, Any]]:
    """One row for each maze; the number of episodes is rounded up to whole chunks."""
    if episodes < 1:
        raise UsageError(f"episodes is {episodes}; expected at least 1")
    from rewind.envs.ant_model import uprightness
    from rewind.rebuilt.collect import join, play
    from rewind.rebuilt.players import find_player

    rows = []
    for kind in MAZES:
        recipe = find_recipe(f"rewind/antmaze-{kind}-v0")
        recipe = replace(recipe, width=min(recipe.width, episodes))
        player = find_player(recipe, str(POLICIES / "ant.npz" if policy is None else policy))
        chunks = progress(range(-(-episodes // recipe.width)), f"ants in {kind}")
        played = join(play(player, recipe, seed, 0, chunk) for chunk in chunks)
        lengths = played.lengths[played.terminated]
        rows.append(
            {
                "set": recipe.name,
                "episodes": len(played.lengths),
                "reached own goal": f"{100.0 * played.terminated.mean():.1f}%",
                "steps to it": round(float(lengths.mean())) if len(lengths) else None,
                "on its back": f"{100.0 * ((uprightness(played.finals) < 0.0) & ~played.terminated).mean():.1f}%",
            }
        )
    return rows
