"""`rewind report`: the page of a training, or of several."""

import warnings
from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional, Rare
from rewind.errors import DataError, UsageError
from rewind.report import diagnostics, training_page
from rewind.report.document import Document
from rewind.report.output import write_document
from rewind.report.runs import Results, runs_of
from rewind.report.train_folder import read_trainings


@dataclass
class Report:
    """Write one HTML page, in a single file, about trainings of `rewind train`.

    Example: rewind report runs/mine
    """

    folders: Positional[tuple[Path, ...]]
    """Folders of `rewind train`, or folders that contain them; one page compares them all."""
    out: Path | None = None
    """The page. Default: report.html in the folder, or in the current one if there are several."""
    markdown: Rare[Path | None] = None
    """Also write the tables as Markdown to this file."""
    into: Rare[tuple[Path, ...]] = ()
    """Also update sections of these Markdown pages, between `<!-- report: facts -->` and `<!-- end of report -->`:
    facts and origin; of scored runs scores and curves; without a simulator diagnostics and training."""

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
