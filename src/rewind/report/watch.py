"""An episode of a policy as a video, drawn by the simulator, or in a maze from above if it cannot draw."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.errors import MissingExtra, UsageError, require
from rewind.files import whole_file
from rewind.policy import Policy
from rewind.report.figures import INK, new_figure, styled

KINDS = (".gif", ".mp4")
SLOWEST, FASTEST = 15.0, 30.0  # frames per second of a video


@dataclass(frozen=True)
class Film:
    """frames: (frames, height, width, 3) uint8"""

    frames: Array
    frames_per_second: float
    speed: float  # relative to real time
    total: float  # the sum of rewards
    steps: int
    how: str  # the renderer


def film_episode(policy: Policy, name: str, seed: int, most_frames: int, size: int = 400) -> Film:
    """Play one episode and draw it; of a long one, every second, fourth ... step.

    name: a data set or a Gymnasium id, as in `rewind.envs.make`
    """
    require("gymnasium", "envs")
    from rewind.envs.make import make, steps_in_python

    options: dict[str, Any] = {"render_mode": "rgb_array"} if steps_in_python(name) else {"autoreset_mode": "Disabled"}
    env: Any = make(name, 1, **options)
    with closing(env):
        check_sizes(policy, env, name)
        env.reset(seed=seed)  # draws the goal
        return _film(env, policy, seed, most_frames, *_artist(env, size))


def check_sizes(policy: Policy, env: Any, name: str) -> None:
    for what in ("observation", "action"):
        size, shape = getattr(policy, f"{what}_size"), getattr(env, f"single_{what}_space").shape
        if shape != (size,) and not (what == "action" and policy.discrete):
            raise UsageError(
                f"{name} has {what}s of shape {shape}, this policy of ({size},): it was trained for another environment"
            )


def _artist(env: Any, size: int) -> tuple[Callable[[Array], Array], str]:
    """A function that draws the current state, from the path so far (steps, observation); and its name."""
    if hasattr(env, "frame"):
        try:
            env.frame(0, size, size)
            return lambda path: np.asarray(env.frame(0, size, size)), "MuJoCo"
        except UsageError:
            if not hasattr(env, "maze"):
                raise
    if hasattr(env, "maze"):
        return _maze_artist(env, size), "from above"
    return partial(_rendered, env), "its own renderer"


def _rendered(env: Any, path: Array) -> Array:
    try:
        return np.asarray(env.render()[0])
    except Exception as error:  # depends on the renderer
        if getattr(error.__cause__, "name", None) == "pygame":  # Gymnasium's classic control; no extra of ours has it
            raise MissingExtra("this needs the package 'pygame', which is not installed: pip install pygame") from error
        raise UsageError(f"this environment cannot draw: {type(error).__name__}: {error}") from error


def _maze_artist(env: Any, size: int) -> Callable[[Array], Array]:
    """A maze from above: the goal, the path so far, and the position. The first two observations are x and y."""
    from rewind.report.maze_plot import draw_goals, draw_maze

    cell = 4.0 if hasattr(env, "frame") else 1.0  # AntMaze's and PointMaze's
    left, right, bottom, top = env.maze.bounds(cell)
    with styled():
        figure = new_figure(size / 100 * (right - left) / (top - bottom), size / 100)
        axes = figure.add_axes((0, 0, 1, 1))
        draw_maze(axes, env.maze, cell)
        draw_goals(axes, env.goals[0], 0.5)
        axes.set_axis_off()
        (line,) = axes.plot([], [], color=INK, linewidth=1.5, alpha=0.7, zorder=4)
        (dot,) = axes.plot([], [], marker="o", color=INK, markeredgecolor="white", markersize=10, zorder=5)
    canvas = require("matplotlib.backends.backend_agg", "plot").FigureCanvasAgg(figure)

    def draw(path: Array) -> Array:
        line.set_data(path[:, 0], path[:, 1])
        dot.set_data(path[-1:, 0], path[-1:, 1])
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()

    return draw


def _film(env: Any, policy: Policy, seed: int, most: int, draw: Callable[[Array], Array], how: str) -> Film:
    """Play the episode twice, to draw only what is shown: drawing takes most of the time."""
    steps = sum(1 for _ in _episode(env, policy, seed)) - 1
    every = 1
    while 1 + -(-steps // every) > most:
        every *= 2
    path, frames, total = [], [], 0.0
    for number, (observation, reward, over) in enumerate(_episode(env, policy, seed)):
        path.append(observation)
        total += reward
        if over or number % every == 0:
            frames.append(draw(np.array(path)))
    shown, speed = pace(float(env.metadata.get("render_fps") or 10) / every)
    return Film(np.stack(frames), shown, speed, total, len(path) - 1, how)


def _episode(env: Any, policy: Policy, seed: int) -> Iterator[tuple[Array, float, bool]]:
    """Each observation, the reward before it, and whether it is the last."""
    observations, _ = env.reset(seed=seed)
    yield observations[0], 0.0, False
    over = False
    while not over:
        observations, rewards, terminated, truncated, _ = env.step(np.asarray(policy(observations)))
        over = bool(terminated[0] or truncated[0])
        yield observations[0], float(rewards[0]), over


def pace(lifelike: float) -> tuple[float, float]:
    """Frames per second of the video, given those of real time; and its speed relative to real time."""
    shown = min(max(lifelike, SLOWEST), FASTEST)
    return shown, shown / lifelike


def check_kind(path: Path) -> None:
    """Check that such a video can be written, before an episode is played."""
    if path.suffix.lower() not in KINDS:
        raise UsageError(f"{path}: expected a video with the ending {' or '.join(KINDS)}")
    require("imageio", "video")
    if path.suffix.lower() == ".mp4":
        require("imageio_ffmpeg", "video")


def write_film(film: Film, path: Path) -> None:
    """Write a GIF or an MP4, by the file's ending."""
    imageio = require("imageio", "video")
    with whole_file(path) as temporary:
        if path.suffix.lower() == ".gif":
            imageio.mimwrite(temporary, list(film.frames), duration=1000 / film.frames_per_second, loop=0)
        else:
            height, width = (side - side % 2 for side in film.frames.shape[1:3])  # the codec needs even ones
            frames = list(film.frames[:, :height, :width])
            imageio.mimwrite(temporary, frames, fps=film.frames_per_second, macro_block_size=1)
