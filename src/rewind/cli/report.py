"""`rewind report`: the page of a training."""

import warnings
from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional
from rewind.errors import DataError, UsageError
from rewind.report import diagnostics, training_page
from rewind.report.document import Document
from rewind.report.output import write_document
from rewind.report.runs import Results, runs_of
from rewind.report.train_folder import ROWS, read_trainings


@dataclass
class Report:
    """Write one HTML page, which needs nothing else, from a folder of `rewind train`."""

    folder: Positional[Path]
    """Of `rewind train`, or a folder of such folders."""
    out: Path | None = None
    """The page; default: report.html in the folder."""
    markdown: Path | None = None
    """Also write the tables as Markdown to this file."""
    into: tuple[Path, ...] = ()
    """Also write sections anew in these Markdown pages: `<!-- report: scores -->` ... `<!-- end of report -->`."""

    def run(self) -> None:
        write_document(self._document(), self.out or self.folder / "report.html", self.markdown, self.into)

    def _document(self) -> Document:
        if not self.folder.is_dir():
            raise UsageError(f"no folder {self.folder}: expected one that `rewind train` has written")
        trainings = read_trainings(self.folder)
        evaluated = [training for training in trainings if training.evaluated]
        unscored = [training for training in trainings if not training.evaluated]
        if evaluated and unscored:
            where = ", ".join(str(training.folder) for training in unscored)
            warnings.warn(f"left out, trained without a simulator: {where}; report such a folder alone", stacklevel=2)
        if evaluated:
            return training_page.build(Results(runs_of(row for training in evaluated for row in training.rows)))
        if unscored:
            return diagnostics.build(unscored)
        if (self.folder / "groups").is_dir() or (self.folder / "results.parquet").exists():
            raise UsageError(f"{self.folder} holds results of `rewind paper run`: rewind paper report {self.folder}")
        raise DataError(
            f"nothing to report in {self.folder}: expected {ROWS}, which `rewind train` writes once it has finished"
        )
