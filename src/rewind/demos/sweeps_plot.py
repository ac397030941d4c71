"""A picture of backward sweeps: some trajectories, and the plan of a memory that replays them."""

from pathlib import Path
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, from_episodes
from rewind.errors import require
from rewind.memory import Plan, TrajectoryReplay
from rewind.report.figures import BLUE, GREEN, GREY, INK, NOTE, PINK, RED, TEXT, TITLE, VIOLET, new_figure, save, styled

# Rewards of the trajectories A to E, with different lengths and returns.
REWARDS = ((0, 0, 1, 0, 3), (0, 1, 0), (0, 0, 2, 4), (1, 0, 1, 0, 0, 0), (0, 3))
NAMES = "ABCDE"
COLOURS = (BLUE, RED, GREEN, PINK, VIOLET)
UNLEARNED = "#C9CED6"  # a step that has not learned of the reward
INCHES = 0.62  # side of a cell; all other lengths are in cells, and y points down
LEFT = 1.9  # x of the first cell, after the names of the rows
ROW = 1.24  # distance between two trajectories, with space for an arrow


def example() -> Trajectories:
    """Five short trajectories."""
    episodes = []
    for rewards in REWARDS:
        states, actions = np.arange(len(rewards) + 1), np.zeros(len(rewards))
        episodes.append({"observations": states, "actions": actions, "rewards": rewards, "terminated": True})
    return from_episodes(episodes, name="sweeps")


def draw_sweeps(memory: TrajectoryReplay, steps: int, slots: int, folder: Path) -> list[Path]:
    """Draw a plan of a memory loaded with `example()`: write sweeps.png and sweeps.svg, and return the files."""
    plan = memory.plan(steps, slots)
    with styled():
        return save(sweeps_figure(example(), plan, str(memory.priority)), folder, "sweeps")


def sweeps_figure(data: Trajectories, plan: Plan, priority: str) -> Any:
    """Above: the logged trajectories. Below: what each slot of the batch replays, update by update."""
    steps, slots = plan.indices.shape
    top = 1.3 + ROW * len(data) + 1.6  # of the plan
    width, height = max(LEFT + steps, 14.0) + 0.3, top + slots + 1.1
    figure = new_figure(INCHES * width, INCHES * height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, width), ylim=(height, 0))
    _draw_logged(axes, data)
    _draw_why(axes, LEFT + float(data.lengths.max()) + 1.0, data, priority)
    _draw_plan(axes, data, plan, top)
    return figure


def _draw_logged(axes: Any, data: Trajectories) -> None:
    axes.text(0.2, 0.6, "Logged trajectories", fontweight="bold", fontsize=TITLE, va="center")
    for number, length in enumerate(data.lengths):
        y, colour = 1.3 + ROW * number, COLOURS[number]
        axes.text(0.2, y + 0.28, NAMES[number], color=colour, va="center", fontweight="bold", fontsize=15)
        axes.text(0.2, y + 0.74, f"return {data.returns[number]:g}", color=GREY, va="center", fontsize=NOTE)
        for step in range(length):
            _draw_cell(axes, LEFT + step, y, colour, f"{NAMES[number]}{step}")
        _draw_arrow(axes, LEFT + length - 0.15, LEFT + 0.1, y + 1.06, colour)


def _draw_why(axes: Any, x: float, data: Trajectories, priority: str) -> None:
    """Why backward: how far the last reward of the first trajectory gets in as many updates as it has steps."""
    length = int(data.lengths[0])
    backward = np.arange(length)[::-1]
    axes.text(x, 0.6, "Why backward", fontweight="bold", fontsize=TITLE, va="center")
    notes = f"Steps whose value includes A's\nlast reward, after {length} updates,\nif only A's rows are drawn"
    axes.text(x, 1.05, notes, va="top", fontsize=NOTE, linespacing=1.5)
    _draw_learned(axes, x, 3.1, "backward sweep", steps_that_know(backward, length))
    _draw_learned(axes, x, 4.8, "uniform, on average", steps_that_know(uniform_rows(length), length))
    order = "with equal odds" if priority == "uniform" else f"by rank of {priority}"
    axes.text(
        x, 6.9, f"After a sweep the slot starts\nanother one, {order}", fontsize=NOTE, linespacing=1.5, va="center"
    )


def steps_that_know(rows: Array, length: int) -> list[bool]:
    """Which steps of one trajectory have learned of its last reward: a step learns it from its successor."""
    know = [False] * length + [True]
    for row in rows:
        know[row] = know[row] or know[row + 1]
    return know[:length]


def uniform_rows(length: int) -> Array:
    """Uniform draws of `length` rows that get as far as such draws do on average: 1 step."""
    rng = np.random.default_rng(0)
    while sum(steps_that_know(rows := rng.integers(length, size=length), length)) != 1:
        pass
    return rows


def _draw_learned(axes: Any, x: float, y: float, name: str, know: list[bool]) -> None:
    axes.text(x, y - 0.22, f"{name}: {sum(know)} of {len(know)}", va="center", fontsize=NOTE, fontweight="bold")
    for step, learned in enumerate(know):
        _draw_cell(axes, x - 0.08 + step, y, COLOURS[0] if learned else UNLEARNED, f"{NAMES[0]}{step}")


def _draw_plan(axes: Any, data: Trajectories, plan: Plan, top: float) -> None:
    steps, slots = plan.indices.shape
    axes.text(0.2, top - 0.95, "What the memory replays", fontweight="bold", fontsize=TITLE, va="center")
    axes.text(0.2, top - 0.25, "update", va="center", color=GREY, fontsize=NOTE)
    timesteps = plan.indices - data.starts[plan.trajectories]
    for step in range(steps):
        axes.text(LEFT + step + 0.5, top - 0.25, str(step), ha="center", va="center", color=GREY, fontsize=NOTE)
        for slot in range(slots):
            number, fresh = int(plan.trajectories[step, slot]), bool(plan.fresh[step, slot])
            label = f"{NAMES[number]}{timesteps[step, slot]}"
            _draw_cell(axes, LEFT + step, top + slot, COLOURS[number], label, fresh)
    for slot in range(slots):
        axes.text(0.2, top + slot + 0.5, f"slot {slot}", va="center")
    _draw_batch(axes, LEFT + min(7, steps - 1), top, slots)
    _draw_arrow(axes, 6.7, max(LEFT + steps - 0.1, 8.0), top - 0.93, GREY)
    _draw_cell(axes, 0.1, top + slots + 0.06, GREY, "", fresh=True)
    axes.text(1.25, top + slots + 0.56, "fresh: a sweep starts", va="center", fontsize=NOTE)
    axes.text(5.8, top - 0.95, "time", va="center", color=GREY, fontsize=NOTE)


def _draw_batch(axes: Any, x: float, top: float, slots: int) -> None:
    patches = require("matplotlib.patches", "plot")
    style = {"boxstyle": "round,pad=0,rounding_size=0.2", "facecolor": "none", "edgecolor": INK}
    outline = patches.FancyBboxPatch((x, top - 0.5), 1.0, slots + 0.58, linestyle=(0, (4, 3)), **style)
    axes.add_patch(outline)
    axes.text(x + 0.5, top + slots + 0.32, "one batch", ha="center", va="center")


def _draw_cell(axes: Any, x: float, y: float, colour: str, label: str, fresh: bool = False) -> None:
    """One transition, with a thick edge if a sweep starts with it."""
    patches = require("matplotlib.patches", "plot")
    style = {"boxstyle": "round,pad=0,rounding_size=0.14", "facecolor": colour, "edgecolor": INK}
    axes.add_patch(patches.FancyBboxPatch((x + 0.08, y + 0.08), 0.84, 0.84, linewidth=2.8 if fresh else 0, **style))
    axes.text(x + 0.5, y + 0.51, label, ha="center", va="center", color="white", fontweight="bold", fontsize=TEXT)


def _draw_arrow(axes: Any, start: float, end: float, y: float, colour: str) -> None:
    style = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "linewidth": 1.6, "color": colour}
    axes.annotate("", (end, y), (start, y), arrowprops=style)
