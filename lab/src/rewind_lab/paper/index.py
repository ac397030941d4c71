"""What a runner must know of earlier results: which runs are done, and what their groups took."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rewind.errors import DataError
from rewind.evaluation.rows import Row, kernels_of, read_jsonl
from rewind.files import write_json
from rewind_lab.paper.results import INDEX, group_files, read_index_file, read_rows


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


@dataclass(frozen=True)
class Index:
    """runs: of each finished run, the group it was trained in."""

    runs: dict[str, str] = field(default_factory=dict)
    groups: dict[str, FinishedGroup] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Of device time, in all."""
        return sum(group.seconds for group in self.groups.values())


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
    new = index_of(row for each in group_files(folder) for row in read_jsonl(each))
    try:
        saved = read_index_file(folder)
        groups = {name: FinishedGroup(group=name, **_as_now(group)) for name, group in saved["groups"].items()}
        return Index(new.runs | saved["runs"], new.groups | groups)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is damaged ({error}); `rewind paper collect` writes it again") from error


def _as_now(group: dict[str, Any]) -> dict[str, Any]:
    """Groups were once of one data set each."""
    if "data" in group:
        return group
    data = {group["dataset"]: group["data_fingerprint"]}
    return {name: each for name, each in group.items() if name not in ("dataset", "data_fingerprint")} | {"data": data}


def write_index(folder: Path, rows: Sequence[Row]) -> None:
    index = index_of(rows)
    groups = {name: {key: value for key, value in asdict(each).items() if key != "group"}
              for name, each in index.groups.items()}  # fmt: skip
    write_json(folder / INDEX, {"runs": index.runs, "groups": groups, "rows": len(rows)})
