"""Networks start and answer as those of the published code."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("equinox")
pytest.importorskip("optax")

import equinox as eqx
import jax
import jax.numpy as jnp

from rewind.agents import EDAC
from rewind.agents.networks import MLP, GaussianPolicy, TanhGaussianPolicy, value

SIZES = [6, 64, 64, 1]


def spread_is(array, bound):
    """Uniform in +-bound: within it, and filling it."""
    assert np.abs(array).max() <= bound
    np.testing.assert_allclose(np.std(array), bound / math.sqrt(3), rtol=0.15)


def test_layers_start_as_torch_linear():
    network = MLP(jax.random.key(0), SIZES, ensemble=5)
    for weight, bias in zip(network.weights, network.biases, strict=True):
        bound = 1 / math.sqrt(weight.shape[1])
        assert weight.shape[0] == bias.shape[0] == 5
        spread_is(weight, bound)
        assert np.abs(bias).max() <= bound


def test_edac_starts_as_published():
    state = EDAC(11, 3, ensemble=10).init(jax.random.key(0), batch_size=4)
    actor, critics = state.actor.params.heads, state.critics.params
    for network, bound in ((actor, 1e-3), (critics, 3e-3)):
        assert all((bias == jnp.float32(0.1)).all() for bias in network.biases[:-1])
        spread_is(network.weights[-1], bound)
        assert np.abs(network.biases[-1]).max() <= bound
        spread_is(network.weights[0], 1 / math.sqrt(network.weights[0].shape[-2]))
    assert len(actor.weights) == len(critics.weights) == 4
    assert state.log_alpha.params == 0


def test_an_ensemble_is_its_members():
    network = MLP(jax.random.key(0), SIZES, ensemble=3)
    observations, actions = np.random.default_rng(0).normal(size=(2, 7, 3)).astype(np.float32)
    together = value(network, observations, actions)
    assert together.shape == (3, 7)
    for member in range(3):
        alone = value(jax.tree.map(lambda leaf, m=member: leaf[m], network), observations, actions)
        np.testing.assert_allclose(together[member], alone, rtol=1e-5, atol=1e-6)
    assert not np.allclose(together[0], together[1])


def test_members_of_an_ensemble_start_apart():
    network = MLP(jax.random.key(0), SIZES, ensemble=2)
    for leaf in jax.tree.leaves(network):
        assert (leaf[0] != leaf[1]).all()


def test_layer_norm_comes_after_each_hidden_activation():
    network = MLP(jax.random.key(0), SIZES, ensemble=3, layer_norm=True)
    assert network.weights[0].tolist() == MLP(jax.random.key(0), SIZES, ensemble=3).weights[0].tolist()
    moved = jax.tree.map(lambda leaf: leaf + 0.3 * jax.random.normal(jax.random.key(leaf.size), leaf.shape), network)
    x = np.random.default_rng(0).normal(size=(7, 6)).astype(np.float32)
    for member in range(3):
        alone = jax.tree.map(lambda leaf, m=member: np.asarray(leaf[m]), moved)
        h = x
        for weight, bias, scale, shift in zip(*(getattr(alone, f)[:2] for f in vars(alone)), strict=True):
            h = np.maximum(h @ weight + bias, 0)
            h = scale * (h - h.mean(1, keepdims=True)) / np.sqrt(h.var(1, keepdims=True) + 1e-6) + shift
        np.testing.assert_allclose(moved(x)[member], h @ alone.weights[2] + alone.biases[2], rtol=1e-4, atol=1e-4)
    dead = jax.tree.map(jnp.zeros_like, network)  # no unit answers: the variance is 0
    assert all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(jax.grad(lambda net: net(x).sum())(dead)))


@pytest.mark.parametrize("scale", [0.5, 30.0])  # 30: tanh is 1 in float32, its log-slope -60
def test_log_densities_of_squashed_actions_equal_torch(scale):
    torch = pytest.importorskip("torch")
    from torch.distributions import Independent, Normal, TanhTransform, TransformedDistribution

    policy = TanhGaussianPolicy(jax.random.key(0), [4, 8, 2])
    policy = jax.tree.map(lambda leaf: scale * jax.random.normal(jax.random.key(leaf.size), leaf.shape), policy)
    observations, noise = np.random.default_rng(0).normal(size=(2, 50, 4)).astype(np.float32)
    noise = noise[:, :2]
    actions, log_prob = policy.sample(observations, noise)

    mean, log_std = np.split(np.asarray(policy.heads(observations), np.float64), 2, axis=1)
    assert scale < 1 or (log_std.min() < -5 and log_std.max() > 2)  # both clips are reached
    mean, std = torch.tensor(mean), torch.tensor(log_std).clamp(-5, 2).exp()
    squashed = TransformedDistribution(Independent(Normal(mean, std), 1), TanhTransform(cache_size=1))
    before = mean + std * torch.tensor(noise)
    np.testing.assert_allclose(actions, torch.tanh(before), atol=1e-5)
    drawn = squashed.transforms[0](before)  # cached, so that its inverse is exact
    np.testing.assert_allclose(log_prob, squashed.log_prob(drawn), rtol=1e-5, atol=1e-3 if scale > 1 else 1e-4)
    gradient = jax.grad(lambda policy: policy.sample(observations, noise)[1].sum())(policy)
    assert all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


@pytest.mark.parametrize("log_std", [-30.0, -1.0, 5.0])  # the outer two are clipped, to -20 and 2
def test_log_densities_of_gaussian_actions_equal_torch(log_std):
    torch = pytest.importorskip("torch")
    from torch.distributions import Independent, Normal

    policy = GaussianPolicy(jax.random.key(0), [4, 8, 2])
    assert (policy.log_std == 0).all()
    policy = eqx.tree_at(lambda policy: policy.log_std, policy, jnp.full(2, log_std))
    observations, actions = np.random.default_rng(0).uniform(-1, 1, size=(2, 50, 4)).astype(np.float32)
    mean = np.tanh(np.asarray(policy.mean(observations), np.float64))
    std = torch.full((2,), log_std, dtype=torch.float64).clamp(-20, 2).exp()
    expected = Independent(Normal(torch.tensor(mean), std), 1).log_prob(torch.tensor(actions[:, :2]))
    np.testing.assert_allclose(policy.log_prob(observations, actions[:, :2]), expected, rtol=1e-5)
