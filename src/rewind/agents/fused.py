"""Networks of two hidden layers as one kernel forward and one backward, for NVIDIA GPUs (Pallas, Triton).

Written one operation at a time, an update spends most of its time moving hidden activations to memory and back. Here
they stay on the chip, but for the second layer, which is kept for the way back. The first layer is computed `CHUNK`
units at a time, and again on the way back, since that is cheaper than keeping it:

    forward      h1_k = relu(x W1_k + b1_k)        h2 = relu(sum_k h1_k W2_k + b2)        y = h2 W3 + b3
    backward     g2 = [h2 > 0] dy W3'              g1_k = [h1_k > 0] g2 W2_k'
                 dW2_k = h1_k' g2                  dW1_k = x' g1_k                        dx = sum_k g1_k W1_k'

A program of the first kernel takes `ROWS` rows through a whole network; one of the second takes all rows, `ROWS_BACK`
at a time, through one chunk k, and sums the gradients of its weights on the chip. What belongs to the last layer alone
on the way back is left to XLA.

Products are of bfloat16 numbers, summed in float32, as JAX has it on a TPU. Parameters, biases, outputs, gradients and
what the optimiser keeps are float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as gpu

Array = jax.Array
Params = tuple[Array, ...]  # w1 (nets, in, hidden), b1 (nets, hidden), w2, b2, w3 (nets, hidden, out), b3

ROWS, ROWS_BACK = 128, 64  # of a batch, at a time
CHUNK = 64  # units of the first layer, at a time
SMALLEST, WIDEST = 16, 128  # inputs and outputs are padded to a power of two between these
WARPS, WARPS_BACK, STAGES = 8, 4, 2
PRODUCT = jnp.bfloat16


def fits(weights: Sequence[Array], rows: int) -> bool:
    """Whether a network, or an ensemble of them, can be run by these kernels on so many rows."""
    if len(weights) != 3 or rows % ROWS or rows % ROWS_BACK:
        return False
    before, after = weights[1].shape[-2:]
    return before == after and before in (64, 128, 256) and max(weights[0].shape[-2], weights[2].shape[-1]) <= WIDEST


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def mlp(params: Params, x: Array, interpret: bool = False) -> Array:
    """(rows, in) -> (nets, rows, out)

    interpret: run the kernels in plain JAX, for tests
    """
    y, _ = _forward(_padded(params), _wide(x, 1).astype(PRODUCT), False, interpret)
    return y[..., : params[5].shape[-1]]


def _mlp_forward(params: Any, x: Any, interpret: bool) -> tuple[Array, Any]:
    values = tuple(each.value for each in params)
    padded, x_padded = _padded(values), _wide(x.value, 1).astype(PRODUCT)
    y, hidden = _forward(padded, x_padded, True, interpret)
    wanted = (any(each.perturbed for each in params), bool(x.perturbed))
    return y[..., : values[5].shape[-1]], (padded[:3], values[4], x_padded, x.value.shape[1], hidden, wanted)


def _mlp_backward(interpret: bool, kept: Any, dy: Array) -> tuple[Any, Any]:
    first, w3, x, inputs, hidden, (of_params, of_x) = kept
    g2 = jnp.where(hidden > 0, jnp.einsum("nro,nho->nrh", dy, w3), 0.0)
    found = _backward(first, x, g2.astype(PRODUCT), of_params, of_x, interpret)
    dx = found.pop(0)[..., :inputs].sum((0, 1)) if of_x else None
    if not of_params:
        return (None,) * 6, dx
    dw1, db1, dw2 = found
    dw3 = jnp.einsum("nrh,nro->nho", hidden.astype(jnp.float32), dy)
    return (dw1[:, :inputs], db1, dw2, g2.sum(1), dw3, dy.sum(1)), dx


mlp.defvjp(_mlp_forward, _mlp_backward, symbolic_zeros=True)


def _padded(params: Params) -> Params:
    """As the programs take them: sides that are powers of two, large matrices as their products need them."""
    w1, b1, w2, b2, w3, b3 = params
    if w3.shape[2] > 1:  # one output is no product
        w3, b3 = _wide(w3, 2), _wide(b3, 1)
    return _wide(w1, 1).astype(PRODUCT), b1, w2.astype(PRODUCT), b2, w3, b3


def _wide(array: Array, axis: int) -> Array:
    """Padded along one axis with zeros."""
    size = array.shape[axis]
    more = max(SMALLEST, pl.next_power_of_2(size)) - size
    return jnp.pad(array, [(0, more if each == axis else 0) for each in range(array.ndim)])


def _of_net(array: Array) -> pl.BlockSpec:
    """All of one network's share."""
    return pl.BlockSpec((None, *array.shape[1:]), lambda net, _: (net, *(0,) * (array.ndim - 1)))


def _shape(shape: tuple[int, ...], dtype: Any) -> Any:
    make: Any = jax.ShapeDtypeStruct
    return make(shape, dtype)


def _call(kernel: Any, name: str, warps: int, interpret: bool, **shapes: Any) -> Any:
    params = gpu.CompilerParams(num_warps=warps, num_stages=STAGES)
    return pl.pallas_call(kernel, compiler_params=params, interpret=interpret, name=name, **shapes)


# Forward


def _forward(params: Params, x: Array, keep: bool, interpret: bool) -> tuple[Array, Array | None]:
    """The outputs, and the second hidden layer where it is to be kept."""
    nets, _, units = params[0].shape
    made = [(params[5].shape[-1], jnp.float32), *([(units, PRODUCT)] if keep else [])]
    call = _call(
        _forward_kernel, "mlp_forward", WARPS, interpret,
        grid=(nets, len(x) // ROWS),
        in_specs=[pl.BlockSpec((ROWS, x.shape[1]), lambda net, tile: (tile, 0)), *map(_of_net, params)],
        out_specs=[pl.BlockSpec((None, ROWS, width), lambda net, tile: (net, tile, 0)) for width, _ in made],
        out_shape=[_shape((nets, len(x), width), dtype) for width, dtype in made],
    )  # fmt: skip
    y, *kept = call(x, *params)
    return y, kept[0] if keep else None


def _forward_kernel(x_ref: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, y_ref: Any, *kept: Any) -> None:
    x = x_ref[:, :]

    def add(k: Any, total: Array) -> Array:
        units = pl.ds(k * CHUNK, CHUNK)
        h1 = jax.nn.relu(_dot(x, w1[:, units]) + b1[units][None, :])
        return total + _dot(h1.astype(PRODUCT), w2[units, :])

    total = jax.lax.fori_loop(0, w1.shape[1] // CHUNK, add, jnp.zeros((ROWS, w2.shape[1]), jnp.float32))
    h2 = jax.nn.relu(total + b2[:][None, :])
    for ref in kept:
        ref[:, :] = h2.astype(PRODUCT)
    if y_ref.shape[1] == 1:
        y_ref[:, 0] = (h2 * w3[:, 0][None, :]).sum(1) + b3[0]
    else:
        y_ref[:, :] = _dot(h2, w3[:, :]) + b3[:][None, :]


# Backward


def _backward(params: Params, x: Array, g2: Array, of_params: bool, of_x: bool, interpret: bool) -> list[Array]:
    """Gradients: of x (chunks, nets, rows, in), to be summed; of w1, b1 and w2; each if it is wanted."""
    nets, inputs, units = params[0].shape
    rows, chunks = len(x), units // CHUNK
    specs: list[pl.BlockSpec] = []
    shapes: list[tuple[int, ...]] = []
    if of_x:
        specs.append(pl.BlockSpec((None, None, rows, inputs), lambda net, k: (k, net, 0, 0)))
        shapes.append((chunks, nets, rows, inputs))
    if of_params:
        specs += [_of_net(array) for array in params]
        shapes += [array.shape for array in params]
    call = _call(
        partial(_backward_kernel, of_params=of_params, of_x=of_x), "mlp_backward", WARPS_BACK, interpret,
        grid=(nets, chunks),
        in_specs=[pl.BlockSpec(x.shape, lambda net, k: (0, 0)), *map(_of_net, (g2, *params))],
        out_specs=specs,
        out_shape=[_shape(shape, jnp.float32) for shape in shapes],
    )  # fmt: skip
    return list(call(x, g2, *params))


def _backward_kernel(
    x_ref: Any, g2_ref: Any, w1: Any, b1: Any, w2: Any, *found: Any, of_params: bool, of_x: bool
) -> None:
    units = pl.ds(pl.program_id(1) * CHUNK, CHUNK)
    w1_k, b1_k, w2_k = w1[:, units], b1[units], w2[units, :].T

    def add(tile: Any, sums: Any) -> Any:
        rows = pl.ds(tile * ROWS_BACK, ROWS_BACK)
        x, g2 = x_ref[rows, :], g2_ref[rows, :]
        h1 = jax.nn.relu(_dot(x, w1_k) + b1_k[None, :])
        g1 = jnp.where(h1 > 0, _dot(g2, w2_k), 0.0)
        if of_x:
            found[0][rows, :] = _dot(g1.astype(PRODUCT), w1_k.T)
        if not of_params:
            return sums
        dw1, db1, dw2 = sums
        dw1 += _dot(g1.astype(PRODUCT).T, x)
        return dw1, db1 + g1.sum(0), dw2 + _dot(h1.astype(PRODUCT).T, g2)

    shapes = ((CHUNK, w1.shape[0]), (CHUNK,), (CHUNK, w2.shape[1])) if of_params else ()
    zeros = tuple(jnp.zeros(shape, jnp.float32) for shape in shapes)
    sums = jax.lax.fori_loop(0, x_ref.shape[0] // ROWS_BACK, add, zeros)
    if of_params:
        dw1, db1, dw2 = found[-3:]
        dw1[:, units], db1[units], dw2[units, :] = sums[0].T, sums[1], sums[2]


def _dot(a: Array, b: Array) -> Array:
    return jnp.dot(a, b, preferred_element_type=jnp.float32)
