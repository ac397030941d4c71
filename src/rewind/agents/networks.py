"""The networks of all agents, and how they learn. Every leaf of a module is a parameter."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

Array = jax.Array
Scalar = float | Array
Params = TypeVar("Params")

_fused = ContextVar("fused", default=False)


@contextmanager
def fused_networks(wanted: bool) -> Iterator[None]:
    """Networks that are compiled meanwhile become a few kernels (rewind.agents.fused) where they fit."""
    token = _fused.set(wanted)
    try:
        yield
    finally:
        _fused.reset(token)


class MLP(eqx.Module):
    """Linear layers with ReLU between, or `ensemble` such stacked: one matmul per layer serves all.

    With layer norm, each hidden layer is h = scale * (r - mean r) / sqrt(var r + 1e-6) + shift, r after its ReLU.
    """

    weights: tuple[Array, ...]  # each ([ensemble,] in, out)
    biases: tuple[Array, ...]  # each ([ensemble,] out)
    scales: tuple[Array, ...]  # each ([ensemble,] out), of the hidden layers; empty without layer norm
    shifts: tuple[Array, ...]

    def __init__(
        self,
        key: Array,
        sizes: Sequence[int],
        *,
        ensemble: int | None = None,
        hidden_bias: float | None = None,
        head_bound: float | None = None,
        layer_norm: bool = False,
    ) -> None:
        """Weights and biases uniform in +-1/sqrt(fan_in), as torch's Linear.

        hidden_bias: the constant all hidden biases start at instead
        head_bound: the bound of the last layer's weights and biases instead
        """
        lead = () if ensemble is None else (ensemble,)
        weights, biases = [], []
        for layer, (fan_in, fan_out) in enumerate(pairwise(sizes)):
            head = layer == len(sizes) - 2
            bound = head_bound if head and head_bound is not None else 1 / math.sqrt(fan_in)
            key, weight_key, bias_key = jax.random.split(key, 3)
            weights.append(jax.random.uniform(weight_key, (*lead, fan_in, fan_out), minval=-bound, maxval=bound))
            if hidden_bias is not None and not head:
                biases.append(jnp.full((*lead, fan_out), hidden_bias, jnp.float32))
            else:
                biases.append(jax.random.uniform(bias_key, (*lead, fan_out), minval=-bound, maxval=bound))
        self.weights, self.biases = tuple(weights), tuple(biases)
        normed = self.biases[:-1] if layer_norm else ()
        self.scales, self.shifts = tuple(map(jnp.ones_like, normed)), tuple(map(jnp.zeros_like, normed))

    def __call__(self, x: Array) -> Array:
        """(rows, in) -> ([ensemble,] rows, out)"""
        if _fused.get() and (result := self._in_one_kernel(x)) is not None:
            return result
        for layer, (weight, bias) in enumerate(zip(self.weights[:-1], self.biases[:-1], strict=True)):
            x = jax.nn.relu(x @ weight + bias[..., None, :])
            if self.scales:
                x = self.scales[layer][..., None, :] * _standardised(x) + self.shifts[layer][..., None, :]
        return x @ self.weights[-1] + self.biases[-1][..., None, :]

    def member(self, index: int) -> "MLP":
        """One network of an ensemble, or one of each of several stacked ensembles."""
        weights = tuple(weight[..., index, :, :] for weight in self.weights)
        others = (tuple(leaf[..., index, :] for leaf in leaves) for leaves in (self.biases, self.scales, self.shifts))
        parts = (weights, *others)
        alone: MLP = eqx.tree_at(lambda net: (net.weights, net.biases, net.scales, net.shifts), self, parts)
        return alone

    def _in_one_kernel(self, x: Array) -> Array | None:
        """The same, or None where a kernel cannot do it."""
        from rewind.agents import fused  # Pallas: for those who want it

        norm, outputs = bool(self.scales), self.biases[-1].shape[-1]
        sizes = [*(weight.shape[-2] for weight in self.weights), outputs]
        if x.ndim != 2 or not fused.fits(sizes, len(x)):
            return None
        alone = self.weights[0].ndim == 2
        params = tuple(leaf[None] if alone else leaf for leaf in self._folded())
        result = fused.mlp(params, x, norm, jax.default_backend() == "cpu")
        return result[0] if alone else result

    def _folded(self) -> list[Array]:
        """w1, b1, w2, b2 ...: scales and shifts of layer norm have become part of the layer behind them."""
        leaves = [self.weights[0], self.biases[0]]
        for layer, (weight, bias) in enumerate(zip(self.weights[1:], self.biases[1:], strict=True)):
            if self.scales:
                bias = bias + (self.shifts[layer][..., None] * weight).sum(-2)
                weight = self.scales[layer][..., None] * weight
            leaves += [weight, bias]
        return leaves


def _standardised(x: Array) -> Array:
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-6)


def value(critic: MLP, observations: Array, actions: Array) -> Array:
    """Q(s, a) of one critic or of an ensemble: ([ensemble,] rows)"""
    return critic(jnp.concatenate([observations, actions], axis=-1))[..., 0]


class GaussianPolicy(eqx.Module):
    """Normal(tanh(mean(s)), exp(log_std)) with one log_std for all states (IQL)."""

    mean: MLP
    log_std: Array  # (action,)

    def __init__(self, key: Array, sizes: Sequence[int]) -> None:
        self.mean = MLP(key, sizes)
        self.log_std = jnp.zeros(sizes[-1])

    def log_prob(self, observations: Array, actions: Array) -> Array:
        """log pi(a | s), (rows,); actions in units of max_action."""
        log_std = jnp.clip(self.log_std, -20.0, 2.0)
        return _normal_log_prob((actions - jnp.tanh(self.mean(observations))) * jnp.exp(-log_std), log_std)


class TanhGaussianPolicy(eqx.Module):
    """tanh(Normal(mean(s), exp(log_std(s)))), both heads in one last layer (EDAC)."""

    heads: MLP  # (rows, 2 * action): mean, then log_std

    def __init__(self, key: Array, sizes: Sequence[int]) -> None:
        self.heads = MLP(key, [*sizes[:-1], 2 * sizes[-1]], hidden_bias=0.1, head_bound=1e-3)

    @property
    def mean(self) -> MLP:
        """The network of the mean alone, of one policy or of several stacked."""
        weight, bias = self.heads.weights[-1], self.heads.biases[-1]
        size = bias.shape[-1] // 2
        last = (weight[..., :size], bias[..., :size])
        alone: MLP = eqx.tree_at(lambda heads: (heads.weights[-1], heads.biases[-1]), self.heads, last)
        return alone

    def __call__(self, observations: Array) -> Array:
        """The mean, whose tanh is the deterministic action, (rows, action)."""
        return jnp.split(self.heads(observations), 2, axis=-1)[0]

    def sample(self, observations: Array, noise: Array) -> tuple[Array, Array]:
        """The actions that standard normal `noise` selects, (rows, action), and their log-density, (rows,)"""
        mean, log_std = jnp.split(self.heads(observations), 2, axis=-1)
        log_std = jnp.clip(log_std, -5.0, 2.0)
        before = mean + jnp.exp(log_std) * noise
        # log(1 - tanh(x)^2) without the cancellation that makes it -inf for large |x|
        log_slope = 2 * (math.log(2) - before - jax.nn.softplus(-2 * before))
        return jnp.tanh(before), _normal_log_prob(noise, log_std) - log_slope.sum(-1)


def _normal_log_prob(standardised: Array, log_std: Array) -> Array:
    return (-0.5 * standardised**2 - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)


def draw_noise(key: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The next key, and standard normal noise: one draw for all an update needs."""
    key, draw = jax.random.split(key)
    # Without the barrier a GPU draws anew for each of the (padded) numbers that the noise becomes a part of.
    apart: Array = jax.lax.optimization_barrier(jax.random.normal(draw, shape))  # type: ignore[no-untyped-call]
    return key, apart


class Learner(NamedTuple, Generic[Params]):
    """Parameters and what Adam remembers of their gradients."""

    params: Params
    adam: optax.ScaleByAdamState


_ADAM = optax.scale_by_adam()


def learner(params: Params) -> Learner[Params]:
    """Parameters that have not been stepped yet."""
    return Learner(params, _ADAM.init(params))


def copy(params: Params) -> Params:
    """The same numbers in memory of their own: a state that holds a buffer twice cannot be donated."""
    copied: Params = jax.tree.map(jnp.copy, params)
    return copied


def step(learner: Learner[Params], gradients: Params, rate: Scalar) -> Learner[Params]:
    """One step of Adam. The rate is an argument, so that it can be swept and decayed."""
    direction, adam = _ADAM.update(gradients, learner.adam)
    params: Params = jax.tree.map(lambda p, d: p - rate * d, learner.params, direction)
    return Learner(params, adam)


def follow(target: Params, online: Params, rate: Scalar) -> Params:
    """The target network, moved towards the online one."""
    moved: Params = jax.tree.map(lambda t, o: t + rate * (o - t), target, online)
    return moved
