"""`make test-chaos`: disturb trainings in every way we know, and count how often they held.

    python lab/tools/chaos [--short] [--into PAGE]

It forks processes that have imported JAX and not yet used it, so that a kill costs a second.
"""

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT)]
CACHE = tempfile.mkdtemp(prefix="rewind-chaos-compiled-")
os.environ |= {"JAX_PLATFORMS": "cpu", "JAX_COMPILATION_CACHE_DIR": CACHE}
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"

import jax

jax.config.update("jax_disable_most_optimizations", True)

import files
import processes
from small import DATA, Child

from rewind.data import save_npz
from rewind.table import table

LONG = {"kills": 120, "real kills": 12, "signals": 20, "full disks": 30, "races": 25, "files": 1000, "inputs": 5000}
SHORT = {"kills": 4, "real kills": 0, "signals": 0, "full disks": 1, "races": 1, "files": 20, "inputs": 0}
MARKED = re.compile(r"(<!-- chaos -->).*?(<!-- end of chaos -->)", re.DOTALL)


def disturb(counts, folder, seed):
    """By kind: what was tried, and what failed."""
    expected = processes.undisturbed(folder, counts["real kills"] > 0)
    save_npz(DATA, folder / "data.npz")
    kinds = {
        "signals": lambda *given: processes.signals(*given, folder / "data.npz"),
        "real kills": lambda *given: processes.kills(*given, expected, real=True),
        "kills": lambda *given: processes.kills(*given, expected),
        "full disks": lambda *given: processes.full_disks(*given, expected),
        "races": lambda *given: processes.races(*given, expected),
    }
    begun = {}
    for name, disturbed in kinds.items():
        if counts[name]:
            own = folder / name.replace(" ", "-")
            own.mkdir()
            given = counts[name], own, random.Random(seed)
            begun[name] = Child(report, disturbed, given, own / "report", log=own / "log"), own / "report"
            if name not in WAITING:
                begun[name][0].wait()
    found = {}
    if counts["files"]:
        found |= damaged_files(counts["files"], folder, expected, seed)
    if counts["inputs"]:
        found |= {f"mutated inputs: {name}": figures for name, figures in files.inputs(counts["inputs"]).items()}
    return {WORDS[name]: figures_of(*begun[name]) for name in WORDS if name in begun} | found


def report(disturbed, given, path):
    """In a process of its own: a line for each trial."""
    with path.open("w", buffering=1) as lines:
        for held in disturbed(*given):
            lines.write(f"{held}\n")


def figures_of(child, path):
    status = child.wait()
    if said := child.said:
        print(said, file=sys.stderr)
    held = path.read_text().split()
    return len(held), held.count("False") + (status != 0)


WAITING = ("signals", "real kills")  # mostly for processes that import or compile: beside the others
WORDS = {
    "kills": "kills (SIGKILL)",
    "real kills": "kills (SIGKILL) while networks are trained",
    "signals": "SIGINT and SIGTERM, once or twice",
    "full disks": "full disks (tmpfs)" if processes.can_mount() else "full disks (limit on the size of files)",
    "races": "races of three processes for one folder",
}


def damaged_files(count, folder, expected, seed):
    cores = min(4, len(os.sched_getaffinity(0))) if count > 100 else 1
    work = [files.damaged(-(-count // cores), folder, expected, seed + core) for core in range(cores)]
    found = {}
    for child, report in work:
        assert child.wait() == 0, child.said
        if "damaged: " in child.said:
            print(child.said, file=sys.stderr)
        for line in report.read_text().splitlines():
            name, held, how = line.split(" ", 2)
            tried, failed = found.get(f"damaged files: {name}", (0, 0))
            found[f"damaged files: {name}"] = tried + 1, failed + (held == "False")
            if held == "False":
                print(f"failed: {name}, {how}", file=sys.stderr)
    return dict(sorted(found.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a few of each, in seconds")
    parser.add_argument("--into", type=Path, help="write the table into this page, between its marks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="one kind: " + ", ".join(LONG))
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # NumPy's, of mutated numbers
    counts = SHORT if options.short else LONG
    if options.only:
        counts = {name: count * (name == options.only) for name, count in counts.items()}
    folder = Path(tempfile.mkdtemp(prefix="rewind-chaos-"))
    try:
        found = disturb(counts, folder, options.seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(CACHE, ignore_errors=True)
    rows = [
        {"disturbance": name, "tried": tried, "held": tried - failed, "failed": failed}
        for name, (tried, failed) in found.items()
    ]
    total = {name: sum(row[name] for row in rows) for name in ("tried", "held", "failed")}
    text = table([*rows, {"disturbance": "all", **total}])
    print(text)
    if options.into:
        page = options.into.read_text(encoding="utf-8")
        options.into.write_text(MARKED.sub(lambda mark: f"{mark[1]}\n\n```text\n{text}\n```\n\n{mark[2]}", page))
    sys.exit(total["failed"] > 0)


if __name__ == "__main__":
    main()
