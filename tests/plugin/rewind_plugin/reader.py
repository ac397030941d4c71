"""A reader of text files: one line `observation action reward` for each step, an empty line between trajectories."""

from pathlib import Path

import numpy as np

from rewind.data import from_episodes
from rewind.data.load import Reader


def read(path):
    blocks = Path(path).read_text(encoding="utf-8").strip().split("\n\n")
    episodes = []
    for block in blocks:
        rows = np.array([line.split() for line in block.splitlines()], np.float32)
        steps = {"observations": rows[:, :1], "actions": rows[:, 1:2], "rewards": rows[:, 2]}
        episodes.append({**steps, "terminated": True})
    return from_episodes(episodes, name="corridor")


READER = Reader(read, suffixes=(".steps",))
