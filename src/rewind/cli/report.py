"""`rewind report`: one page from a folder of results."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional
from rewind.errors import DataError, UsageError
from rewind.files import whole_file
from rewind.report import diagnostics
from rewind.report.document import Document
from rewind.report.insert import insert
from rewind.report.markdown import to_markdown
from rewind.report.page import render
from rewind.report.train_folder import train_folders, train_rows, train_runs
from rewind_lab.paper.datasets import Data
from rewind_lab.paper.report.cost import read_costs
from rewind_lab.paper.report.report import build
from rewind_lab.paper.report.runs import Results, runs_of
from rewind_lab.paper.results import Row, read_rows


@dataclass
class Report:
    """Write one HTML page, which needs nothing else, from a folder of results."""

    folder: Positional[Path]
    """Of `rewind paper run`, or of `rewind train` (or a folder of such folders)."""
    out: Path | None = None
    """The page; default: report.html in the folder."""
    markdown: Path | None = None
    """Also write the tables and verdicts as Markdown to this file."""
    into: tuple[Path, ...] = ()
    """Also write sections anew in these Markdown pages: `<!-- report: claims -->` ... `<!-- end of report -->`."""
    data: Data | None = None
    """Which of the paper's data sets to compare: d4rl or rewind; default: those with the most runs."""
    cost: tuple[Path, ...] = ()
    """Figures of `rewind bench train --json` for table 5; default: the folder's cost.json."""

    def run(self) -> None:
        document = self._document()
        pages = {self.out or self.folder / "report.html": render(document)}
        if self.markdown is not None:
            pages[self.markdown] = to_markdown(document)
        for page in self.into:
            if page in pages:
                raise UsageError(f"{page} would be written twice; give --into another page than --out and --markdown")
            pages[page] = insert(document, _text_of(page))
        for path, text in pages.items():
            with whole_file(path) as temporary:
                temporary.write_text(text, encoding="utf-8")
            print(f"wrote {path}")

    def _document(self) -> Document:
        if not self.folder.is_dir():
            raise UsageError(
                f"no folder {self.folder}: expected one that `rewind paper run` or `rewind train` has written"
            )
        trained = train_runs(*train_folders(self.folder))
        rows = read_rows(self.folder) + train_rows(trained)
        unplayed = [run for run in trained if "curve" not in run.result]
        if rows:
            if unplayed:
                where = ", ".join(sorted({str(run.folder) for run in unplayed}))
                warnings.warn(
                    f"left out, trained without a simulator: {where}; report such a folder alone", stacklevel=2
                )
            return self._scored(rows)
        if unplayed:
            return diagnostics.build(unplayed)
        raise DataError(
            f"nothing to report in {self.folder}: expected groups/*.jsonl or results.parquet (rewind paper run), or "
            "config.json and results.json (rewind train, once it has finished)"
        )

    def _scored(self, rows: list[Row]) -> Document:
        results = Results(runs_of(rows), self.data)
        if self.data is not None and self.data not in results.sources:
            raise UsageError(
                f"{self.folder} has no runs on {self.data} data; leave --data out, or choose another folder"
            )
        measured = self.folder / "cost.json"  # of `rewind paper run --tables 5`
        return build(results, read_costs(self.cost or ([measured] if measured.exists() else [])))


def _text_of(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{page} cannot be read: {error.strerror}; --into takes a page that is there") from error
