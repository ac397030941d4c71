"""`rewind inspect`: the key figures and problems of a data set."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewind.cli.arguments import Positional, Rare, Shown
from rewind.cli.reader_options import ReaderOptions
from rewind.data.boundaries import Boundaries
from rewind.data.columns import write_map
from rewind.data.load import load
from rewind.data.trajectories import Trajectories
from rewind.errors import UsageError
from rewind.files import write_json


@dataclass
class Inspect:
    """Show counts, lengths, returns, reward density and problems of a data set.

    Example: rewind inspect log.npz --plot log.png
    """

    dataset: Positional[str]
    """A .csv, .parquet, .hdf5, .npz or .json (RLlib) file, a Minari, LeRobot or RLlib folder, a Minari id, or a name
    that rewind data list prints."""
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
    write_map: Path | None = None
    """For a table: write which column is what to this file, for --map."""
    against: str | None = None
    """Another data set, such as the one for validation, read in the same way: also report what the two share."""
    reader: Shown[ReaderOptions] = field(default_factory=ReaderOptions)

    def run(self) -> None:
        from rewind.report.inspection import inspect, text  # imports Numba, which the other commands do not need
        from rewind.report.problems import overlap

        data = self._load(self.dataset)
        if self.write_map is not None and "columns" not in data.notes:
            raise UsageError(f"--write-map: {self.dataset} is not a table")
        report = inspect(data)
        if self.against is not None:
            report.problems.extend(overlap(data, self._load(self.against)))
        print(text(report))
        if self.json is not None:
            write_json(self.json, report.figures())
        if self.plot is not None:
            from rewind.report.inspection_plot import draw

            draw(data, report, self.plot)
            print(f"\npicture: {self.plot}")
        if self.write_map is not None:
            write_map(data.notes["columns"], self.write_map)
            print(
                f"\nwrote {self.write_map}; edit it, then: rewind train --dataset {self.dataset} --map {self.write_map}"
            )

    def _load(self, dataset: str) -> Trajectories:
        options: dict[str, Any] = {
            "boundaries": self.boundaries,
            "merge_fragments": self.merge_fragments,
            "keys": self.keys,
        }
        return load(dataset, **options, **self.reader.given())
