"""CSV and Parquet files in pieces, by pyarrow; and the line of a file that a row stands on."""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from rewind.arrays import Array
from rewind.data.columns import ColumnMap
from rewind.errors import DataError, naming, one_line, require
from rewind.files import check_file

BLOCK = 1 << 20  # bytes of a CSV file in one piece
PIECE = 1 << 14  # rows of a Parquet file in one piece
DELIMITERS = ",;\t|"
EMPTY = ("", "nan", "NaN", "NAN", "-nan", "NA", "N/A", "n/a", "#N/A", "null", "NULL", "None", "none")  # missing
PARQUET = (".parquet", ".pq")
SUFFIXES = (".csv", ".tsv", *PARQUET)


class WrongType(Exception):
    """A file cannot be read with a column, this one, as whole numbers, which its first piece has only."""


class TableFiles:
    """Files with the same columns that together are one table.

    names: of the columns
    whole: columns of whole numbers, as far as the first piece of a CSV file shows
    most_rows: at least the number of rows
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.arrow = require("pyarrow", "table")
        self.paths = list(paths)
        self.counts: list[int] = []  # rows of the files that were read
        self.whole: set[str] = set()
        for path in self.paths:
            check_file(path)
        first, self.schema = self.paths[0], self._schema(self.paths[0])
        self.names: list[str] = list(self.schema.names)
        if not _is_parquet(first):
            self.whole = {field.name for field in self.schema if self.arrow.types.is_integer(field.type)}
            if all(_is_number(name) for name in self.names):
                raise DataError(f"{first}: its first line has numbers only; expected the names of the columns")
        self.most_rows = sum(map(self._most_rows, self.paths))

    def _schema(self, path: Path) -> Any:
        try:
            if _is_parquet(path):
                return self._parquet(path).schema_arrow
            with self._csv(path) as reader:
                return reader.schema
        except self.arrow.ArrowException as error:
            raise self._broken_line(path, ColumnMap()) or self._unreadable(path, error) from error

    def _unreadable(self, path: Path, error: Exception) -> DataError:
        kind = "Parquet" if _is_parquet(path) else "CSV"
        return DataError(f"{path} is not a readable {kind} file (cut, damaged, or another format): {one_line(error)}")

    def _parquet(self, path: Path) -> Any:
        try:
            return require("pyarrow.parquet", "table").ParquetFile(path, buffer_size=BLOCK, pre_buffer=False)
        except (self.arrow.ArrowException, OSError) as error:
            raise self._unreadable(path, error) from error

    def _csv(self, path: Path, **convert: Any) -> Any:
        module = require("pyarrow.csv", "table")
        with path.open("rb") as file:
            head = file.readline().decode("utf-8", "replace")
        self.delimiter = max(DELIMITERS, key=head.count)
        return module.open_csv(
            path,
            module.ReadOptions(block_size=BLOCK),
            module.ParseOptions(delimiter=self.delimiter, newlines_in_values=False),
            module.ConvertOptions(null_values=EMPTY, **convert),
        )

    def _most_rows(self, path: Path) -> int:
        if _is_parquet(path):
            rows = int(self._parquet(path).metadata.num_rows)
            check_file(path, 4 * rows * len(self.names))
            return rows
        with path.open("rb") as file:
            pieces = iter(lambda: file.read(1 << 24), b"")
            return 1 + sum(max(piece.count(b"\n"), piece.count(b"\r")) for piece in pieces)

    def pieces(self, columns: ColumnMap) -> Iterator[Any]:
        """The rows of these columns, in order."""
        self.counts = []
        for path in self.paths:
            self.counts.append(0)
            try:
                read = self._parquet_pieces if _is_parquet(path) else self._csv_pieces
                for piece in read(path, columns):
                    self.counts[-1] += piece.num_rows
                    yield piece
            except self.arrow.ArrowException as error:
                if not _is_parquet(path) and (whole := [n for n in _maybe_whole(columns) if n in self.whole]):
                    raise WrongType(whole[0]) from error  # the time first: actions stay discrete if they can
                raise self._broken_line(path, columns) or self._unreadable(path, error) from error
            except OSError as error:
                raise self._unreadable(path, error) from error

    def _parquet_pieces(self, path: Path, columns: ColumnMap) -> Iterator[Any]:
        with self._parquet(path) as file:
            if missing := [name for name in columns.used() if name not in file.schema_arrow.names]:
                raise DataError(f"{path} has no column {missing[0]}, which the files before it have")
            yield from file.iter_batches(PIECE, columns=columns.used())

    def _csv_pieces(self, path: Path, columns: ColumnMap) -> Iterator[Any]:
        arrow = self.arrow
        text = arrow.dictionary(arrow.int32(), arrow.string())
        types = {name: text if name in _texts(columns) else arrow.float32() for name in columns.used()}
        if columns.time:
            seen = self.schema.field(columns.time).type
            types[columns.time] = seen if arrow.types.is_temporal(seen) else arrow.float64()
        types |= {name: arrow.int64() for name in _maybe_whole(columns) if name in self.whole}
        with self._csv(path, column_types=types, include_columns=columns.used()) as reader:
            yield from reader

    def is_whole(self, piece: Any, name: str) -> bool:
        """Whether this column has whole numbers, one in each row."""
        kind, types = piece.schema.field(name).type, self.arrow.types
        return bool(types.is_integer(kind.value_type if types.is_list(kind) else kind))

    def numbers(self, piece: Any, name: str, begin: int) -> Array:
        """(rows, ...) a column of numbers or of lists of equal lengths; missing values are NaN."""
        column = piece.column(name)
        rows, shape = len(column), [len(column)]
        types = self.arrow.types
        while types.is_list(column.type) or types.is_large_list(column.type) or types.is_fixed_size_list(column.type):
            if column.null_count:
                row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
                raise self.wrong(begin + row, name, "no value; expected a list of numbers")
            fixed = types.is_fixed_size_list(column.type)
            sizes = np.full(len(column), column.type.list_size) if fixed else np.diff(column.offsets.to_numpy())
            if (sizes != sizes[:1]).any():
                row = int(np.argmax(sizes != sizes[0])) if len(column) == rows else 0
                raise self.wrong(begin + row, name, "lists of different lengths")
            column = column.flatten()
            shape.append(int(sizes[:1].sum()))
        kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
        if not any(kind(column.type) for kind in kinds):
            row = self._first_text(column) // max(1, len(column) // max(1, rows))
            raise self.wrong(begin + row, name, f"{column.type} values; expected numbers")
        if types.is_decimal(column.type) or types.is_null(column.type):
            column = column.cast(self.arrow.float64())
        values: Array = column.to_numpy(zero_copy_only=False)  # whole numbers with missing ones become float64
        if values.dtype == object:  # booleans with missing ones
            values = np.array([np.nan if value is None else float(value) for value in values])
        return values.reshape(shape)

    def _first_text(self, column: Any) -> int:
        for row, value in enumerate(column):
            if value.as_py() is not None and not _is_number(str(value.as_py())):
                return row
        return 0

    def encoded(self, piece: Any, name: str) -> tuple[Array, list[Any]]:
        """(rows,) a column as codes of its different values, -1 where it has none; and those values."""
        column = piece.column(name)
        if self.arrow.types.is_nested(column.type):
            raise DataError(f"column {name}: {column.type} values; expected one value in each row")
        if not self.arrow.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        codes: Array = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return codes, column.dictionary.to_pylist()

    def clock(self, piece: Any, name: str, begin: int) -> Array:
        """(rows,) times as int64 or float64."""
        column, types = piece.column(name), self.arrow.types
        values: Array
        if types.is_temporal(column.type):
            column = column.cast(self.arrow.int32() if column.type.bit_width == 32 else self.arrow.int64())
            missing = column.is_null().to_numpy(zero_copy_only=False)
            values = column.fill_null(0).to_numpy(zero_copy_only=False)
        else:
            values = self.numbers(piece, name, begin)
            missing = ~np.isfinite(values)
        if missing.any():
            raise self.wrong(begin + int(np.argmax(missing)), name, "missing; expected a time")
        return values.astype(np.int64 if values.dtype.kind in "iu" else np.float64)

    # Errors

    def wrong(self, row: int, name: str, what: str) -> DataError:
        """The error for a value."""
        return DataError(f"{self.place(row)}, column {name}: {what}")

    def place(self, row: int) -> str:
        """Where a row stands: the file and its line, or its row in a Parquet file, which count from 1 and from 0."""
        for path, count in zip(self.paths, self.counts, strict=False):
            if row < count or path == self.paths[len(self.counts) - 1]:
                break
            row -= count
        if _is_parquet(path):
            return f"{path}, row {row}"
        with _text(path) as file:
            lines = csv.reader(file, delimiter=self.delimiter)
            next(islice(filter(None, lines), row + 1, None), None)
            return f"{path}, line {lines.line_num}"

    def _broken_line(self, path: Path, columns: ColumnMap) -> DataError | None:
        """The first line that is not like the others, or whose number is none."""
        if _is_parquet(path):
            return None
        numbers = [
            name
            for name in columns.used()
            if name not in _texts(columns) and not self.arrow.types.is_temporal(self.schema.field(name).type)
        ]
        try:
            with _text(path) as file:
                lines = csv.reader(file, delimiter=self.delimiter)
                head = next(lines, [])
                at = [head.index(name) for name in numbers if name in head]
                for line in filter(None, lines):
                    where = f"{path}, line {lines.line_num}"
                    if len(line) != len(head):
                        return DataError(f"{where}: {len(line)} fields; expected {len(head)} as in the first line")
                    for column in at:
                        if not _is_number(line[column]) and line[column] not in EMPTY:
                            return DataError(f"{where}, column {head[column]}: {line[column]!r} is not a number")
                if lines.line_num == 1:
                    return DataError(f"{path}: the table has no rows: expected at least one step")
        except csv.Error as error:
            return naming(path, error)
        return None


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in PARQUET


def _texts(columns: ColumnMap) -> list[str]:
    """Columns that are read as text."""
    return [name for name in (columns.episode, columns.terminal, columns.truncated) if name]


def _maybe_whole(columns: ColumnMap) -> list[str]:
    """Columns of which it matters whether they hold whole numbers."""
    actions = columns.actions or ()
    return [*([columns.time] if columns.time else []), *(actions if len(actions) == 1 else ())]


def _text(path: Path) -> TextIO:
    return path.open(newline="", encoding="utf-8-sig", errors="replace")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
