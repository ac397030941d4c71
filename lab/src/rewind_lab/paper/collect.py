"""Finished groups folded into one table, and carried from one machine to another."""

from collections.abc import Callable, Iterable
from pathlib import Path

from rewind.errors import DataError
from rewind.evaluation.rows import Row, read_jsonl, write_jsonl
from rewind.files import only_one
from rewind_lab.paper.index import write_index
from rewind_lab.paper.results import group_files, read_rows, unique, write_parquet


def collect(folder: Path, more: Iterable[Path] = ()) -> list[Row]:
    """Fold all finished groups into results.parquet; returns its rows. Twice is as good as once.

    Whenever it is stopped, nothing is lost and nothing counts twice: the groups go last.

    more: files of rows from other machines
    """
    added = [row for path in more for row in read_jsonl(path)]
    if not added and not read_rows(folder):
        raise DataError(f"no finished groups in {folder / 'groups'}: there is nothing to collect")
    return _fold(folder, lambda rows: [*rows, *added])


def set_aside(folder: Path, to: Path, which: Callable[[Row], bool]) -> list[Row]:
    """Move runs to another folder of results; returns their rows. Whenever it is stopped, nothing is lost."""
    moved = [row for row in read_rows(folder) if which(row)]
    if not moved:
        raise DataError(f"{folder} holds none of these runs")
    _fold(to, lambda rows: [*rows, *moved])
    _fold(folder, lambda rows: [row for row in rows if not which(row)])
    return moved


def _fold(folder: Path, change: Callable[[list[Row]], list[Row]]) -> list[Row]:
    folder.mkdir(parents=True, exist_ok=True)
    with only_one(folder / "results.parquet"):
        folded = group_files(folder)
        rows = unique(change(read_rows(folder)))
        write_index(folder, rows)  # before the table: rows are checked against it, and may be more
        write_parquet(folder, rows)
        for done in folded:
            done.unlink(missing_ok=True)
    return rows


def gather(folder: Path, file: Path) -> list[Row]:
    """What has not been folded yet, as one file to take home; returns its rows."""
    rows = unique(row for path in group_files(folder) for row in read_jsonl(path))
    write_jsonl(file, rows)
    return rows
