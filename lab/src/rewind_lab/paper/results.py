"""The results: one tidy table, a row for each evaluation of a run.

A folder of results holds

    groups/*.jsonl    finished groups, as the runner wrote them or as they came from another machine
    results.parquet   the groups that `collect` has folded together
    finished.json     what a runner must know of results.parquet where nothing can read it

and reading takes all of it together. A run counts once, whatever files it is in: the group that finished first has it.
Only results.parquet needs pyarrow; the machine that trains does without.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rewind.errors import DataError, require
from rewind.files import whole_file

Row = dict[str, Any]

# None is possible where `| None` stands: JSON has no NaN, and a run that broke has no score.
COLUMNS: dict[str, Any] = {
    "run": str,  # short digest of all that makes the run what it is, but not of the data's content
    "group": str,  # the runs it was trained with
    "dataset": str,
    "suite": str,  # mujoco, antmaze, adroit; other where the catalogue does not know the data
    "algorithm": str,  # td3_bc, iql, edac, bc
    "sampler": str,  # baseline (transitions, uniformly), tr, a priority
    "beta": float,  # 1 one-step, 0 SARSA, between: weighted
    "settings": str,  # JSON: fields of the agent that are not the paper's
    "reuse": str,
    "exponent": float,  # of the ranks
    "stagger": bool,
    "block": int,  # steps planned at once
    "batch_size": int,
    "steps": int,  # of the whole run
    "seed": int,
    "step": int,  # of this evaluation
    "score": float | None,
    "return": float | None,
    "length": float | None,
    "episodes": int,
    "evaluation_seed": int,
    "alive": bool,  # False: its numbers exploded at or before this step
    "q": float | None,  # mean over batches, as it was logged last up to this step; None: not logged, or no number
    "q_excess": float | None,  # how far beyond what rewards can add up to, in units of that range; None: not known
    "seconds_per_update": float | None,  # training alone, of the whole group, divided by its runs
    "runs_together": int,
    "group_seconds": float,  # the group until its last update: data, compilation, training
    "device": str,
    "versions": str,  # JSON
    "data_fingerprint": str,
    "finished": str,  # when the group was; ISO 8601, UTC
}
LATER = ("q", "q_excess")  # columns that older rows lack
ORDER = ("dataset", "algorithm", "sampler", "beta", "settings", "steps", "seed", "run", "step")


def read_rows(folder: str | Path) -> list[Row]:
    """All rows of a folder of results, in a fixed order."""
    folder = Path(folder)
    rows = [row for path in group_files(folder) for row in read_jsonl(path)]
    return unique([*_read_parquet(folder / "results.parquet"), *rows])


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


def kernels_of(row: Row) -> str:
    """How its networks were computed: xla, or fused."""
    return str(json.loads(row["versions"]).get("kernels", "xla"))


def write_jsonl(path: Path, rows: Sequence[Row]) -> Path:
    """Rows as lines, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text("".join(json.dumps(_checked(row, path)) + "\n" for row in rows), encoding="utf-8")
    return path


def read_jsonl(path: Path) -> list[Row]:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{path}, line {number}, is no row of results: {error}; was the file cut?") from error
        rows.append(_checked(row, f"{path}, line {number}"))
    return rows


def _checked(row: Any, where: object) -> Row:
    """The row, its columns in order, its numbers of the right kind."""
    given = set(row) | {*LATER} if isinstance(row, Mapping) else set()
    if given != set(COLUMNS):
        missing, unknown = sorted(set(COLUMNS) - given), sorted(given - set(COLUMNS))
        raise DataError(f"{where}: no row of results: missing columns {missing}, unknown {unknown}")
    return {name: _value(row.get(name), name, where) for name in COLUMNS}


def _value(value: Any, name: str, where: object) -> Any:
    kind = COLUMNS[name]
    if kind in (float, float | None) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise DataError(f"{where}: column {name} holds {value!r}; expected {getattr(kind, '__name__', kind)}")
    return value


def write_parquet(folder: Path, rows: Sequence[Row]) -> Path:
    """Replace results.parquet, and see that it reads back as it was meant."""
    parquet = require("pyarrow.parquet", "paper")
    path = folder / "results.parquet"
    with whole_file(path) as temporary:
        parquet.write_table(_arrow(rows), temporary, compression="zstd")
        if _read_parquet(temporary) != list(rows):
            raise DataError(f"{path} does not read back as it was written; it stays as it was")
    return path


def _arrow(rows: Sequence[Row]) -> Any:
    pyarrow = require("pyarrow", "paper")
    kinds: dict[Any, Any] = {
        str: pyarrow.string(),
        float: pyarrow.float64(),
        int: pyarrow.int64(),
        bool: pyarrow.bool_(),
    }
    kinds[float | None] = pyarrow.float64()
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    return pyarrow.Table.from_pylist(list(rows), schema=schema)


def _read_parquet(path: Path) -> list[Row]:
    if not path.exists():
        return []
    parquet = require("pyarrow.parquet", "paper")
    try:
        rows: list[Row] = parquet.read_table(path).to_pylist()
    except (OSError, ValueError) as error:  # what pyarrow raises for a file that is none of its own
        raise DataError(f"{path} cannot be read: {error}") from error
    return [_checked(row, path) for row in rows]
