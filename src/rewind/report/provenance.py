"""Where the numbers of a page come from: how many runs, on what data, by which versions."""

import json
from collections.abc import Iterable
from typing import Any

from rewind.agents.settings import agent_label
from rewind.data.catalogue import known_entry
from rewind.evaluation.rows import device_seconds
from rewind.report.document import Block, Cell, Fold, Line, Table
from rewind.report.runs import Results


def facts(results: Results) -> list[tuple[str, str]]:
    runs = results.runs
    rows = {run.row["group"]: run.row for run in results.every.values()}
    spent = {group: (row["device"], row["finished"], row["group_seconds"]) for group, row in rows.items()}
    unfinished = sum(run.row["step"] < run.protocol.steps for run in runs)
    facts = [
        ("Runs", f"{len(runs):,}"),
        ("Data sets", str(len(results.datasets))),
        ("Agents", ", ".join(map(agent_label, results.algorithms))),
        ("Updates of a run", " to ".join(f"{steps:,}" for steps in _ends(run.protocol.steps for run in runs))),
        ("Failed runs", str(sum(not run.alive for run in runs))),
        *([("Unfinished runs", str(unfinished))] if unfinished else []),
    ]
    seconds = dict.fromkeys(sorted({device for device, _, _ in spent.values()}), 0.0)
    for group, share in device_seconds(spent).items():
        seconds[spent[group][0]] += share
    return [
        *facts,
        (
            "Devices, time of training" if any(seconds.values()) else "Devices",
            ", ".join(_time(*each) for each in sorted(seconds.items(), key=lambda each: -each[1])),
        ),
    ]


def _time(device: str, seconds: float) -> str:
    if not seconds:
        return device
    return f"{device} {seconds / 3600:.1f} h" if seconds >= 3600 else f"{device} {seconds / 60:.1f} min"


def origin(results: Results) -> list[Block]:
    texts = sorted({run.row["versions"] for run in results.runs})
    versions = [", ".join(f"{name} {version}" for name, version in json.loads(text).items()) for text in texts]
    return [_data_table(results), Fold("Versions", versions)]


def _data_table(results: Results) -> Table:
    lines = []
    for dataset in results.datasets:
        runs = [run for run in results.runs if run.dataset == dataset]
        prints = sorted({run.row["data_fingerprint"] for run in runs})
        broken = sum(not run.alive for run in runs)
        dates = " to ".join(_ends(run.row["finished"][:10] for run in runs))
        fingerprint = prints[0] if len(prints) == 1 else f"{len(prints)} different: {', '.join(prints)}"
        cells = [str(len(runs)), str(broken), dates, _source(dataset), fingerprint]
        lines.append(Line(dataset, [Cell(text) for text in cells]))
    columns = ("Data set", "Runs", "Failed", "Finished", "Data", "Fingerprint")
    note = "A fingerprint is of the data's content: runs of one data set should have one."
    return Table("Where the runs come from", columns, lines, note)


def _source(dataset: str) -> str:
    published = known_entry(dataset)
    return "other" if published is None else "D4RL" if published.name == dataset else "rebuilt"


def _ends(values: Iterable[Any]) -> list[Any]:
    """The smallest and the largest; one where they are the same."""
    ordered = sorted(set(values))
    return [ordered[0], ordered[-1]] if len(ordered) > 1 else ordered
