"""`rewind data build`: what it takes, and what it prints."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewind.cli.arguments import Positional
from rewind.files import write_json
from rewind.rebuilt.summary import summary
from rewind.table import number, text


@dataclass
class DataBuild:
    """Make a data set from behaviour policies, once, and keep it in the cache folder ($REWIND_DATA, or ~/.rewind/data).

    The same arguments give the same arrays, whatever the number of processes.
    """

    name: Positional[str]
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
        from rewind.rebuilt.build import build, read_built  # brings the simulators

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


def _text(value: Any) -> str:
    return number(value) if isinstance(value, float) else text(value)
