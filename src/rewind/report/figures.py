"""The style of all pictures of library and lab: colours, sizes of text, file formats."""

from pathlib import Path
from typing import Any

from rewind.errors import require
from rewind.files import whole_file

# Distinguishable for colour-blind readers (Okabe and Ito). The background is always white.
BLUE, ORANGE, GREEN, RED, PINK, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"
VIOLET = "#5B4AA2"  # a fifth dark one, where letters tell it from blue
INK, GREY, PALE = "#222222", "#6E6E6E", "#E4E4E4"
# Sizes of text in points, which can be read when the picture is shown at half its size.
TITLE, TEXT, NOTE = 15, 13, 11.5

_SETTINGS = {
    "font.family": "DejaVu Sans",  # ships with matplotlib, so pictures look the same everywhere
    "font.size": TEXT,
    "axes.titlesize": TITLE,
    "figure.titlesize": TITLE,
    "legend.fontsize": NOTE,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "rewind",  # makes SVG files reproducible
}


def styled() -> Any:
    """A context in which figures are made and written in this style, without changing matplotlib's settings."""
    return require("matplotlib", "plot").rc_context(_SETTINGS)


def new_figure(width: float, height: float) -> Any:
    """An empty figure; sizes in inches. It has no window and no global state."""
    return require("matplotlib.figure", "plot").Figure(figsize=(width, height), facecolor="white")


def headed(axes: Any, title: str, note: str) -> None:
    """Add a title on the left, a note on the right, and a grid."""
    axes.set_title(title, loc="left", fontweight="bold", fontsize=TITLE)
    axes.set_title(note, loc="right", fontsize=NOTE, color=GREY)
    axes.grid(color=PALE, linewidth=0.8)
    axes.set_axisbelow(True)


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    for path in paths:
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        with whole_file(path) as temporary:
            figure.savefig(temporary, dpi=160, metadata=metadata, bbox_inches="tight", pad_inches=0.15)
    return paths
