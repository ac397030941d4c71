"""Jobs for `measure.py`: all combinations, candidates in turn.

python lab/tools/v1/jobs.py FOLDER/snapshots RUNS STEPS SETS CHUNKS [GAINS] [NOISES] [WIDTH]

RUNS, STEPS (thousands), SETS, GAINS, NOISES are lists such as 0,3,5; CHUNKS is a first and a last + 1, such as 0,2
SETS: of umaze,umaze-diverse,...; all: every one. STEPS all: every snapshot
"""

import json
import sys
from itertools import product
from pathlib import Path

from rewind_lab.behaviour.likeness import PUBLISHED

folder, runs, steps, sets, chunks = sys.argv[1:6]
gains, noises, width = [*sys.argv[6:9], *("1", "0.2", "32")[len(sys.argv[6:9]) :]]
files = {int(path.stem.removeprefix("step-")): path for path in Path(folder).glob("step-*.npz")}
wanted = sorted(files)
if steps != "all":
    wanted = sorted({min(files, key=lambda at, k=k: abs(at - 1000 * int(k))) for k in steps.split(",")})
kinds = list(PUBLISHED) if sets == "all" else sets.split(",")
for step, run, gain, noise, kind in product(wanted, runs.split(","), gains.split(","), noises.split(","), kinds):
    job = {"policy": str(files[step]), "run": int(run), "gain": float(gain), "noise": float(noise), "set": kind}
    print(json.dumps(job | {"chunks": [int(c) for c in chunks.split(",")], "width": int(width)}))
