"""`rewind report`: the page of a training, or of several."""

import warnings
from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional
from rewind.errors import DataError, UsageError
from rewind.report import diagnostics, training_page
from rewind.report.document import Document
from rewind.report.output import write_document
from rewind.report.runs import Results, runs_of
from rewind.report.train_folder import read_trainings


@dataclass
class Report:
    """Write one HTML page, which needs nothing else, from folders of `rewind train`."""

    folders: Positional[tuple[Path, ...]]
    """Of `rewind train`, or folders of such folders: all of them are compared on one page."""
    out: Path | None = None
    """The page; default: report.html in the folder, of several in the current one."""
    markdown: Path | None = None
    """Also write the tables as Markdown to this file."""
    into: tuple[Path, ...] = ()
    """Also write sections anew in these Markdown pages: `<!-- report: scores -->` ... `<!-- end of report -->`."""

    def run(self) -> None:
        where = self.folders[0] if len(self.folders) == 1 else Path()
        write_document(self._document(), self.out or where / "report.html", self.markdown, self.into)

    def _document(self) -> Document:
        for folder in self.folders:
            if not folder.is_dir():
                raise UsageError(f"no folder {folder}: expected one that `rewind train` has written")
        if not self.folders:
            raise UsageError("no folder to report: rewind report FOLDER, which `rewind train` has written")
        trainings = read_trainings(self.folders)
        evaluated = [training for training in trainings if training.evaluated]
        unscored = [training for training in trainings if not training.evaluated]
        if evaluated and unscored:
            where = ", ".join(str(training.folder) for training in unscored)
            warnings.warn(f"left out, trained without a simulator: {where}; report such a folder alone", stacklevel=2)
        if evaluated:
            return training_page.build(Results(runs_of(row for training in evaluated for row in training.rows)))
        if unscored:
            return diagnostics.build(unscored)
        for folder in self.folders:
            if (folder / "groups").is_dir() or (folder / "results.parquet").exists():
                raise UsageError(f"{folder} holds results of `rewind paper run`: rewind paper report {folder}")
        where = ", ".join(map(str, self.folders))
        raise DataError(f"nothing to report in {where}: no evaluation of `rewind train` yet")
