"""`rewind bench determinism` tells equal trainings from others."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from rewind.errors import UsageError
from rewind_lab.bench import determinism
from rewind_lab.bench.determinism import BenchDeterminism, difference


def finished(folder, weight, loss=1.0):
    """What a training leaves, as far as it is compared: two policies and their metrics."""
    for number in range(2):
        (folder / f"policies/{number:03d}").mkdir(parents=True)
        np.savez(folder / f"policies/{number:03d}/policy.npz", weight=np.array([1.0, weight], np.float32))
    (folder / "group-0").mkdir()
    records = [{"run": 0, "step": 100, "alive": True, "loss": loss}, {"run": 0, "step": 100, "td_error": weight}]
    (folder / "group-0/metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def test_one_bit_of_one_policy_is_a_difference(tmp_path):
    one, same = finished(tmp_path / "one", 0.5), finished(tmp_path / "same", 0.5)
    assert difference(one, same) == {"equal": True, "metrics equal": True, "largest difference": 0.0}
    next_float = float(np.nextafter(np.float32(0.5), np.float32(1)))
    other = finished(tmp_path / "other", next_float, loss=1.5)
    assert difference(one, other) == {"equal": False, "metrics equal": False, "largest difference": next_float - 0.5}


def test_steps_that_cannot_be_halved_at_a_block_are_refused():
    with pytest.raises(UsageError, match=r"--steps is 300.*multiple of 200"):
        BenchDeterminism(steps=300).run()


def test_what_is_stopped_in_the_middle_is_the_same_training(tmp_path, monkeypatch):
    """IQL's rate falls over all steps: those of the whole, not of the half."""
    commands = []

    def run(command, **_):
        commands.append(command)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(determinism.subprocess, "run", run)
    bench = BenchDeterminism(algorithm="iql", steps=400)
    for steps in (200, 400):
        bench._train(tmp_path, "resumed", steps)
    half, whole = ([word for word in command if word not in ("200", "400")] for command in commands)
    assert half == whole and "total_steps=400.0" in half


@pytest.mark.long
def test_training_again_and_resuming_give_the_same_bits(tmp_path):
    for package in ("jax", "equinox", "optax", "tyro"):
        pytest.importorskip(package)
    figures = BenchDeterminism(seeds=1, steps=200, size=2000).measure(tmp_path)
    for way in ("trained again", "stopped in the middle and resumed"):
        assert figures[way] == {"equal": True, "metrics equal": True, "largest difference": 0.0}
