"""Table 5: what sampling costs, from `rewind bench train --json`."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewind.errors import DataError
from rewind.report.document import Cell, Line, Table
from rewind_lab.paper.published import published
from rewind_lab.paper.report.comparisons import signed

# The rows of the paper's table 5, and what the benchmark calls them; the paper did not measure the weighted target.
ROWS = {
    "baseline": ("uniform", "Uniform (baseline)"),
    "tr": ("TR", "TR"),
    "weighted": ("weighted target", "TR, weighted target"),
    "quality": ("PTR (quality)", "PTR (quality)"),
    "uncertainty": ("PTR (uncertainty)", "PTR (uncertainty)"),
}


@dataclass(frozen=True)
class Cost:
    """One measurement side by side. ratios: to uniform sampling, by row of table 5."""

    runs: int  # trained together
    device: str
    microseconds: Mapping[str, float]  # per update of all runs
    ratios: Mapping[str, float]

    @property
    def where(self) -> str:
        return f"{self.runs} run{'s' if self.runs > 1 else ''} together, {self.device}"


def paper_overhead(row: str) -> float:
    """0.039 is 3.9% more than uniform sampling."""
    times = _paper_times()
    return times[row] / times["baseline"] - 1


def _paper_times() -> dict[str, float]:
    """Seconds per 1000 updates."""
    rows = {name: next(iter(cells.values())) for name, cells in published("table_5").items()}
    return {name: number.mean for name, number in rows.items() if number is not None}


def read_costs(paths: Iterable[Path]) -> list[Cost]:
    """The measurements of TD3+BC in these files, fewest runs together first."""
    costs = []
    for path in paths:
        try:
            figures = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"{path} cannot be read as figures of `rewind bench train --json`: {error}") from error
        if not isinstance(figures, dict) or "by_runs" not in figures or figures.get("algorithm") != "td3_bc":
            raise DataError(f"{path} does not hold figures of `rewind bench train --json` for td3_bc")
        costs += [_cost(int(runs), figures["device"], measured) for runs, measured in figures["by_runs"].items()]
    return sorted(costs, key=lambda cost: cost.runs)


def _cost(runs: int, device: str, measured: Mapping[str, Mapping[str, float]]) -> Cost:
    def rows(name: str) -> dict[str, float]:
        return {row: measured[name][bench] for row, (bench, _) in ROWS.items() if bench in measured[name]}

    return Cost(runs, device, rows("us_per_update"), rows("ratio_to_uniform"))


def cost_table(costs: Sequence[Cost]) -> Table:
    """Overheads over uniform sampling, a column for each measurement."""
    times = _paper_times()
    lines = []
    for row, (_, label) in ROWS.items():
        theirs = f"{signed(paper_overhead(row), '+.1%')} ({times[row]:.2f} s per 1000 updates)" if row in times else ""
        cells = [_cell(cost, row) for cost in costs] or [Cell(kind="missing")]
        lines.append(Line(label, [*cells, Cell(theirs)]))
    columns = ["Sampling", *([cost.where for cost in costs] or ["Ours"]), "Paper (one 1080 Ti)"]
    return Table("Table 5: cost over uniform sampling", columns, lines)


def _cell(cost: Cost, row: str) -> Cell:
    if row not in cost.ratios:
        return Cell(kind="missing")
    return Cell(f"{signed(cost.ratios[row] - 1, '+.1%')} ({cost.microseconds[row]:,.0f} µs per update)")
