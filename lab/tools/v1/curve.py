"""The last lines of a training's curve, a line for each run: python lab/tools/v1/curve.py CURVE"""

import json
import sys
from pathlib import Path

lines = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
runs = 1 + max(line["run"] for line in lines)
print(f"step {lines[-1]['step']:,} after {lines[-1]['seconds']} s")
for run in range(runs):
    own = [line for line in lines if line["run"] == run]
    shown = own[:: max(1, len(own) // 8)][-8:]
    if "back" in own[-1]:
        print(run, " ".join(f"{at['step'] // 1000}k:{100 * at['back']:.0f}%/{at['goals']:.1f}" for at in shown))
    else:
        print(run, " ".join(f"{at['step'] // 1000}k:{at.get('return', 0):.0f}" for at in shown))
