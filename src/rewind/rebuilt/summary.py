"""Key figures of a rebuilt data set."""

from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories
from rewind.data.catalogue import known_entry, normalised_score
from rewind.data.ogbench import REBUILT

SATURATED = 0.999  # an action's entry beyond it, in absolute value


def summary(data: Trajectories) -> dict[str, Any]:
    """Counts, means and shares, without those that do not apply."""
    made = data.notes["made"]
    figures = {
        "transitions": data.rows,
        "episodes": made["episodes"],
        "trajectories": len(data),
        **({"fragments": flag_fragments(data)} if in_maze(data) else {}),
        "mean_length": float(data.lengths.mean()),
        "mean_return": float(data.returns.mean()),
    }
    if (scored := scores(data)) is not None:
        figures["behaviour_score"] = float(scored.mean())
    if in_maze(data):
        figures["rewarded_rows"] = float((data.rewards != 0).mean())
    if "AntMaze" in made["recipe"]["environment"]:
        from rewind.envs.ant_model import uprightness

        figures["rows_on_the_back"] = float((uprightness(data.observations) < 0.0).mean())
        figures["saturated_actions"] = float((np.abs(data.actions) > SATURATED).mean())
    if data.name and data.name.startswith(REBUILT):
        figures["solved_rows"] = float(data.terminals.mean())
    if "reached_own_goal" in made:
        figures["reached_own_goal"] = made["reached_own_goal"]
    return {**figures, "digest": data.digest}


def in_maze(data: Trajectories) -> bool:
    return data.notes["made"]["recipe"]["maze"] is not None


def scores(data: Trajectories) -> Array | None:
    """(trajectories,) normalised returns, None if the returns that score 0 and 100 are not defined.

    In a maze, an evaluation ends at the goal with a return of 1, so further rewards of a trajectory do not count.
    """
    if in_maze(data):
        return 100.0 * (data.returns > 0)
    published = known_entry(data.name)
    return None if published is None else np.asarray(normalised_score(published.name, data.returns))


def flag_fragments(data: Trajectories) -> int:
    """The number of trajectories if every terminal ends one, as in D4RL's published counts of mazes.

    Elsewhere it says nothing: a log of OGBench's has terminals wherever its task is solved, and continues.
    """
    return int(data.terminals.sum() + (~data.terminated).sum())
