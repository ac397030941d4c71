"""Where a critic diverges: the trajectories on which Q exceeds the possible returns.

    python lab/tools/impossible_q.py rewind/antmaze-umaze-v0 --algorithm iql --sampler tr --seed 1 --steps 436000

trains one run anew, with the paper's numbers for the data set, and looks at its Q on all rows of the data at the end
(on two CPU cores this one takes 40 minutes). With --out an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from rewind import load
from rewind.evaluation.scoring import critic_of
from rewind.table import table
from rewind.targets import SLACK, excess
from rewind.training import make_runs, train

ROWS = 50_000  # at once
SHOWN = 10  # trajectories


def impossible(group, at=0):
    """(rows,) Q of a run on the data it learns from, and (rows,) how far that is beyond what is possible."""
    data = group.sources[at].data
    critic = critic_of(group, at)
    parts = [slice(first, first + ROWS) for first in range(0, data.rows, ROWS)]
    q = np.concatenate([np.asarray(critic(data.observations[part], data.actions[part])) for part in parts])
    return q, excess(q, *group.possible[at])


def changes(group, at=0):
    """(rows,) how far a state is from the one before it in its trajectory, in standard deviations; 0 at starts."""
    data, normaliser, *_ = group.sources[at]
    states = normaliser(data.observations)
    result = np.linalg.norm(np.diff(states, axis=0, prepend=states[:1]), axis=1)
    result[data.starts] = 0.0
    return result


def lines(group, at=0):
    """What there is to say, as lines of text."""
    data = group.sources[at].data
    q, beyond = impossible(group, at)
    wrong = beyond > SLACK
    of = data.trajectory_of(np.arange(data.rows))
    counts = np.bincount(of[wrong], minlength=len(data))
    low, high = group.possible[at]
    yield f"mean Q {q.mean():,.1f}; possible are {low:,.0f} to {high:,.0f}; Q is {q.min():,.0f} to {q.max():,.0f}"
    where = f"in {np.count_nonzero(counts):,} of {len(data):,} trajectories"
    yield f"{wrong.sum():,} of {data.rows:,} rows are impossible, {where}"
    if not wrong.any():
        return
    longest = data.lengths.max()
    change, limit, cut = changes(group, at), data.lengths[of] == longest, ~data.terminated[of]
    yield f"of these {limit[wrong].mean():.0%} are in trajectories of {longest:,} steps (of all: {limit.mean():.0%}),"
    yield f"{cut[wrong].mean():.0%} in trajectories without a terminal (of all: {cut.mean():.0%});"
    yield f"states change by {change[wrong].mean():.2f} deviations a step there (all rows: {change.mean():.2f})"
    worst = counts.argsort()[::-1][: min(SHOWN, np.count_nonzero(counts))]
    yield from table([_line(data, int(number), int(counts[number]), q, beyond) for number in worst]).splitlines()


def _line(data, number, count, q, beyond):
    """Of the table: a trajectory, and the Q on it that is the furthest off."""
    own = slice(data.starts[number], data.ends[number] + 1)
    return {
        "trajectory": number,
        "steps": int(data.lengths[number]),
        "end": "terminal" if data.terminated[number] else "cut",
        "impossible": count,
        "Q up to": f"{q[own][beyond[own].argmax()]:,.0f}",
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", help="what rewind.load takes")
    parser.add_argument("--algorithm", default="td3_bc", choices=["td3_bc", "iql"])
    parser.add_argument("--sampler", default="tr")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, help="folder for checkpoints; one that is there goes on")
    given = parser.parse_args(arguments)
    data = load(given.dataset)
    runs = make_runs(data, given.algorithm, samplers=[given.sampler], seeds=[given.seed])

    looked = []

    def look(group, step):
        looked.append(step)
        print("\n".join(lines(group)))
        return {}

    resume = given.out is not None and given.out.exists()
    train(data, runs, look, steps=given.steps, out=given.out, resume=resume)
    if not looked:
        print(f"{given.out} has been trained so far already: more --steps, or another folder")


if __name__ == "__main__":
    main()
