"""What trainings log: lines of JSON, each with a digest of itself and of all lines before it."""

import hashlib
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rewind.files import check_file

METRICS = "metrics.jsonl"
CHECK = "check"  # the last field of a line: the digest

Record = dict[str, Any]  # "run", "name", "step", and numbers


class Mark(NamedTuple):
    """How far a log was written: so many lines, the last of them with this check."""

    lines: int = 0
    check: str = ""


class Log(NamedTuple):
    """The lines of a log up to the first damaged one.

    problem: what is wrong with that one; empty: nothing
    """

    path: Path
    records: list[Record]
    checks: list[str]
    problem: str = ""

    def lacks(self, mark: Mark) -> str:
        """Why not all is there that was when the mark was made; empty: it is."""
        if mark == Mark() or self.checks[mark.lines - 1 : mark.lines] == [mark.check]:
            return ""
        return self.problem or f"{self.path} is not the file that was written: it has {len(self.checks)} lines"


def read_log(path: Path, runs: Collection[int] | None = None) -> Log:
    """The records of a log, each checked against its digest. Lines of the first edition have none.

    runs: that write to it; None: any
    """
    log = Log(path, [], [])
    if not path.exists():
        return log
    check_file(path)
    lines, checked = path.read_bytes().splitlines(), False
    for number, line in enumerate(lines, 1):
        record = _record(line, runs)
        given = record.pop(CHECK, None) if record else None
        check = _check(record, log.checks) if record else ""
        if not record or (given != check and (checked or given is not None)):
            return log._replace(problem=f"{path}, line {number} of {len(lines)}, is damaged or cut off")
        checked = checked or given is not None
        log.records.append(record)
        log.checks.append(check)
    return log


def _record(line: bytes, runs: Collection[int] | None) -> Record | None:
    """None: the line is not one of metrics."""
    try:
        record = json.loads(line)
        numbers = [value for key, value in record.items() if key not in ("name", CHECK)]
        whole = record["run"] >= 0 and record["step"] >= 0 and (runs is None or record["run"] in runs)
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return None
    return record if whole and all(value is None or isinstance(value, (int, float)) for value in numbers) else None


def line_of(record: Record, checks: list[str]) -> bytes:
    """The line for a record.

    checks: of all lines before it; its own is added
    """
    checks.append(_check(record, checks))
    return json.dumps({**record, CHECK: checks[-1]}).encode() + b"\n"


def _check(record: Record, before: Sequence[str]) -> str:
    content = (before[-1] if before else "") + json.dumps(record)
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()
