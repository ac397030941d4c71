"""Behaviour policies: the file's layout, how actions are drawn, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from rewind import DataError, UsageError
from rewind.rebuilt.policy import BehaviourPolicy, load_behaviour
from tests.rebuilt.policies import random_policy

SHARED = Path(__file__).parents[3] / "shared" / "data"
ADROIT = {"pen": (45, 24), "door": (39, 28), "hammer": (46, 26), "relocate": (39, 30)}


def arrays_of(observations=5, actions=2, hidden=4, seed=0):
    stream = np.random.default_rng(seed)
    shapes = {"w0": (observations, hidden), "b0": (hidden,), "w1": (hidden, actions), "b1": (actions,)}
    shapes["log_std"] = (actions,)
    return {name: stream.standard_normal(shape) for name, shape in shapes.items()}


def write(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_a_gaussian_policy_is_its_formula_in_both_orientations_of_its_weights(tmp_path):
    arrays = arrays_of() | {"in_shift": np.arange(5.0), "in_scale": np.arange(1.0, 6.0)}
    arrays |= {"out_shift": np.array([0.1, -0.2]), "out_scale": np.array([0.5, 0.25])}
    observations, noise = np.random.default_rng(1).standard_normal((2, 7, 5))
    x = (observations - arrays["in_shift"]) / (arrays["in_scale"] + 1e-8)
    x = np.tanh(x @ arrays["w0"] + arrays["b0"]) @ arrays["w1"] + arrays["b1"]
    mean = x * arrays["out_scale"] + arrays["out_shift"]
    expected = np.clip(mean + np.exp(arrays["log_std"]) * noise[:, :2], -1, 1)
    transposed = arrays | {name: arrays[name].T for name in ("w0", "w1")}
    for stored in (arrays, transposed):
        policy = load_behaviour(write(tmp_path / "p.npz", **stored))
        np.testing.assert_allclose(policy.sample(observations, noise[:, :2]), expected, atol=1e-6)
        np.testing.assert_allclose(policy.mode(observations), np.clip(mean, -1, 1), atol=1e-6)
    assert np.abs(expected).max() == 1.0  # the clip was tried


def test_a_squashed_policy_is_its_formula_and_comes_back_from_half_precision(tmp_path):
    policy = random_policy(6, 3)
    policy.save(tmp_path / "p.npz")
    again = load_behaviour(tmp_path / "p.npz")
    assert (again.observation_size, again.action_size, again.squashed) == (6, 3, True)
    assert again.activation == "relu" and again.meta == {"seed": 0} and len(again.digest) == 64
    assert again.weights[0].dtype == np.float32
    observations = 30.0 * np.random.default_rng(0).standard_normal((50, 6))  # far enough for log_std to be clipped
    x = np.maximum(observations.astype(np.float32) @ again.weights[0] + again.biases[0], 0.0)
    x = x @ again.weights[1] + again.biases[1]
    log_std = np.clip(x[:, 3:], -5, 2)
    assert (log_std == -5).any() and (log_std == 2).any()
    noise = np.random.default_rng(1).standard_normal((50, 3))
    expected = np.tanh(x[:, :3] + np.exp(log_std) * noise)
    np.testing.assert_allclose(again.sample(observations, noise), expected, atol=2e-5)
    np.testing.assert_allclose(again.mode(observations), policy.mode(observations), atol=0.05)


@pytest.mark.parametrize("task", ADROIT)
def test_the_adroit_experts_are_read_as_they_are(task):
    path = SHARED / f"adroit-{task}-expert-policy.npz"
    if not path.is_file():
        pytest.skip("the shared data is not here")
    policy = load_behaviour(path)
    assert (policy.observation_size, policy.action_size) == ADROIT[task]
    assert policy.activation == "tanh" and not policy.squashed


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"w0": None}, "missing w0"),
        ({"b1": None}, "missing b1"),
        ({"log_std": None}, r"missing log_std \(or squashed = 1\); the file has: b0, b1, w0, w1"),
        ({"squashed": np.array(1)}, "both log_std and squashed"),
        ({"w1": np.zeros((3, 2))}, r"do not fit each other: w0 \(5, 4\), w1 \(3, 2\)"),
        ({"b0": np.zeros(3)}, "do not fit"),
        ({"w0": np.full((5, 4), np.nan)}, "w0 contains NaN"),
        ({"log_std": np.zeros(3)}, r"log_std has shape \(3,\); expected \(2,\)"),
        ({"in_shift": np.zeros(4)}, r"in_shift has shape \(4,\); expected \(5,\)"),
        ({"activation": np.array("gelu")}, "activation is 'gelu'; expected one of tanh, relu"),
        ({"meta": np.array("{")}, "meta is invalid JSON"),
        ({"w0": np.array(["a"])}, "w0 has dtype"),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_what_is_wrong(tmp_path, change, complaint):
    arrays = {name: value for name, value in (arrays_of() | change).items() if value is not None}
    with pytest.raises(DataError, match=f"p.npz cannot be used: .*{complaint}"):
        load_behaviour(write(tmp_path / "p.npz", **arrays))


def test_no_file_no_archive_and_pickles_are_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read: No such file"):
        load_behaviour(tmp_path / "p.npz")
    (tmp_path / "p.npz").write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"not a readable \.npz file: not an archive"):  # not: unpickle it
        load_behaviour(tmp_path / "p.npz")
    np.savez(tmp_path / "p.npz", w0=np.array([{}], dtype=object))
    with pytest.raises(DataError, match=r"not a readable \.npz"):
        load_behaviour(tmp_path / "p.npz")


def test_an_odd_number_of_outputs_is_no_squashed_policy():
    with pytest.raises(DataError, match="the last layer has 3 outputs"):
        BehaviourPolicy([np.zeros((2, 3))], [np.zeros(3)])


def test_observations_of_another_size_are_refused():
    with pytest.raises(UsageError, match=r"shape \(2, 5\); this policy takes \(rows, 6\)"):
        random_policy(6, 3).mode(np.zeros((2, 5)))
