"""`rewind inspect`: the key figures and problems of a data set."""

from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional
from rewind.data.boundaries import Boundaries
from rewind.data.load import load
from rewind.files import write_json


@dataclass
class Inspect:
    """Show counts, lengths, returns, reward density, quality and problems of a data set."""

    dataset: Positional[str]
    """An .hdf5 or .npz file, a Minari folder or id, or a catalogued or rebuilt data set's name (rewind data list)."""
    boundaries: Boundaries | None = None
    """Where trajectories end in flat data. Default: the catalogue's rule, otherwise flags."""
    merge_fragments: bool | None = None
    """Join one-step successes to the trajectory before them. Default: the catalogue's rule, otherwise no."""
    keys: tuple[str, ...] | None = None
    """For dict observations: the keys to concatenate, in this order."""
    json: Path | None = None
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
