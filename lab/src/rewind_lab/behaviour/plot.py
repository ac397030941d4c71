"""Learning curves of behaviour policies."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rewind.envs.make import known_task
from rewind.errors import DataError
from rewind.report.figures import BLUE, GREEN, GREY, INK, NOTE, PINK, RED, headed, new_figure, save, styled

COLOURS = (BLUE, RED, GREEN, PINK)
TITLES = {"hopper": "Hopper-v4", "halfcheetah": "HalfCheetah-v4", "walker2d": "Walker2d-v4", "ant": "ant, to waypoints"}


def draw_curves(files: Sequence[Path], folder: Path) -> list[Path]:
    """Draw a panel for each file: the mean return of training episodes, run by run."""
    if not files:
        raise DataError("no curves to draw: name the curve.jsonl files of `rewind behaviour train`")
    with styled():
        figure = new_figure(5.2 * len(files), 4.4)
        for place, path in enumerate(files):
            _panel(figure.add_subplot(1, len(files), place + 1), path)
        figure.tight_layout(w_pad=2.0)
        return save(figure, folder, "behaviour_curves")


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        ended = [line for line in lines if "return" in line and line["run"] >= 0 and line["step"] >= 0]
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(f"{path} is not a curve.jsonl of `rewind behaviour train`: {error!r}") from error
    if not ended:
        raise DataError(f"{path} has no finished episodes to draw: train longer")
    return ended


def _panel(axes: Any, path: Path) -> None:
    lines = _read(path)
    name = path.parent.name if path.name == "curve.jsonl" else path.stem  # curve.jsonl: the name of its folder
    title = TITLES.get(name, name)
    for run in sorted({line["run"] for line in lines}):
        ended = [line for line in lines if line["run"] == run]
        steps = np.array([line["step"] for line in ended]) / 1e6
        axes.plot(steps, [line["return"] for line in ended], color=COLOURS[run % 4], linewidth=1.8, label=f"run {run}")
    known = known_task(title)
    if known is not None:
        axes.axhline(known.maximum_score, color=INK, linestyle=(0, (5, 4)), linewidth=1.0)
        axes.annotate("score 100", (0, known.maximum_score), color=GREY, fontsize=NOTE, va="bottom")
    headed(axes, title, note="")
    axes.set(xlabel="million steps", ylabel="return of training episodes")
    axes.legend(frameon=False, loc="lower right")
