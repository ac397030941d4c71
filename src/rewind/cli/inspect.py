"""`rewind inspect`: the key figures and problems of a data set."""

from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional, Rare
from rewind.data.boundaries import Boundaries
from rewind.data.load import load
from rewind.files import write_json


@dataclass
class Inspect:
    """Show counts, lengths, returns, reward density and problems of a data set.

    Example: rewind inspect log.npz --plot log.png
    """

    dataset: Positional[str]
    """A file (.hdf5, .npz), a Minari folder or id, or a name that `rewind data list` shows."""
    boundaries: Rare[Boundaries | None] = None
    """Where trajectories end in flat data. Default: the catalogue's rule, otherwise flags."""
    merge_fragments: Rare[bool | None] = None
    """Join one-step successes to the trajectory before them. Default: the catalogue's rule, otherwise no."""
    keys: Rare[tuple[str, ...] | None] = None
    """For dict observations: the keys to concatenate, in this order."""
    json: Rare[Path | None] = None
    """Also write every figure to this file."""
    plot: Path | None = None
    """Also draw lengths, returns, and how similarly the metrics rank the trajectories."""

    def run(self) -> None:
        from rewind.report.inspection import inspect, text  # imports Numba, which the other commands do not need

        data = load(self.dataset, boundaries=self.boundaries, merge_fragments=self.merge_fragments, keys=self.keys)
        report = inspect(data)
        print(text(report))
        if self.json is not None:
            write_json(self.json, report.figures())
        if self.plot is not None:
            from rewind.report.inspection_plot import draw

            draw(data, report, self.plot)
            print(f"\npicture: {self.plot}")
