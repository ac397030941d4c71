"""Small definitions on small data, and rows of results, for the tests of the paper's runner."""

from __future__ import annotations

import json

from rewind.data import save_npz
from rewind.rebuilt.point import wander

STEPS = 400


def write_definitions(folder, steps=STEPS):
    """Six runs of one program, in a folder with their data; the path of the file that defines them."""
    save_npz(wander("umaze", 40), folder / "points.npz")
    points = json.dumps(str(folder / "points.npz"))
    path = folder / "definitions.toml"
    path.write_text(f"""
[defaults]
steps = {steps}
batch_size = 8
episodes = 2
points = 4
seeds = {{ other = 2 }}
settings = {{ hidden = [[8]] }}
[tables.sampling]
title = "Three samplers"
[[tables.sampling.parts]]
datasets = [{points}]
samplers = ["baseline", "tr", "lower_uqm_unc"]
[tables.again]
title = "Some of them again"
[[tables.again.parts]]
datasets = [{points}]
betas = [1.0]
""")
    return path


def options():
    """Of a runner of those runs."""
    from rewind_lab.paper.job import JobOptions
    from rewind_lab.paper.runner import RunnerOptions

    job = JobOptions(4, checkpoint_minutes=0, progress=False)
    return RunnerOptions(runs_per_group=3, device="cpu", job=job)


def figures(out):
    """The results in a folder, without what is measured."""
    from rewind_lab.paper.results import read_rows

    measured = ("seconds_per_update", "group_seconds", "finished")
    return [{name: value for name, value in each.items() if name not in measured} for each in read_rows(out)]


def row(run="a", step=1, group="g", finished="2026-01-01", **more):
    """A row of results."""
    own = {
        "run": run, "group": group, "dataset": "hopper-medium-v2", "suite": "mujoco", "algorithm": "td3_bc",
        "sampler": "tr", "beta": 1.0, "settings": "{}", "reuse": "on_finish", "rank_exponent": 1.0, "stagger": False,
        "block": 1000, "batch_size": 256, "steps": 1_000_000, "seed": 0, "step": step, "score": 50.0, "return": 1500.0,
        "length": 400.0, "episodes": 10, "evaluation_seed": 4_000_000_000, "alive": True, "q": -50.0,
        "seconds_per_update": 1e-5,
        "runs_together": 2, "group_seconds": 30.0, "device": "gpu NVIDIA H200", "versions": "{}",
        "data_fingerprint": "x", "finished": finished,
    }  # fmt: skip
    return {**own, **more}
