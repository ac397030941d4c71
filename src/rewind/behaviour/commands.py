"""`rewind data build`: what it takes, and what it prints."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewind.data import Trajectories
from rewind.data.catalogue import known_entry, normalised_score
from rewind.files import write_json
from rewind.table import text


@dataclass
class DataBuild:
    """Make a data set from behaviour policies, once, and keep it in the cache folder ($REWIND_DATA, or ~/.rewind/data).

    The same arguments give the same arrays, whatever the number of processes.
    """

    name: str
    """The data set, for example rewind/hopper-medium-v0 (rewind data list)."""
    size: int | None = None
    """Transitions; default: as many as D4RL's."""
    seed: int = 0
    """Another seed is another data set."""
    threads: int | None = None
    """Processes that play; default: one for each core."""
    policy: Path | None = None
    """A behaviour policy of your own (docs/rebuilt_data.md); Adroit's sets need one."""
    keep_going: bool = False
    """In mazes: play on after an episode's own goal, to the horizon, instead of stopping there."""
    force: bool = False
    """Make it again, even if it is there."""
    json: Path | None = None
    """Also write path, digest and figures to this file."""

    def run(self) -> None:
        from rewind.behaviour.build import build, read_built  # brings the simulators

        begin = time.monotonic()
        path = build(
            self.name, size=self.size, seed=self.seed, policy=self.policy, keep_going=self.keep_going,
            threads=self.threads, force=self.force,
        )  # fmt: skip
        data = read_built(path)
        figures = {"name": self.name, "path": str(path), **summary(data), "seconds": time.monotonic() - begin}
        width = max(map(len, figures))
        print("\n".join(f"{key.replace('_', ' '):{width}}  {_text(value)}" for key, value in figures.items()))
        if self.json is not None:
            write_json(self.json, figures)


def summary(data: Trajectories) -> dict[str, Any]:
    """What a built data set is like, in a few numbers."""
    made = data.notes["made"]
    figures = {"transitions": data.rows, "trajectories": len(data), "episodes": made["episodes"]}
    figures |= {"mean_length": float(data.lengths.mean()), "mean_return": float(data.returns.mean())}
    figures |= {"behaviour_score": behaviour_score(data), "rewarded_rows": float((data.rewards != 0).mean())}
    if "reached_own_goal" in made:
        figures["reached_own_goal"] = made["reached_own_goal"]
    return {**figures, "digest": data.digest}


def behaviour_score(data: Trajectories) -> float | None:
    """The mean normalised score of the trajectories, None where nobody has set what scores 0 and 100.

    In a maze the evaluation ends at the goal, with a return of 1: a trajectory that stays there counts no more.
    """
    if data.notes["made"]["recipe"]["maze"] is not None:
        return 100.0 * float((data.returns > 0).mean())
    known = known_entry(data.name)
    return None if known is None else normalised_score(known.name, float(data.returns.mean()))


def _text(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else text(value)
