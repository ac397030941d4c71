"""Groups that have begun: what a process that was killed has left for the next one.

RESULTS/work/GROUP/work.json     its runs
                   clock.json    what it has taken so far
                   trained.json  what came of it, once nothing but evaluations is left to do
                   ...           what `rewind.training.train` keeps; those evaluations among it
"""

import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from rewind.files import only_one, read_json, write_json
from rewind.run_spec import RunSpec, from_record, group_name

TRAINED = "trained.json"


def work_folder(out: Path, specs: Sequence[RunSpec]) -> Path:
    return out / "work" / group_name(specs)


def write_work(folder: Path, specs: Sequence[RunSpec]) -> None:
    if not (folder / "work.json").exists():
        write_json(folder / "work.json", {"runs": [spec.record() for spec in specs]})


def is_trained(folder: Path) -> bool:
    """Whether the group in a folder needs no more than evaluations: no data, nor what it was trained on."""
    return (folder / TRAINED).exists()


def read_work(folder: Path) -> list[RunSpec]:
    """The runs of a group that was begun, in the order they are trained in."""
    return [from_record(record) for record in read_json(folder / "work.json")["runs"]]


def begun(out: Path) -> list[list[RunSpec]]:
    """The groups that were begun and are not finished."""
    return [read_work(path.parent) for path in sorted((out / "work").glob("*/work.json"))]


def forget_work(out: Path, specs: Sequence[RunSpec]) -> None:
    shutil.rmtree(work_folder(out, specs), ignore_errors=True)


def only_runner(out: Path) -> AbstractContextManager[None]:
    """One runner at a time in a folder of results."""
    out.mkdir(parents=True, exist_ok=True)
    return only_one(out / "work", f"another `rewind paper` is at work in {out}: wait for it, or give another --out")
