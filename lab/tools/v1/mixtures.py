"""Mixtures of walkers, by what `measure.py` counted: which shares of the rows come nearest to the published figures.

    python lab/tools/v1/mixtures.py OUT... [--best N]

Fast walkers reach their goals as quickly as the published one, but seldom fail upright; slow ones do little else. A
mixture gives one share of the rows to slow walkers, the same in all sets, and the rest to one to three fast ones.
"""

import json
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np

from rewind_lab.behaviour.likeness import PUBLISHED, distance

SLOW_SHARES = (0.1, 0.2, 0.25, 0.3, 0.4, 0.5)
FAST_FROM = 300  # thousands of steps of training: those are fast
COUNTED = ("episodes", "rows", "reached", "steps", "back", "saturated")


def read(paths):
    """By walker (file, gain) and set, what was counted over all chunks."""
    sums = defaultdict(lambda: defaultdict(lambda: defaultdict(float)))
    for path in paths:
        for line in Path(path).read_text().splitlines():
            chunk = json.loads(line)
            for name in COUNTED:
                sums[Path(chunk["policy"]).stem, chunk["gain"]][chunk["set"]][name] += chunk[name]
    return {walker: sets for walker, sets in sums.items() if len(sets) == len(PUBLISHED) and "-" in walker[0]}


def figures(sums, shares):
    """By set, the figures of walkers that give these shares of the rows."""
    mixed = {}
    for kind in PUBLISHED:
        parts = [(share, sums[walker][kind]) for walker, share in shares.items()]
        total = {name: sum(share * part[name] / part["rows"] for share, part in parts) for name in COUNTED}
        mixed[kind] = {"reached": total["reached"] / total["episodes"], "steps": total["steps"] / total["reached"],
                       "back": total["back"], "saturated": total["saturated"]}  # fmt: skip
    return mixed


def mixtures(walkers):
    thousands = {walker: int(walker[0].rpartition("-")[2].removesuffix("k")) for walker in walkers if "k" in walker[0]}
    fast = [walker for walker in thousands if thousands[walker] >= FAST_FROM and walker[1] > 1.0]
    slow = [walker for walker in thousands if thousands[walker] < FAST_FROM]
    for count in (1, 2, 3):
        for some in combinations(fast, count):
            for one in slow:
                for share in SLOW_SHARES:
                    yield {**dict.fromkeys(some, (1 - share) / count), one: share}


def main():
    arguments = sys.argv[1:]
    best = int(arguments[arguments.index("--best") + 1]) if "--best" in arguments else 5
    sums = read(arguments[: arguments.index("--best")] if "--best" in arguments else arguments)
    ranked = []
    for shares in mixtures(sums):
        mixed = figures(sums, shares)
        away = np.array([value for kind in PUBLISHED for value in distance(kind, mixed[kind]).values()])
        ranked.append((float(np.sqrt(np.mean(away**2))), float(np.abs(away).max()), shares, mixed))
    for square, worst, shares, mixed in sorted(ranked, key=lambda row: row[0] + 0.3 * row[1])[:best]:
        named = ", ".join(f"{name} x {gain:g}: {share:.0%}" for (name, gain), share in shares.items())
        print(f"{named}; of what is tolerated: root mean square {square:.2f}, worst {worst:.2f}")
        for kind, figure in mixed.items():
            theirs = PUBLISHED[kind]
            shown = [
                f"{name} {100 * figure[name]:4.1f}% ({100 * theirs[name]:.0f})"
                for name in ("reached", "back", "saturated")
            ]
            print(f"  {kind:15}", "  ".join(shown), f" steps {figure['steps']:.0f} ({theirs['steps']})")


if __name__ == "__main__":
    main()
