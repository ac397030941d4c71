"""An update equals one in plain PyTorch, for one-step, SARSA and weighted targets."""

from __future__ import annotations

from itertools import zip_longest

import numpy as np
import pytest

pytest.importorskip("equinox")
pytest.importorskip("torch")

import jax
from tests.agents.cases import batch_of, make, start
from tests.agents.torch_reference import REFERENCES

from rewind.agents.networks import MLP, GaussianPolicy, TanhGaussianPolicy, draw_noise

UPDATES = 3
CASES = [
    *[(name, {"beta": beta}) for name in ("td3_bc", "iql", "edac") for beta in (1.0, 0.0, 0.6)],
    *[("td3_bc", {"beta": beta, "period": 1}) for beta in (1.0, 0.0, 0.6)],
    *[(name, {"beta": 0.6, "layer_norm": True}) for name in ("td3_bc", "iql", "edac")],
    *[(name, {"beta": 0.6, "window": 4}) for name in ("td3_bc", "iql", "edac")],
    *[("rebrac", options) for options in ({"beta": 1.0}, {"beta": 0.6}, {"beta": 0.6, "window": 4})],
    *[("dqn", options) for options in ({"beta": 1.0}, {"beta": 0.6}, {"beta": 0.6, "window": 4})],
    ("discrete_iql", {"beta": 0.6}),
    ("discrete_bc", {}),
    ("bc", {}),
]


def as_torch(tree, member=None):
    """The arrays of a network, or of its moments, in the order and layout of torch's parameters."""
    if isinstance(tree, GaussianPolicy):
        return [np.asarray(tree.log_std), *as_torch(tree.mean)]
    if isinstance(tree, TanhGaussianPolicy):
        return as_torch(tree.heads)
    if not isinstance(tree, MLP):
        return [np.asarray(tree)]
    if member is None and tree.biases[0].ndim == 2:
        return [x for member in range(len(tree.biases[0])) for x in as_torch(tree, member)]
    layers = zip_longest(tree.weights, tree.biases, tree.scales, tree.shifts)
    pick = (lambda x: np.asarray(x)) if member is None else (lambda x: np.asarray(x[member]))
    return [pick(x).T for layer in layers for x in layer if x is not None]


def close(ours, theirs, what):
    """Equal to float32 accuracy, measured against the largest number of all arrays: sums of it may cancel."""
    theirs = [np.asarray(x) for x in theirs]
    scale = max(np.abs(x).max() for x in theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 * scale, err_msg=what)


def noise_of(agent, state, batch):
    if not hasattr(state, "key"):
        return None
    shape = (1 + agent.window, *batch.actions.shape[1:])
    if hasattr(agent, "policy_noise"):
        shape = (*batch.successors.shape[:-1], batch.actions.shape[-1])
    return np.asarray(draw_noise(state.key, shape)[1])


@pytest.mark.parametrize(("name", "options"), CASES)
def test_updates_equal_those_of_plain_pytorch(name, options):
    agent = make(name, **options)
    state = start(agent)
    reference = REFERENCES[name](agent, state)
    update = jax.jit(type(agent).update)
    for number in range(UPDATES):
        batch, before = batch_of(agent, seed=number), state
        state, metrics, uncertainty = update(agent, before, batch)
        expected, spread = reference.update(batch.split(agent.period), noise_of(agent, before, batch))

        assert metrics.keys() == expected.keys()
        close(metrics.values(), [expected[metric] for metric in metrics], "metrics")
        close(uncertainty, spread, "uncertainty")
        for part, optimiser in reference.optimisers.items():
            same_learner(getattr(before, part), getattr(state, part), optimiser, agent.period, part)
        same_targets(state, reference)


def same_learner(before, after, optimiser, period, part):
    parameters = optimiser.param_groups[0]["params"]
    first, first_before = as_torch(after.adam.mu), as_torch(before.adam.mu)
    if part != "critics" or period == 1:  # Adam's first moment shows the gradient of its last step
        gradients = [(new.astype(np.float64) - 0.9 * old) / 0.1 for new, old in zip(first, first_before, strict=True)]
        close(gradients, [p.grad for p in parameters], f"gradients of {part}")
    remembered = [optimiser.state[p] for p in parameters]
    close(first, [moments["exp_avg"] for moments in remembered], f"first moments of {part}")
    close(as_torch(after.adam.nu), [m["exp_avg_sq"] for m in remembered], f"second moments of {part}")
    close(as_torch(after.params), [p.detach() for p in parameters], f"parameters of {part}")


def same_targets(state, reference):
    for part in ("target_actor", "target_critics"):
        if hasattr(state, part):
            networks = getattr(reference, part)
            networks = networks if isinstance(networks, list) else [networks]
            theirs = [p.detach() for network in networks for p in network.parameters()]
            close(as_torch(getattr(state, part)), theirs, part)
    if hasattr(state, "carry"):
        close(state.carry, reference.carry, "carry")
