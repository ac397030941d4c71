"""The results of runs: one tidy table, a row for each evaluation of a run, from `rewind train` to every report."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from rewind.errors import DataError
from rewind.evaluation.diagnose import COUNTS, DIAGNOSED
from rewind.files import read_lines, whole_file
from rewind.run_spec import BLOCK, DYNAMIC_BLOCK, RunSpec, group_name, with_new_names

Row = dict[str, Any]

# None is possible where `| None` stands: JSON has no NaN, and a run that broke has no score.
COLUMNS: dict[str, Any] = {
    "run": str,  # short digest of all that makes the run what it is, but not of the data's content
    "group": str,  # the runs it was trained with
    "dataset": str,
    "suite": str,  # mujoco, antmaze, adroit, ogbench; other where the catalogue does not know the data
    "algorithm": str,  # td3_bc, iql, edac, bc
    "sampler": str,  # baseline (transitions, uniformly), tr, a priority
    "beta": float,  # 1 one-step, 0 SARSA, between: weighted
    "settings": str,  # JSON: fields of the agent that are not the paper's
    "reuse": str,
    "rank_exponent": float,  # eq. 5's alpha
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
    "q_excess": float | None,  # how far beyond the possible returns, in units of their range; None: not known
    "diagnostics": str | None,  # JSON: the figures of an evaluation without a simulator
    "seconds_per_update": float | None,  # training alone, of the whole group, divided by its runs
    "runs_together": int,
    "group_seconds": float,  # the group until its last update: data, compilation, training
    "device": str,
    "versions": str,  # JSON
    "data_fingerprint": str,
    "finished": str,  # when the group was; ISO 8601, UTC
}
LATER = ("q", "q_excess", "diagnostics")  # columns that older rows lack


def group_rows(
    specs: Sequence[RunSpec], records: Iterable[Sequence[Mapping[str, Any]]], about: Mapping[str, Any]
) -> list[Row]:
    """The results of runs that were trained together: a row for each evaluation of each run.

    records: what was logged of each run
    about: `alive`, of each run whether its numbers stayed finite; `data`, the fingerprints by data set; `blocks`, of
        each run, if known; and the columns that are the same for all: seconds_per_update, group_seconds, device,
        versions
    """
    group, finished = group_name(specs), datetime.now(UTC).isoformat(timespec="seconds")
    usual = DYNAMIC_BLOCK if any(spec.dynamic for spec in specs) else BLOCK
    blocks = about.get("blocks") or [spec.block or usual for spec in specs]
    rows = []
    for spec, block, alive, logged in zip(specs, blocks, about["alive"], records, strict=True):
        common = spec.record() | {
            "run": spec.run, "group": group, "suite": spec.suite, "block": block,
            "settings": json.dumps(dict(spec.settings), sort_keys=True), "runs_together": len(specs),
            "data_fingerprint": about["data"][spec.dataset], "finished": finished,
            **{name: about[name] for name in ("seconds_per_update", "group_seconds", "device", "versions")},
        }  # fmt: skip
        rows += [common | evaluation for evaluation in _evaluations(logged, alive)]
    return rows


def _evaluations(records: Sequence[Mapping[str, Any]], alive: bool) -> Iterator[Row]:
    """The columns of a run that differ from one evaluation to the next."""
    records = sorted(records, key=lambda record: record["step"])
    dead = [record["step"] for record in records if record.get("alive") is False]
    dead_from = math.inf if alive else min([*dead, records[-1]["step"]])
    q: Row = {"q": None, "q_excess": None}
    for step, same_step in groupby(records, key=lambda record: record["step"]):
        figures: dict[str, Any] = {}
        for record in same_step:
            figures |= record
        q |= {name: figures[name] for name in q if name in figures}
        diagnostics = {name: figures[name] for name in (*DIAGNOSED, *COUNTS) if name in figures}
        if "score" in figures or diagnostics:
            yield {
                "step": step, "alive": step < dead_from, **q,
                **{name: figures.get(name) for name in ("score", "return", "length")},
                **{name: int(figures.get(name, 0)) for name in ("episodes", "evaluation_seed")},
                "diagnostics": json.dumps(diagnostics) if diagnostics else None,
            }  # fmt: skip


def run_key(row: Row) -> tuple[str, str]:
    """What rows of one run share: the same run on data of other content is another one."""
    return row["run"], row["data_fingerprint"]


def by_run(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """The rows of each run, by step."""
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        grouped.setdefault(run_key(row), []).append(row)
    return {key: sorted(group, key=lambda row: row["step"]) for key, group in grouped.items()}


def diagnostics_of(row: Row) -> dict[str, float | None]:
    """The figures of an evaluation without a simulator; none of one with it."""
    figures: dict[str, float | None] = json.loads(row["diagnostics"] or "{}")
    return figures


def kernels_of(row: Row) -> str:
    """How its networks were computed: xla, or fused."""
    return str(json.loads(row["versions"]).get("kernels", "xla"))


def device_seconds(groups: Mapping[str, tuple[str, str, float]]) -> dict[str, float]:
    """Seconds of its device that each group had: what several used at the same time is divided among them.

    groups: by name, the device, when the group finished, and the seconds that it took
    """
    spans = {name: (_moment(finished) - took, _moment(finished)) for name, (_, finished, took) in groups.items()}
    shares = dict.fromkeys(groups, 0.0)
    for begin, end in pairwise(sorted({moment for span in spans.values() for moment in span})):
        working: dict[str, list[str]] = {}
        for name, (first, last) in spans.items():
            if first <= begin and end <= last:
                working.setdefault(groups[name][0], []).append(name)
        for names in working.values():
            for name in names:
                shares[name] += (end - begin) / len(names)
    return shares


def _moment(finished: str) -> float:
    return datetime.fromisoformat(finished).timestamp()


def write_jsonl(path: Path, rows: Sequence[Row]) -> Path:
    """Rows as lines of JSON, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text("".join(json.dumps(checked_row(row, path)) + "\n" for row in rows), encoding="utf-8")
    return path


def read_jsonl(path: Path) -> list[Row]:
    rows = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{path}, line {number}, is not a row of results: {error}; was the file cut?") from error
        rows.append(checked_row(row, f"{path}, line {number}"))
    return rows


def checked_row(row: Any, where: object) -> Row:
    """The row, its columns in order, its numbers of the right kind."""
    row = with_new_names(row) if isinstance(row, Mapping) else {}
    given = set(row) | {*LATER}
    if given != set(COLUMNS):
        missing, unknown = sorted(set(COLUMNS) - given), sorted(given - set(COLUMNS))
        raise DataError(f"{where}: not a row of results: missing columns {missing}, unknown {unknown}")
    return {name: _value(row.get(name), name, where) for name in COLUMNS}


def _value(value: Any, name: str, where: object) -> Any:
    kind = COLUMNS[name]
    if kind in (float, float | None) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise DataError(f"{where}: column {name} holds {value!r}; expected {getattr(kind, '__name__', kind)}")
    return value
