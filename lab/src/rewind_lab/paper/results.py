"""Folders of results: the rows of many groups as one table, and what a runner must know of earlier ones.

A folder of results holds

    groups/*.jsonl    finished groups, as the runner wrote them or as they came from another machine
    results.parquet   the groups that `collect` has folded together
    finished.json     what a runner must know of results.parquet where nothing can read it

and reading takes all of it together. A run counts once, whatever files it is in: the group that finished first has it.
Only results.parquet needs pyarrow; the machine that trains does without.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rewind.errors import DataError, require
from rewind.evaluation.rows import COLUMNS, Row, checked_row, device_seconds, kernels_of, read_jsonl, write_jsonl
from rewind.files import only_one, read_json, whole_file, write_json

INDEX = "finished.json"
ORDER = ("dataset", "algorithm", "sampler", "beta", "settings", "steps", "seed", "run", "step")


def read_rows(folder: str | Path) -> list[Row]:
    """All rows of a folder of results, in a fixed order."""
    folder = Path(folder)
    rows = unique([*_read_parquet(folder / "results.parquet"), *_not_folded(folder)])
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


def _not_folded(folder: Path) -> list[Row]:
    return [row for path in group_files(folder) for row in read_jsonl(path)]


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
    kinds: dict[Any, Any] = {str: pyarrow.string(), float: pyarrow.float64(), int: pyarrow.int64()}
    kinds |= {bool: pyarrow.bool_(), float | None: kinds[float], str | None: kinds[str]}
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


# What a runner must know: which runs are done, and what their groups took


@dataclass(frozen=True)
class FinishedGroup:
    """A finished group: what it was, and its cost."""

    group: str
    data: dict[str, str]  # data sets, and the fingerprints of their content
    suite: str
    algorithm: str
    runs: int  # trained together
    steps: int
    evaluations: int
    episodes: int  # per evaluation and run
    seconds_per_update: float | None  # per run
    seconds: float  # in all
    device: str
    finished: str
    kernels: str = "xla"  # or fused

    @property
    def training(self) -> float | None:
        """Seconds of it that went into updates, where they were measured."""
        return None if self.seconds_per_update is None else self.seconds_per_update * self.runs * self.steps


@dataclass(frozen=True)
class Index:
    """runs: of each finished run, the group it was trained in."""

    runs: dict[str, str] = field(default_factory=dict)
    groups: dict[str, FinishedGroup] = field(default_factory=dict)

    def seconds(self, *, accelerators: bool) -> float:
        """Of time on accelerators, or on CPUs."""
        shares = self._shares().items()
        return sum(share for name, share in shares if self.groups[name].device.startswith("cpu") != accelerators)

    def shared(self) -> "Index":
        """The same, with what each group took of a device that others used as well."""
        groups = {}
        for name, seconds in self._shares().items():
            group = self.groups[name]
            share = seconds / group.seconds if group.seconds else 1.0
            each = None if group.seconds_per_update is None else share * group.seconds_per_update
            groups[name] = replace(group, seconds=seconds, seconds_per_update=each)
        return Index(self.runs, groups)

    def _shares(self) -> dict[str, float]:
        groups = {name: (group.device, group.finished, group.seconds) for name, group in self.groups.items()}
        return device_seconds(groups)


def index_of(rows: Iterable[Row]) -> Index:
    index = Index()
    evaluations: dict[str, set[int]] = {}
    data: dict[str, dict[str, str]] = {}
    for row in rows:
        name = row["group"]
        evaluations.setdefault(name, set()).add(row["step"])
        data.setdefault(name, {})[row["dataset"]] = row["data_fingerprint"]
        index.runs.setdefault(row["run"], name)
        index.groups[name] = FinishedGroup(
            name, data[name], row["suite"], row["algorithm"], row["runs_together"], row["steps"],
            len(evaluations[name]), row["episodes"], row["seconds_per_update"], row["group_seconds"], row["device"],
            row["finished"], kernels_of(row),
        )  # fmt: skip
    return index


def read_index(folder: Path) -> Index:
    """Of everything in a folder of results. Works without pyarrow where `collect` has left finished.json."""
    path = folder / INDEX
    if not path.exists():
        return index_of(read_rows(folder))
    new = index_of(_not_folded(folder))
    try:
        saved = read_index_file(folder)
        for group in saved["groups"].values():
            if "data" not in group:  # groups were once of one data set each
                group["data"] = {group.pop("dataset"): group.pop("data_fingerprint")}
        groups = {name: FinishedGroup(group=name, **group) for name, group in saved["groups"].items()}
        return Index(new.runs | saved["runs"], new.groups | groups)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is damaged ({error}); `rewind paper collect` writes it again") from error


def write_index(folder: Path, rows: Sequence[Row]) -> None:
    index = index_of(rows)
    groups = {name: asdict(group) for name, group in index.groups.items()}
    for group in groups.values():
        del group["group"]
    write_json(folder / INDEX, {"runs": index.runs, "groups": groups, "rows": len(rows)})


# Finished groups folded into one table, and carried from one machine to another


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
    rows = unique(_not_folded(folder))
    write_jsonl(file, rows)
    return rows
