"""`rewind train --dataset rewind/...`: built if missing, trained on as the paper does, evaluated where it belongs."""

import json

import pytest

for package in ("jax", "equinox", "optax", "tyro", "gymnasium", "mujoco"):
    pytest.importorskip(package)

from rewind.cli import main
from rewind.data import load
from rewind.evaluation.scoring import find_environment
from rewind.rebuilt import orders
from rewind.training import make_runs
from tests.rebuilt.policies import shorten, write_policies

ANT, POINT = "rewind/antmaze-medium-play-v0", "rewind/pointmaze-umaze-v0"


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    monkeypatch.setenv("REWIND_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(orders, "POLICIES", write_policies(tmp_path / "policies", "ant", "ant"))
    for name in (ANT, POINT):
        shorten(monkeypatch, name, width=4, horizon=40, size=300)


def test_a_rebuilt_set_is_trained_on_with_the_papers_settings_for_the_set_whose_name_it_bears(tmp_path, capsys):
    (run,) = make_runs(load(ANT), "td3_bc", betas=[None])
    assert float(run.agent.alpha) == 36.0 and float(run.agent.beta) == pytest.approx(0.98)
    assert run.view.rewards == "minus_one" and run.view.normalise_states
    (run,) = make_runs(load(ANT), "iql")
    assert float(run.agent.expectile) == pytest.approx(0.9) and float(run.agent.temperature) == 10.0


def test_what_is_known_of_an_environment_of_our_own_is_in_the_notes():
    point, ant = load(POINT), load(ANT)
    assert find_environment("auto", point.name, point.notes) == "rewind/PointMaze-umaze-v0"
    assert find_environment("auto", ant.name, ant.notes) == ANT


def test_train_builds_trains_and_evaluates(tmp_path, capfd):
    main(
        [
            "train", "--dataset", ANT, "--algorithm", "bc", "--hidden", "8", "--batch-size", "8", "--steps", "2",
            "--episodes", "1", "--evaluate-every", "2", "--out", str(tmp_path / "run"), "--device", "cpu",
        ]
    )  # fmt: skip
    output = capfd.readouterr()
    assert f"building {ANT}" in output.err and f"evaluated on {ANT}" in output.out
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["environment"] == ANT and results["runs"][0]["score"] is not None
    assert results["data"]["name"] == ANT and results["data"]["notes"]["digest"] == load(ANT).digest
