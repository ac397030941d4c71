"""Networks of two hidden layers as one kernel forward and two backward, for NVIDIA GPUs (Pallas, Triton).

Written one operation at a time, an update spends most of its time moving hidden activations to memory and back. Here
they stay on the chip, but for the second layer, which is kept for the way back, where the first one is computed again:

    forward      h1 = relu(x W1 + b1)              h2 = relu(h1 W2 + b2)                  y = h2 W3 + b3
    head         g2 = [h2 > 0] dy W3'              dW3 = h2' dy
    backward     g1_k = [h1_k > 0] g2 W2_k'        dW2_k = h1_k' g2                       dW1_k = x' g1_k
                                                                                          dx = sum_k g1_k W1_k'

A program of the first kernel takes all rows, `ROWS` at a time, through a network whose weights it keeps in shared
memory; where inputs and outputs leave no room for them (`ROOM`), `ROWS_WIDE` rows, reading the weights as it goes. One
of the others takes all rows for `CHUNK` units k of a layer, and sums the gradients of their weights on the chip.

Products are of bfloat16 numbers, summed in float32, as JAX has it on a TPU; gradients of the two large matrices are
handed over as bfloat16 too. Parameters, biases, outputs and what the optimiser keeps are float32.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as gpu

Array = jax.Array
Params = tuple[Array, ...]  # w1 (nets, in, hidden), b1 (nets, hidden), w2, b2, w3 (nets, hidden, out), b3

ROWS, ROWS_BACK, ROWS_HEAD = 128, 128, 64  # of a batch, at a time
CHUNK = 64  # units of a hidden layer, at a time
ROWS_WIDE = 64  # likewise, of a network that is too wide to be kept in shared memory
SMALLEST, WIDEST = 16, 128  # inputs and outputs are padded to a power of two between these
ROOM = 64  # for them together, in shared memory; a single output takes none
WARPS, WARPS_WIDE, WARPS_HEAD, STAGES = 8, 4, 4, 2
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
    inputs, outputs = x.value.shape[1], values[5].shape[-1]
    wanted = (any(each.perturbed for each in params), bool(x.perturbed))
    return y[..., :outputs], (padded, x_padded, hidden, inputs, wanted)


def _mlp_backward(interpret: bool, kept: Any, dy: Array) -> tuple[Any, Any]:
    (w1, b1, w2, _, w3, _), x, hidden, inputs, (of_params, of_x) = kept
    outputs = dy.shape[2]
    g2, *of_head = _head(w3, hidden, dy if outputs == 1 else _wide(dy, 2), of_params, interpret)
    found = _backward((w1, b1, w2), x, g2, of_params, of_x, interpret)
    dx = found.pop(0)[..., :inputs].sum((0, 1)) if of_x else None
    if not of_params:
        return (None,) * 6, dx
    (dw1, db1, dw2), (db2, dw3) = found, of_head
    dw1, dw2 = dw1[:, :inputs].astype(jnp.float32), dw2.astype(jnp.float32)
    return (dw1, db1, dw2, db2, dw3[..., :outputs], dy.sum(1)), dx


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


def _chunk_of(array: Array) -> pl.BlockSpec:
    """The share of a chunk of one network's units."""
    return pl.BlockSpec((None, CHUNK, *array.shape[2:]), lambda net, k: (net, k, *(0,) * (array.ndim - 2)))


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
    shapes = [_shape((nets, len(x), width), dtype) for width, dtype in made]
    kept_weights = x.shape[1] + made[0][0] * (made[0][0] > 1) <= ROOM
    rows, kernel, warps = (len(x), _forward_kernel, WARPS) if kept_weights else (ROWS_WIDE, _wide_kernel, WARPS_WIDE)
    call = _call(
        kernel, "mlp_forward", warps, interpret,
        grid=(nets, len(x) // rows),
        in_specs=[pl.BlockSpec((rows, x.shape[1]), lambda net, tile: (tile, 0)), *map(_of_net, params)],
        out_specs=[pl.BlockSpec((None, rows, width), lambda net, tile: (net, tile, 0)) for width, _ in made],
        out_shape=shapes,
    )  # fmt: skip
    y, *kept = call(x, *params)
    return y, kept[0] if keep else None


def _forward_kernel(
    x_ref: Any, w1_ref: Any, b1: Any, w2_ref: Any, b2: Any, w3: Any, b3: Any, y_ref: Any, *kept: Any
) -> None:
    w1, w2 = w1_ref[:, :], w2_ref[:, :]  # read once

    def play(tile: Any, carry: Any) -> Any:
        rows = pl.ds(tile * ROWS, ROWS)
        h1 = jax.nn.relu(_dot(x_ref[rows, :], w1) + b1[:][None, :])
        h2 = jax.nn.relu(_dot(h1.astype(PRODUCT), w2) + b2[:][None, :])
        _hand_out(h2, rows, w3, b3, y_ref, *kept)
        return carry

    jax.lax.fori_loop(0, x_ref.shape[0] // ROWS, play, 0)


def _wide_kernel(x_ref: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, y_ref: Any, *kept: Any) -> None:
    x = x_ref[:, :]

    def add(k: Any, total: Array) -> Array:
        units = pl.ds(k * CHUNK, CHUNK)
        h1 = jax.nn.relu(_dot(x, w1[:, units]) + b1[units][None, :])
        return total + _dot(h1.astype(PRODUCT), w2[units, :])

    total = jax.lax.fori_loop(0, w1.shape[1] // CHUNK, add, jnp.zeros((len(x), w2.shape[1]), jnp.float32))
    _hand_out(jax.nn.relu(total + b2[:][None, :]), pl.ds(0, len(x)), w3, b3, y_ref, *kept)


def _hand_out(h2: Array, rows: Any, w3: Any, b3: Any, y_ref: Any, *kept: Any) -> None:
    """Through the last layer; and h2 itself where it is kept."""
    for ref in kept:
        ref[rows, :] = h2.astype(PRODUCT)
    if y_ref.shape[1] == 1:  # one output is no product
        y_ref[rows, 0] = (h2 * w3[:, 0][None, :]).sum(1) + b3[0]
    else:
        y_ref[rows, :] = _dot(h2.astype(PRODUCT), w3[:, :].astype(PRODUCT)) + b3[:][None, :]


# Backward


def _head(w3: Array, hidden: Array, dy: Array, of_params: bool, interpret: bool) -> list[Array]:
    """Through the last layer: g2; and if they are wanted, the gradients of b2 and w3."""
    nets, rows, units = hidden.shape
    specs = [pl.BlockSpec((None, rows, CHUNK), lambda net, k: (net, 0, k))]
    shapes = [_shape(hidden.shape, PRODUCT)]
    if of_params:
        specs += [pl.BlockSpec((None, CHUNK), lambda net, k: (net, k)), _chunk_of(w3)]
        shapes += [_shape((nets, units), jnp.float32), _shape(w3.shape, jnp.float32)]
    call = _call(
        _head_kernel, "mlp_head", WARPS_HEAD, interpret,
        grid=(nets, units // CHUNK),
        in_specs=[_chunk_of(w3), specs[0], _of_net(dy)],
        out_specs=specs,
        out_shape=shapes,
    )  # fmt: skip
    return list(call(w3, hidden, dy))


def _head_kernel(w3_ref: Any, h2_ref: Any, dy_ref: Any, g2_ref: Any, *of_params: Any) -> None:
    alone = w3_ref.shape[1] == 1
    product = jnp.float32 if alone else PRODUCT
    w3 = w3_ref[:, :].astype(product)

    def add(tile: Any, sums: Any) -> Any:
        rows = pl.ds(tile * ROWS_HEAD, ROWS_HEAD)
        h2, dy = h2_ref[rows, :], dy_ref[rows, :].astype(product)
        g2 = jnp.where(h2 > 0, dy * w3.T if alone else _dot(dy, w3.T), 0.0)
        g2_ref[rows, :] = g2.astype(PRODUCT)
        if not of_params:
            return sums
        dw3 = (h2 * dy).sum(0)[:, None] if alone else _dot(h2.T, dy)
        return sums[0] + g2.sum(0), sums[1] + dw3

    zeros = (jnp.zeros(CHUNK, jnp.float32), jnp.zeros(w3.shape, jnp.float32)) if of_params else ()
    sums = jax.lax.fori_loop(0, h2_ref.shape[0] // ROWS_HEAD, add, zeros)
    if of_params:
        db2, dw3 = of_params
        db2[:], dw3[:, :] = sums


def _backward(params: Params, x: Array, g2: Array, of_params: bool, of_x: bool, interpret: bool) -> list[Array]:
    """Gradients: of x (chunks, nets, rows, in), to be summed; of w1, b1 and w2; each if it is wanted."""
    nets, inputs, units = params[0].shape
    rows, chunks = len(x), units // CHUNK
    # Half as many at a time where more would not fit into shared memory.
    tile_rows, warps = (ROWS_BACK // 2, WARPS // 2) if of_x or inputs > 64 else (ROWS_BACK, WARPS)
    specs: list[pl.BlockSpec] = []
    shapes: list[Any] = []
    if of_x:
        specs.append(pl.BlockSpec((None, None, rows, inputs), lambda net, k: (k, net, 0, 0)))
        shapes.append(_shape((chunks, nets, rows, inputs), jnp.float32))
    if of_params:
        specs += [_of_net(array) for array in params]
        shapes += [_shape(array.shape, array.dtype) for array in params]
    call = _call(
        partial(_backward_kernel, tile_rows, of_params=of_params, of_x=of_x), "mlp_backward", warps, interpret,
        grid=(nets, chunks),
        in_specs=[pl.BlockSpec(x.shape, lambda net, k: (0, 0)), *map(_of_net, (g2, *params))],
        out_specs=specs,
        out_shape=shapes,
    )  # fmt: skip
    return list(call(x, g2, *params))


def _backward_kernel(
    tile_rows: int, x_ref: Any, g2_ref: Any, w1: Any, b1: Any, w2: Any, *found: Any, of_params: bool, of_x: bool
) -> None:
    units = pl.ds(pl.program_id(1) * CHUNK, CHUNK)
    w1_k, b1_k, w2_k = w1[:, units], b1[units], w2[units, :].T

    def add(tile: Any, sums: Any) -> Any:
        rows = pl.ds(tile * tile_rows, tile_rows)
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
    sums = jax.lax.fori_loop(0, x_ref.shape[0] // tile_rows, add, zeros)
    if of_params:
        dw1, db1, dw2 = found[-3:]
        dw1[:, units], db1[units], dw2[units, :] = sums[0].T.astype(PRODUCT), sums[1], sums[2].astype(PRODUCT)


def _dot(a: Array, b: Array) -> Array:
    return jnp.dot(a, b, preferred_element_type=jnp.float32)
