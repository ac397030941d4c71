"""`rewind watch`: a video of an episode."""

from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional
from rewind.errors import UsageError
from rewind.policy import load_policy


@dataclass
class Watch:
    """Record a video of an episode of a trained policy.

    Example: rewind watch runs/mine/policies/000 --out episode.gif
    """

    policy: Positional[Path]
    """Folder of the policy, such as runs/mine/policies/000."""
    out: Path | None = None
    """The video, .gif or .mp4. Default: episode.gif beside the policy."""
    env: str | None = None
    """A Gymnasium id or a data set's name. Default: the environment that the policy was evaluated in."""
    seed: int = 0
    """Seed of the environment."""
    frames: int = 300
    """Maximum number of frames. A longer episode shows every second, fourth ... step."""

    def run(self) -> None:
        from rewind.envs.make import noted_environment
        from rewind.report.watch import check_kind, film_episode, write_film

        policy = load_policy(self.policy)
        environment = self.env or noted_environment(policy.environment, str(self.policy))
        if environment is None:
            raise UsageError(f"{self.policy} was trained without a simulator; choose an environment: --env NAME")
        for name, smallest in (("frames", 2), ("seed", 0)):
            if getattr(self, name) < smallest:
                raise UsageError(f"--{name} is {getattr(self, name)}; expected at least {smallest}")
        out = self.out or self.policy / "episode.gif"
        check_kind(out)
        film = film_episode(policy, environment, self.seed, self.frames)
        write_film(film, out)
        print(f"{environment}: return {film.total:g} in {film.steps:,} steps")
        print(f"wrote {out}: {len(film.frames)} frames, {film.speed:.2g} times real time, drawn by: {film.how}")
