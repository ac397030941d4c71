"""Pauses what cannot finish within a lease, so that the rest can: python3 lab/tools/spare.py SCRATCH ENDS

SCRATCH is the folder of `gpu_lease.sh`, which starts this beside its stages; ENDS is when the lease is over, in seconds
since 1970. Stages share the GPU: when one is trained, the others get its part. So every few seconds this looks how fast
each one trains and computes when each will end. Where one would end too late, it stops the least advanced one (SIGSTOP:
a killed process disturbs the others). From then on no other stage begins.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

STEPS = 1_000_000  # of a run
LOOK, WATCH = 10.0, 40.0  # seconds between two looks; seconds over which a speed is measured
BEGIN = 700.0  # seconds before the end: earlier, too much can change
AFTER = 20.0  # seconds from the last update to what `take` needs
TAIL = 200_000  # bytes of the metrics that are read
LOSS = 0.85  # of the speed of all together, what is left when one of them has ended


@dataclass(frozen=True)
class Stage:
    """A stage that is being trained. left: updates, of all its runs together; speed: updates a second"""

    name: str
    left: float
    speed: float


def too_late(stages: list[Stage], seconds: float) -> list[str]:
    """Names of the stages that end later than this, where those that have ended leave their speed to the others."""
    left, late = {stage: stage.left for stage in stages}, []
    total, now = sum(stage.speed for stage in stages), 0.0
    while left:
        factor = total / max(sum(stage.speed for stage in left), 1e-9)
        first = min(left, key=lambda stage: left[stage] / max(stage.speed, 1e-9))
        took = left[first] / max(first.speed * factor, 1e-9)
        now += took
        if now > seconds:
            late.append(first.name)
        left = {stage: rest - took * stage.speed * factor for stage, rest in left.items() if stage is not first}
        total *= LOSS
    return late


def trained(folder: Path) -> tuple[int, int] | None:
    """The runs of a stage and their steps, 0 while it starts; None where nothing is trained there."""
    for work in folder.glob("work/*/work.json"):
        if (work.parent / "trained.json").exists():
            continue
        metrics, steps = work.parent / "group-0" / "metrics.jsonl", []
        if metrics.exists():
            with metrics.open("rb") as file:
                file.seek(max(0, metrics.stat().st_size - TAIL))
                steps = re.findall(rb'"step": (\d+)', file.read())
        return len(json.loads(work.read_text())["runs"]), max(map(int, steps), default=0)
    return None


def pause(folder: Path) -> None:
    (folder.parent / "full").touch()  # no other stage begins
    (folder / "paused").touch()
    found = subprocess.run(["pgrep", "-f", "--", f"--out {folder} "], capture_output=True, text=True)
    for process in found.stdout.split():
        with suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGSTOP)
    print(f"{folder.name} cannot finish: paused", flush=True)


def look(scratch: Path, seen: dict[str, list[tuple[float, int]]], seconds: float) -> None:
    """Pause one stage, if it must be; seen: times and steps of each stage since speeds last changed."""
    at_work = {}
    for folder in sorted(scratch.glob("stage-*")):
        found = None if (folder / "paused").exists() else trained(folder)
        if found:
            at_work[folder.name] = found
            if found[1]:
                seen.setdefault(folder.name, []).append((time.monotonic(), found[1]))
    if seen.keys() - at_work.keys():  # one has ended: the others are faster from now on
        seen.clear()
        return
    stages = []
    for name, (runs, steps) in at_work.items():
        if not steps:  # how fast it will be is not known
            continue
        times = [(when, then) for when, then in seen[name] if when >= time.monotonic() - WATCH - LOOK]
        (begin, first), (end, last) = times[0], times[-1]
        if end - begin < WATCH:
            return
        stages.append(Stage(name, runs * (STEPS - steps), runs * (last - first) / (end - begin)))
    if len(at_work) > 1 and seconds < BEGIN and too_late(stages, seconds - AFTER):
        pause(scratch / min(at_work, key=lambda name: at_work[name][1]))
        seen.clear()


def main() -> None:
    scratch, ends = Path(sys.argv[1]).resolve(), float(sys.argv[2])
    seen: dict[str, list[tuple[float, int]]] = {}
    while (left := ends - time.time()) > 0 and not (scratch / "ended").exists():
        look(scratch, seen, left)
        time.sleep(LOOK)


if __name__ == "__main__":
    main()
