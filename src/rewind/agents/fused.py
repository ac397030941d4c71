"""Networks of two or three hidden layers as a few kernels, for NVIDIA GPUs (Pallas, Triton).

Written one operation at a time, an update spends most of its time moving hidden activations to memory and back. Here
they stay on the chip, but for the layers after the first, which are kept for the way back:

    forward      r1 = relu(x W1 + b1)              r2 = relu(h1 W2 + b2)                  y = h2 W3 + b3
    through      g2 = [r2 > 0] dr2                 dr2 from dh2 = dy W3'                  dW3 = h2' dy
    backward     g1_k = [r1_k > 0] dr1_k           dr1_k from dh1_k = g2 W2_k'            dW2_k = h1_k' g2
                                                                                          dW1_k = x' g1_k
                                                                                          dx = sum_k g1_k W1_k'

h is r itself or, with layer norm, h = (r - m) v with the mean m and the inverse deviation v of its row. (Scales and
shifts of layer norm are part of the next layer's W and b: `MLP`.) The way back through it needs two means of a row:

    dr = v (dh - c1 - h c2),   c1 = mean_k dh_k = g u,   c2 = mean_k dh_k h_k = g (z - b) / units

where dh = g W', z = h W + b is what g is the gradient of, and u the mean of the rows of W. So both can be had where g
is, before any program that has but a few of the units k begins. A third hidden layer is one more kernel each way.

The kernels are in `rewind.agents.kernels`. Their products are of bfloat16 numbers, summed in float32, as JAX has it on
a TPU; gradients of the large matrices are handed over as bfloat16 too. Parameters, biases, outputs and what the
optimiser keeps are float32.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from rewind.agents import kernels
from rewind.agents.kernels import Array

Params = tuple[
    Array, ...
]  # w1 (nets, in, hidden), b1 (nets, hidden), w2, b2, ... of the last layer (nets, hidden, out)


def fits(sizes: Sequence[int], rows: int) -> bool:
    """Whether these kernels can run a network on so many rows; sizes: of inputs, hidden layers and outputs."""
    inputs, *hidden, outputs = sizes
    units = hidden[0] if hidden else 0
    if hidden not in ([units] * 2, [units] * 3) or units not in (64, 128, 256):
        return False
    if rows % kernels.ROWS or rows % kernels.ROWS_BACK:
        return False
    if len(hidden) == 3:
        return inputs <= kernels.ROOM and outputs <= kernels.SMALLEST
    return max(inputs, outputs) <= kernels.WIDEST


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def mlp(params: Params, x: Array, norm: bool = False, interpret: bool = False) -> Array:
    """(rows, in) -> (nets, rows, out)

    norm: hidden layers are standardised
    interpret: run the kernels in plain JAX, for tests
    """
    y, _ = _forward(_padded(params), _wide(x, 1).astype(kernels.PRODUCT), False, norm, interpret)
    return y[..., : params[-1].shape[-1]]


def _mlp_forward(params: Any, x: Any, norm: bool, interpret: bool) -> tuple[Array, Any]:
    values = tuple(each.value for each in params)
    padded, x_padded = _padded(values), _wide(x.value, 1).astype(kernels.PRODUCT)
    y, kept = _forward(padded, x_padded, True, norm, interpret)
    wanted = (any(each.perturbed for each in params), bool(x.perturbed))
    return y[..., : values[-1].shape[-1]], (padded, x_padded, y if norm else None, kept, x.value.shape[1], wanted)


def _mlp_backward(norm: bool, interpret: bool, saved: Any, dy: Array) -> tuple[Any, Any]:
    params, x, y, (hidden, stats), inputs, (of_params, of_x) = saved
    weights, biases, outputs = params[::2], params[1::2], dy.shape[2]
    g = dy if outputs == 1 else _wide(dy, 2)
    pulls: Any = _pulls(weights[-1], g, y - biases[-1][:, None]) if norm else None
    dw: list[Any] = [None] * len(weights)
    db: list[Any] = [*dw[1:], dy.sum(1)]
    for layer in range(len(weights) - 1, 1, -1):
        below = (weights[layer - 1].astype(jnp.float32).mean(1), biases[layer - 1]) if norm else None
        own = (stats[layer - 1], pulls) if norm else None
        g, parts, *found = kernels.through(weights[layer], hidden[layer - 2], g, own, below, of_params, interpret)
        pulls = parts.sum(0) if norm else None
        if of_params:
            db[layer - 1], dw[layer] = found
    own = (stats[0], pulls) if norm else None
    dx, *found = kernels.backward((weights[0], biases[0], weights[1]), x, g, own, of_params, of_x, interpret)
    dx = dx[..., :inputs].sum((0, 1)) if of_x else None
    if not of_params:
        return (None,) * len(params), dx
    dw[0], db[0], dw[1] = found
    dw[0], dw[-1] = dw[0][:, :inputs], dw[-1][..., :outputs]
    return tuple(each.astype(jnp.float32) for layer in zip(dw, db, strict=True) for each in layer), dx


mlp.defvjp(_mlp_forward, _mlp_backward, symbolic_zeros=True)


def _forward(params: Params, x: Array, keep: bool, norm: bool, interpret: bool) -> tuple[Array, Any]:
    """The outputs; hidden layers from the second on, and all of their statistics, for the way back."""
    layers = list(zip(params[::2], params[1::2], strict=True))
    if len(layers) == 3:
        y, hidden, stats = kernels.forward(x, None, layers[:2], layers[2], keep, norm, interpret)
        return y, ([hidden], stats)
    _, second, stats = kernels.forward(x, None, layers[:2], None, True, norm, interpret)
    y, third, more = kernels.forward(second, stats[1] if norm else None, layers[2:3], layers[3], keep, norm, interpret)
    return y, ([second, third], [*stats, *more])


def _pulls(weight: Array, dy: Array, product: Array) -> Array:
    """(nets, 2, rows): c1 and c2 of the last hidden layer, from the gradient of what it became as a product."""
    mean = weight.mean(1)[:, None]
    return jnp.stack([(dy * mean).sum(2), (dy * product).sum(2) / weight.shape[1]], 1)


def _padded(params: Params) -> Params:
    """As the programs take them: sides that are powers of two, large matrices as their products need them."""
    first, *others, w, b = params
    if w.shape[2] > 1:  # one output is no product
        w, b = _wide(w, 2), _wide(b, 1)
    others = [_wide(first, 1), *others]
    return (*(each.astype(kernels.PRODUCT) if each.ndim == 3 else each for each in others), w, b)


def _wide(array: Array, axis: int) -> Array:
    """Padded along one axis with zeros."""
    more = kernels.padded_size(array.shape[axis]) - array.shape[axis]
    return jnp.pad(array, [(0, more if each == axis else 0) for each in range(array.ndim)])
