"""CSV and Parquet files in pieces, by pyarrow; and the line of a file that a row stands on."""

import csv
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, time
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from rewind.arrays import Array
from rewind.data.columns import ColumnMap
from rewind.errors import DataError, one_line, require
from rewind.files import check_file

BLOCK = 1 << 20  # bytes of a CSV file in one piece
PIECE = 1 << 14  # rows of a Parquet file in one piece
KEYS = 1 << 20  # and in one of episodes and times alone: each piece looks up the names of its episodes, one by one
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
    columnar: whether it takes less time to read a few of the columns
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.arrow = require("pyarrow", "table")
        self.paths = list(paths)
        self.columnar = all(map(_is_parquet, self.paths))
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
            pieces = iter(lambda: file.read(BLOCK), b"")
            return 1 + sum(max(piece.count(b"\n"), piece.count(b"\r")) for piece in pieces)

    def pieces(self, columns: ColumnMap, part: ColumnMap) -> Iterator[Any]:
        """The rows of a part of these columns, in the order of the file."""
        self.counts = []
        for path in self.paths:
            self.counts.append(0)
            try:
                read = self._parquet_pieces if _is_parquet(path) else self._csv_pieces
                for piece in read(path, columns, part):
                    self.counts[-1] += piece.num_rows
                    yield piece
            except self.arrow.ArrowException as error:
                if not _is_parquet(path) and (whole := [n for n in _maybe_whole(columns) if n in self.whole]):
                    raise WrongType(whole[0]) from error  # the time first: actions stay discrete if they can
                raise self._broken_line(path, columns) or self._unreadable(path, error) from error
            except OSError as error:
                raise self._unreadable(path, error) from error

    def _parquet_pieces(self, path: Path, columns: ColumnMap, part: ColumnMap) -> Iterator[Any]:
        with self._parquet(path) as file:
            if missing := [name for name in columns.used() if name not in file.schema_arrow.names]:
                raise DataError(f"{path} has no column {missing[0]}, which the files before it have")
            yield from file.iter_batches(PIECE if part.observations else KEYS, columns=part.used())

    def _csv_pieces(self, path: Path, columns: ColumnMap, part: ColumnMap) -> Iterator[Any]:
        arrow = self.arrow
        text = arrow.dictionary(arrow.int32(), arrow.string())
        types = {name: arrow.bool_() if self._has(name, "boolean") else arrow.float32() for name in columns.used()}
        types |= dict.fromkeys(_texts(columns), text)
        if columns.time:
            seen = self.schema.field(columns.time).type
            date = arrow.timestamp("ns", getattr(seen, "tz", None))  # later ones may be finer than those seen
            fine = arrow.time64("ns") if arrow.types.is_time(seen) else date
            types[columns.time] = fine if arrow.types.is_temporal(seen) else arrow.float64()
        types |= {name: arrow.int64() for name in _maybe_whole(columns) if name in self.whole}
        with self._csv(path, column_types=types, include_columns=part.used()) as reader:
            yield from reader

    def _has(self, name: str, kind: str) -> bool:
        return bool(getattr(self.arrow.types, f"is_{kind}")(self.schema.field(name).type))

    def is_whole(self, piece: Any, name: str) -> bool:
        """Whether this column has whole numbers or booleans, or lists of them."""
        kind, types = piece.schema.field(name).type, self.arrow.types
        while self._is_list(kind):
            kind = kind.value_type
        return bool(types.is_integer(kind) or types.is_boolean(kind))

    def _is_list(self, kind: Any) -> bool:
        types = self.arrow.types
        return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))

    def numbers(self, piece: Any, name: str, begin: int) -> Array:
        """(rows, ...) a column of numbers or of lists of equal lengths; missing values are NaN."""
        column = piece.column(name)
        rows, shape = len(column), [len(column)]
        types = self.arrow.types
        while self._is_list(column.type):
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
        """The first line that is not like the others, or whose value is not of its kind."""
        if _is_parquet(path):
            return None
        kinds = {name: self._kind(name, columns) for name in columns.used() if name not in _texts(columns)}
        begin = 1  # a line that is not closed by its quote continues to the end of the file
        try:
            with _text(path) as file:
                lines = csv.reader(file, delimiter=self.delimiter)
                head = next(lines, [])
                at = [(head.index(name), *kind) for name, kind in kinds.items() if name in head]
                begin = lines.line_num + 1
                for line in lines:
                    where, several, begin = f"{path}, line {begin}", lines.line_num > begin, lines.line_num + 1
                    if line and len(line) != len(head):
                        what = f"{len(line)} fields; expected {len(head)} as in the first line"
                        return DataError(f"{where}: {what}{'; is a quote not closed?' * several}")
                    for column, fits, what in at if line else ():
                        if not fits(line[column]) and line[column] not in EMPTY:
                            return DataError(f"{where}, column {head[column]}: {line[column]!r} is not {what}")
                if lines.line_num == 1:
                    return DataError(f"{path}: the table has no rows: expected at least one step")
        except csv.Error as error:
            return DataError(f"{path}, line {begin}: {one_line(error)}; is a quote not closed?")
        return None

    def _kind(self, name: str, columns: ColumnMap) -> tuple[Callable[[str], bool], str]:
        """How to tell the values of a column, and what they are."""
        if self._has(name, "boolean"):
            return lambda text: text.lower() in ("true", "false", "1", "0"), "true or false, as those before it"
        if name != columns.time:
            return _is_number, "a number" + "; code categories as 0, 1, 2" * (name in (columns.actions or ()))
        dates = self._has(name, "temporal")
        expected = "a time; expected numbers, or ISO dates such as 2024-12-31 23:59:59"
        return lambda text: _is_date(text) or (not dates and _is_number(text)), expected


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


def _is_date(text: str) -> bool:
    try:
        (datetime if "-" in text else time).fromisoformat(text)
    except ValueError:
        return False
    return True
