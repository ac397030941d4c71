"""`rewind watch`: a film of an episode."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional
from rewind.errors import UsageError
from rewind.policy import load_policy


@dataclass
class Watch:
    """Film an episode of a trained policy."""

    policy: Positional[Path]
    """Its folder, such as runs/hopper/policies/000."""
    out: Path | None = None
    """The film, .gif or .mp4; default: episode.gif beside the policy."""
    env: str | None = None
    """Where to play: a data set or a Gymnasium id; default: what the policy was evaluated on."""
    seed: int = 0
    """Of the environment."""
    frames: int = 300
    """Most frames of the film; a longer episode is drawn every second step, or every fourth ..., and plays faster."""

    def run(self) -> None:
        from rewind.report.watch import check_kind, film_episode, write_film

        policy = load_policy(self.policy)
        environment = self.env or policy.environment
        if environment is None:
            raise UsageError(f"{self.policy} was trained without a simulator; say where to play: --env NAME")
        for name, smallest in (("frames", 2), ("seed", 0)):
            if getattr(self, name) < smallest:
                raise UsageError(f"--{name} is {getattr(self, name)}; expected at least {smallest}")
        out = self.out or self.policy / "episode.gif"
        check_kind(out)
        film = film_episode(policy, environment, self.seed, self.frames)
        write_film(film, out)
        print(f"{environment}: return {film.total:g} in {film.steps:,} steps")
        print(f"wrote {out}: {len(film.frames)} frames, {film.speed:.2g} times real time, drawn by: {film.how}")
