"""Another package adds an agent, a priority, a reader and an environment; `rewind train` uses them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.plugin.install import install

pytest.importorskip("equinox")
pytest.importorskip("tyro")
pytest.importorskip("gymnasium")

HERE = Path(__file__).parent


def rewind(folder, *arguments):
    """Run the command with the plug-in installed."""
    path = os.pathsep.join([str(folder), str(HERE), *sys.path])
    command = [sys.executable, "-m", "rewind.cli", *arguments]
    environment = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def write_steps(path):
    random = np.random.default_rng(0)
    blocks = []
    for length in random.integers(3, 8, 12):
        steps = random.uniform(-1, 1, (length, 3))
        blocks.append("\n".join(" ".join(f"{number:.4f}" for number in step) for step in steps))
    path.write_text("\n\n".join(blocks))


def test_one_of_each_is_used_by_rewind_train(tmp_path):
    install(tmp_path)
    write_steps(tmp_path / "data.steps")
    ended = rewind(
        tmp_path, "train", "--dataset", "data.steps", "--algorithm", "mean_action", "--samplers", "last_reward", "tr",
        "--env", "Corridor-v0", "--episodes", "2", "--steps", "20", "--batch-size", "8", "--set", "rate=0.02",
        "--out", "out",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    results = json.loads((tmp_path / "out/results.json").read_text())
    assert results["data"]["name"] == "corridor" and results["environment"] == "Corridor-v0"
    first, second = json.loads((tmp_path / "out/config.json").read_text())["config"]["runs"]
    assert (first["agent"]["class"], first["agent"]["rate"]) == ("MeanAction", 0.02)
    assert (first["sampler"]["name"], second["sampler"]["name"]) == ("last_reward", "tr")
    assert len(results["runs"]) == 2 and all(np.isfinite(run["score"]) for run in results["runs"])
    assert (tmp_path / "out/policies/000/policy.npz").exists()


def test_a_misspelt_name_gets_the_nearest_of_theirs(tmp_path):
    install(tmp_path)
    write_steps(tmp_path / "data.steps")
    ended = rewind(tmp_path, "train", "--dataset", "data.steps", "--algorithm", "mean_actions", "--env", "none")
    assert ended.returncode == 2
    assert ended.stderr.startswith("rewind: unknown algorithm 'mean_actions': did you mean 'mean_action'?")
