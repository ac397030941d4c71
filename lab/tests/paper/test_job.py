"""One group: from its runs to its rows of results."""

from dataclasses import replace

import numpy as np
import pytest

for package in ("jax", "equinox", "optax", "gymnasium"):
    pytest.importorskip(package)

from lab.tests.paper.small import STEPS
from tests.helpers import make

from rewind.data import save_npz
from rewind.rebuilt.point import wander
from rewind.run_spec import RunSpec
from rewind.training import engine_run
from rewind_lab.paper.clock import Deadline
from rewind_lab.paper.job import JobOptions, train_group
from rewind_lab.paper.results import index_of


def rows_of(specs, folder, options):
    trained = train_group(specs, folder, Deadline(), options)
    assert trained.wait(Deadline())
    return trained.rows()


@pytest.mark.long
def test_data_sets_are_trained_together_as_alone(tmp_path):
    """Two mazes in one program. What each run sees, and where it plays: tests/training/test_evaluation_aside.py."""
    specs = []
    for maze, wanted in (("umaze", 40), ("medium", 60)):
        save_npz(wander(maze, wanted), tmp_path / f"{maze}.npz")
        more = {"settings": (("hidden", (8,)),), "batch_size": 8, "steps": STEPS, "episodes": 2}
        specs += [RunSpec(str(tmp_path / f"{maze}.npz"), sampler=name, **more) for name in ("tr", "lower_uqm_unc")]
    options = JobOptions(points=2, progress=False)
    together = rows_of(specs, tmp_path / "together", options)
    alone = [row for at in (0, 2) for row in rows_of(specs[at : at + 2], tmp_path / str(at), options)]
    shared = ("run", "dataset", "step", "evaluation_seed", "data_fingerprint")
    assert [[row[name] for name in shared] for row in together] == [[row[name] for name in shared] for row in alone]
    assert len({row["data_fingerprint"] for row in together}) == 2 and {row["runs_together"] for row in together} == {4}
    logged = [row for row in together if row["q"] is not None]
    assert logged and all(row["q_excess"] is not None and 0 <= row["q_excess"] != row["q"] for row in logged)
    for name in ("q", "return", "length"):
        values = [[row[name] for row in rows if row["step"] == STEPS] for rows in (together, alone)]
        np.testing.assert_allclose(*values, rtol=1e-4)
    (group,) = index_of(together).groups.values()
    assert set(group.data) == {spec.dataset for spec in specs}


def test_rebuilt_data_is_trained_with_the_settings_of_the_set_it_stands_for():
    data = make([9] * 20, known=1.0)
    antmaze, hopper = (replace(data, name=f"rewind/{name}-v0") for name in ("antmaze-medium-play", "hopper-medium"))
    run = engine_run(RunSpec(antmaze.name), antmaze)
    assert float(run.agent.alpha) == 36.0 and run.view.rewards == "minus_one" and run.view.normalise_states
    run = engine_run(RunSpec(antmaze.name, settings=(("bounded", True),)), antmaze)
    lowest, highest = antmaze.rewards.min() - 1, antmaze.rewards.max() - 1
    assert float(run.agent.target_low) == pytest.approx(100 * lowest, rel=1e-5)
    assert float(run.agent.target_high) == pytest.approx(max(100 * highest, highest), rel=1e-5)
    run = engine_run(RunSpec(hopper.name, "iql", steps=1000), hopper)
    assert run.view.rewards == "return_range" and float(run.agent.total_steps) == 1000.0
