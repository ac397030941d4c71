"""Small policies with random weights, and short recipes to use them in."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from rewind.rebuilt import recipes
from rewind.rebuilt.policy import BehaviourPolicy

SIZES = {"hopper": (11, 3), "halfcheetah": (17, 6), "walker2d": (17, 6), "ant": (29, 8)}


def random_policy(observations, actions, seed=0, hidden=8):
    stream = np.random.default_rng(seed)
    sizes = [observations, hidden, 2 * actions]
    weights = [stream.standard_normal(shape) / np.sqrt(shape[0]) for shape in pairwise(sizes)]
    return BehaviourPolicy(weights, [np.zeros(size) for size in sizes[1:]], "relu", meta={"seed": seed})


def write_policies(folder, task, *names):
    """One file for each name, each another policy."""
    folder.mkdir(exist_ok=True)
    for seed, name in enumerate(names):
        (folder / name).parent.mkdir(exist_ok=True)
        random_policy(*SIZES[task], seed=seed).save(folder / f"{name}.npz")
    return folder


def shorten(monkeypatch, name, **changes):
    """Put a smaller recipe into the place of `name`: fewer episodes together, and shorter ones."""
    changed = dict(recipes.recipes())
    changed[name] = replace(changed[name], **changes)
    monkeypatch.setattr(recipes, "recipes", lambda: changed)
