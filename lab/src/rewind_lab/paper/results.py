"""Folders of results: the rows of many groups as one table.

A folder of results holds

    groups/*.jsonl    finished groups, as the runner wrote them or as they came from another machine
    results.parquet   the groups that `collect` has folded together
    finished.json     what a runner must know of results.parquet where nothing can read it

and reading takes all of it together. A run counts once, whatever files it is in: the group that finished first has it.
Only results.parquet needs pyarrow; the machine that trains does without.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rewind.errors import DataError, require
from rewind.evaluation.rows import COLUMNS, Row, checked_row, read_jsonl
from rewind.files import read_json, whole_file

INDEX = "finished.json"
ORDER = ("dataset", "algorithm", "sampler", "beta", "settings", "steps", "seed", "run", "step")


def read_rows(folder: str | Path) -> list[Row]:
    """All rows of a folder of results, in a fixed order."""
    folder = Path(folder)
    rows = [row for path in group_files(folder) for row in read_jsonl(path)]
    rows = unique([*_read_parquet(folder / "results.parquet"), *rows])
    if (folder / INDEX).exists() and (folder / "results.parquet").exists():
        _check_against_index(folder, rows)
    return rows


def _check_against_index(folder: Path, rows: Sequence[Row]) -> None:
    """All that the index counts must be there. It is written before the rows are folded, so that there may be more."""
    try:
        index = read_index_file(folder)
    except DataError:  # `read_index` reports it, `collect` writes it again
        return
    missing, expected = index["runs"].keys() - {row["run"] for row in rows}, index.get("rows", 0)
    if missing or len(rows) < expected:
        raise DataError(
            f"{folder / 'results.parquet'} is not whole: {len(missing):,} of {len(index['runs']):,} runs in {INDEX} "
            f"are missing; {len(rows):,} rows, expected {expected:,}: restore it from a copy"
        )


def read_index_file(folder: Path) -> dict[str, Any]:
    """What `collect` has written of results.parquet."""
    index = read_json(folder / INDEX)
    if not isinstance(index, dict) or not isinstance(index.get("runs"), dict) or "groups" not in index:
        raise DataError("no runs and groups")
    return index


def group_files(folder: Path) -> list[Path]:
    """What has not been folded yet. Names that begin with a dot are being written."""
    return sorted(path for path in (folder / "groups").glob("*.jsonl") if not path.name.startswith("."))


def unique(rows: Iterable[Row]) -> list[Row]:
    """Each run once: of several groups that trained the same run, the first to finish counts."""
    rows = list(rows)
    first: dict[str, tuple[str, str]] = {}
    for row in rows:
        group = (row["finished"], row["group"])
        first[row["run"]] = min(first.get(row["run"], group), group)
    kept = {(row["run"], row["step"]): row for row in rows if (row["finished"], row["group"]) == first[row["run"]]}
    return sorted(kept.values(), key=lambda row: tuple(row[name] for name in ORDER))


def write_parquet(folder: Path, rows: Sequence[Row]) -> Path:
    """Replace results.parquet, and see that it reads back as it was meant."""
    parquet = require("pyarrow.parquet", "", "rewind-lab")
    path = folder / "results.parquet"
    with whole_file(path) as temporary:
        parquet.write_table(_arrow(rows), temporary, compression="zstd", write_page_checksum=True)
        if _read_parquet(temporary) != list(rows):
            raise DataError(f"{path} does not read back as it was written; it stays as it was")
    return path


def _arrow(rows: Sequence[Row]) -> Any:
    pyarrow = require("pyarrow", "", "rewind-lab")
    kinds: dict[Any, Any] = {
        str: pyarrow.string(),
        float: pyarrow.float64(),
        int: pyarrow.int64(),
        bool: pyarrow.bool_(),
    }
    kinds |= {float | None: kinds[float], str | None: kinds[str]}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    return pyarrow.Table.from_pylist(list(rows), schema=schema)


def _read_parquet(path: Path) -> list[Row]:
    if not path.exists():
        return []
    parquet = require("pyarrow.parquet", "", "rewind-lab")
    try:
        rows: list[Row] = parquet.read_table(path, page_checksum_verification=True).to_pylist()
    except (OSError, ValueError) as error:  # what pyarrow raises for a file that is none of its own
        raise DataError(f"{path} cannot be read: {error}") from error
    return [checked_row(row, path) for row in rows]
