"""`rewind bench tables`: reading a CSV and a Parquet file, beside pyarrow's own reading in the same run."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rewind.data.tables import load_table
from rewind.errors import require
from rewind.files import write_json
from rewind.table import table
from rewind_lab.bench.timing import machine, side_by_side

PIECE = 100_000  # rows that are made at once
LENGTH = 200  # steps of an episode
COLUMNS = {"episode": "id", "time": "t", "observations": "obs_*", "actions": "u_*", "reward": "r", "terminal": "over"}
# The peak of a process that reads one file, over the size of its arrays; a small one first, for what is loaded once.
MEASURE = """
import re, sys
from pathlib import Path
from rewind.data.tables import load_table
from rewind_lab.bench.tables import COLUMNS

def status(key):
    return int(re.search(key + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

load_table(sys.argv[1], **COLUMNS)
before = status("VmRSS")
data = load_table(sys.argv[2], **COLUMNS)
print((status("VmHWM") - before) / data.nbytes)
"""


@dataclass
class BenchTables:
    """Measure seconds and peak memory of reading tables, as ratios to pyarrow's seconds and to the arrays.

    Example: rewind bench tables --rows 100000
    """

    rows: int = 1_000_000
    """Rows of the tables."""
    observations: int = 11
    """Observation columns."""
    actions: int = 3
    """Action columns."""
    rounds: int = 3
    """How often each is read, in turns; the median counts."""
    shuffled: bool = False
    """Write the rows in random order, so that reading has to sort them."""
    json: Path | None = None
    """Also write the figures to this file."""

    def run(self) -> None:
        figures: dict[str, Any] = {"machine": machine(), "rows": self.rows, "rounds": self.rounds}
        figures["shuffled"] = self.shuffled
        figures["machine"]["pyarrow"] = require("pyarrow", "table").__version__
        figures["reading"] = measure_reading(self.rows, self.observations, self.actions, self.rounds, self.shuffled)
        shown = [{"file": kind, **{key: f"{value:.2f}" for key, value in row.items()}} for kind, row in
                 figures["reading"].items()]  # fmt: skip
        order = "shuffled rows" if self.shuffled else "rows"
        print(f"{self.rows:,} {order}; {figures['machine']['processor']}, {figures['machine']['cores']} cores\n")
        print(table(shown))
        if self.json is not None:
            write_json(self.json, figures)


def measure_reading(
    rows: int, observations: int, actions: int, rounds: int, shuffled: bool = False
) -> dict[str, dict[str, float]]:
    """For each kind of file: seconds of ours and of pyarrow's, in turns, and the peak of memory over the arrays."""
    csv, parquet = require("pyarrow.csv", "table"), require("pyarrow.parquet", "table")
    theirs = {"csv": csv.read_csv, "parquet": parquet.read_table}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, read in theirs.items():
            small, large = (Path(folder) / f"{name}.{kind}" for name in ("small", "large"))
            _write(small, _pieces(LENGTH * 10, observations, actions, shuffled))
            _write(large, _pieces(rows, observations, actions, shuffled))
            jobs = {"pyarrow": lambda: read(large), "rewind": lambda: load_table(large, **COLUMNS)}  # noqa: B023
            seconds = side_by_side(jobs, rounds)
            command = [sys.executable, "-c", MEASURE, str(small), str(large)]
            peak = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            found[kind] = {
                "pyarrow seconds": seconds["pyarrow"],
                "rewind seconds": seconds["rewind"],
                "ratio": seconds["rewind"] / seconds["pyarrow"],
                "peak memory over arrays": peak,
            }
            large.unlink()
    return found


def _pieces(rows: int, observations: int, actions: int, shuffled: bool) -> Iterator[Any]:
    """A table of episodes of equal lengths, half of them terminal, in pieces."""
    arrow = require("pyarrow", "table")
    rng = np.random.default_rng(0)
    order = rng.permutation(rows) if shuffled else np.arange(rows)
    for begin in range(0, rows, PIECE):
        row = order[begin : begin + PIECE]
        names = [f"obs_{at}" for at in range(observations)] + [f"u_{at}" for at in range(actions)] + ["r"]
        columns = {name: rng.normal(size=len(row)).round(6) for name in names}
        over = (row % LENGTH == LENGTH - 1) & (row // LENGTH % 2 == 0)
        yield arrow.table({"id": row // LENGTH, "t": row % LENGTH, **columns, "over": over})


def _write(path: Path, pieces: Iterator[Any]) -> None:
    first = next(pieces)
    module = require("pyarrow.csv" if path.suffix == ".csv" else "pyarrow.parquet", "table")
    writer = module.CSVWriter if path.suffix == ".csv" else module.ParquetWriter
    with writer(path, first.schema) as file:
        file.write_table(first)
        for piece in pieces:
            file.write_table(piece)
