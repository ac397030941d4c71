"""The kernels of `rewind.agents.fused`, which says what they compute.

A program of `forward` takes all rows, `ROWS` at a time, through one or two hidden layers whose weights it keeps in
shared memory; where inputs and outputs leave no room for them (`ROOM`), `ROWS_WIDE` rows, reading the weights as it
goes. One of `through` and `backward` takes all rows for `CHUNK` units k of a layer, and sums the gradients of their
weights on the chip.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as gpu

Array = jax.Array
Layer = tuple[Array, Array]  # w (nets, in, out), b (nets, out)
Norm = tuple[Array, Array]  # each (nets, 2, rows): m and v of each row; c1 and c2

ROWS, ROWS_BACK, ROWS_THROUGH = 128, 128, 64  # of a batch, at a time
CHUNK = 64  # units of a hidden layer, at a time
ROWS_WIDE = 64  # likewise, of a network that is too wide to be kept in shared memory
SMALLEST, WIDEST = 16, 128  # inputs and outputs are padded to a power of two between these
ROOM = 64  # for them together, in shared memory; a single output takes none
WARPS, WARPS_WIDE, WARPS_THROUGH, STAGES = 8, 4, 4, 2
PRODUCT = jnp.bfloat16
EPSILON = 1e-6  # of layer norm


def padded_size(size: int) -> int:
    """Of inputs and outputs, as the kernels take them."""
    return max(SMALLEST, pl.next_power_of_2(size))


def in_room(inputs: int, outputs: int) -> bool:
    """Whether they leave room for the weights of a network in shared memory."""
    return padded_size(inputs) + (padded_size(outputs) if outputs > 1 else 0) <= ROOM


def _of_net(array: Array) -> pl.BlockSpec:
    """All of one network's share."""
    return pl.BlockSpec((None, *array.shape[1:]), lambda net, _: (net, *(0,) * (array.ndim - 1)))


def _rows_of(rows: int, array: Any) -> pl.BlockSpec:
    """So many of one network's rows."""
    return pl.BlockSpec((None, rows, array.shape[2]), lambda net, tile: (net, tile, 0))


def _stats_of(rows: int) -> pl.BlockSpec:
    """m and v of so many of one network's rows."""
    return pl.BlockSpec((None, 2, rows), lambda net, tile: (net, 0, tile))


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


def forward(
    x: Array, before: Array | None, hidden: Sequence[Layer], head: Layer | None, keep: bool, norm: bool, interpret: bool
) -> tuple[Any, Any, Any]:
    """Through hidden layers, and the last one if it is given.

    x: (rows, in), or (nets, rows, in), the layer before
    before: m and v of its rows, where it is to be standardised
    returns: the outputs; the last hidden layer, where it is to be kept; and m and v of the rows of each
    """
    nets, _, units = hidden[0][0].shape
    count, inputs = x.shape[-2:]
    outputs = head[1].shape[-1] if head else 0
    kernel: Any
    rows, kernel, warps = count, partial(_forward_kernel, ROWS, norm), WARPS
    if x.ndim == 2 and not in_room(inputs, outputs):
        rows, kernel, warps = ROWS_WIDE, partial(_wide_kernel, norm), WARPS_WIDE
    elif x.ndim == 3 and outputs > 1:  # half as many at a time leave room for both
        kernel, warps = partial(_forward_kernel, ROWS // 2, norm), WARPS // 2
    made = (
        _shape((nets, count, outputs), jnp.float32) if head else None,
        _shape((nets, count, units), PRODUCT) if keep else None,
        [_shape((nets, 2, count), jnp.float32) for _ in hidden] if keep and norm else [],
    )
    of_x = _rows_of(rows, x) if x.ndim == 3 else pl.BlockSpec((rows, inputs), lambda net, tile: (tile, 0))
    given = (before, hidden, head)
    call = _call(
        kernel, "mlp_forward", warps, interpret,
        grid=(nets, count // rows),
        in_specs=[of_x, *jax.tree.map(_of_net, given)],
        out_specs=[*jax.tree.map(partial(_rows_of, rows), made[:2]), [_stats_of(rows) for _ in made[2]]],
        out_shape=list(made),
    )  # fmt: skip
    y, kept, stats = call(x, *given)
    return y, kept, stats


def _forward_kernel(
    tile_rows: int, norm: bool, x: Any, before: Any, hidden: Any, head: Any, y: Any, kept: Any, stats: Any
) -> None:
    weights = [weight[:, :] for weight, _ in hidden]  # read once

    def play(tile: Any, carry: Any) -> Any:
        rows = pl.ds(tile * tile_rows, tile_rows)
        h = x[rows, :]
        if before is not None:
            h = _standardised(h, before, rows)
        for layer, (weight, (_, bias)) in enumerate(zip(weights, hidden, strict=True)):
            h = r = jax.nn.relu(_dot(h.astype(PRODUCT), weight) + bias[:][None, :])
            if norm:
                h = _normed(r, rows, stats[layer] if stats else None)
        _hand_out(h, r, rows, head, y, kept)
        return carry

    jax.lax.fori_loop(0, x.shape[0] // tile_rows, play, 0)


def _normed(r: Array, rows: Any, stats: Any) -> Array:
    """Standardised; its m and v are kept where they are wanted."""
    mean = r.mean(1)
    h = r - mean[:, None]
    inverse = jax.lax.rsqrt((h * h).mean(1) + EPSILON)
    if stats is not None:
        stats[0, rows], stats[1, rows] = mean, inverse
    return h * inverse[:, None]


def _wide_kernel(norm: bool, x_ref: Any, before: Any, hidden: Any, head: Any, y: Any, kept: Any, stats: Any) -> None:
    (w1, b1), (w2, b2) = hidden  # the first of a network: nothing is before it
    x, rows = x_ref[:, :], pl.ds(0, x_ref.shape[0])
    chunks = w1.shape[1] // CHUNK

    def first(k: Any) -> tuple[Any, Array]:
        units = pl.ds(k * CHUNK, CHUNK)
        return units, jax.nn.relu(_dot(x, w1[:, units]) + b1[units][None, :])

    def measure(k: Any, sums: Any) -> Any:
        _, r1 = first(k)
        return sums[0] + r1.sum(1), sums[1] + (r1 * r1).sum(1)

    if norm:  # m and v need all units before any of them can be standardised
        zeros = jnp.zeros(len(x), jnp.float32)
        mean, square = (each / w1.shape[1] for each in jax.lax.fori_loop(0, chunks, measure, (zeros, zeros)))
        inverse = jax.lax.rsqrt(jnp.maximum(square - mean * mean, 0.0) + EPSILON)
        if stats:
            stats[0][0, rows], stats[0][1, rows] = mean, inverse

    def add(k: Any, total: Array) -> Array:
        units, h1 = first(k)
        if norm:
            h1 = (h1 - mean[:, None]) * inverse[:, None]
        return total + _dot(h1.astype(PRODUCT), w2[units, :])

    total = jax.lax.fori_loop(0, chunks, add, jnp.zeros((len(x), w2.shape[1]), jnp.float32))
    h2 = r2 = jax.nn.relu(total + b2[:][None, :])
    if norm:
        h2 = _normed(r2, rows, stats[1] if stats else None)
    _hand_out(h2, r2, rows, head, y, kept)


def _hand_out(h: Array, r: Array, rows: Any, head: Any, y: Any, kept: Any) -> None:
    """Through the last layer, if it follows; and r itself where it is kept."""
    if kept is not None:
        kept[rows, :] = r.astype(PRODUCT)
    if head is None:
        return
    weight, bias = head
    if y.shape[1] == 1:  # one output is no product
        y[rows, 0] = (h * weight[:, 0][None, :]).sum(1) + bias[0]
    else:
        y[rows, :] = _dot(h.astype(PRODUCT), weight[:, :].astype(PRODUCT)) + bias[:][None, :]


# Backward


def through(
    weight: Array, hidden: Array, dy: Array, norm: Norm | None, below: Layer | None, of_params: bool, interpret: bool
) -> list[Any]:
    """From dy, the gradient of what `hidden` becomes by `weight`, to g, the gradient of what it was before its ReLU.

    below: of layer norm, u and b of the layer whose product g is the gradient of
    returns: g; with layer norm (chunks, nets, 2, rows), c1 and c2 of the layer below, to be summed; and if they are
        wanted, the gradients of the bias of that layer and of `weight`
    """
    nets, rows, units = hidden.shape
    chunks = units // CHUNK
    columns = pl.BlockSpec((None, rows, CHUNK), lambda net, k: (net, 0, k))
    specs: list[Any] = [columns, None]
    shapes: list[Any] = [_shape(hidden.shape, PRODUCT), None]
    if norm:
        specs[1] = pl.BlockSpec((None, None, 2, rows), lambda net, k: (k, net, 0, 0))
        shapes[1] = _shape((chunks, nets, 2, rows), jnp.float32)
    if of_params:
        specs += [pl.BlockSpec((None, CHUNK), lambda net, k: (net, k)), _chunk_of(weight)]
        shapes += [_shape((nets, units), jnp.float32), _shape(weight.shape, weight.dtype)]
    tile_rows, warps = (ROWS_BACK, WARPS) if dy.shape[2] > WIDEST else (ROWS_THROUGH, WARPS_THROUGH)
    call = _call(
        partial(_through_kernel, tile_rows, units), "mlp_through", warps, interpret,
        grid=(nets, chunks),
        in_specs=[_chunk_of(weight), columns, _of_net(dy), jax.tree.map(_of_net, norm), jax.tree.map(_chunk_of, below)],
        out_specs=specs,
        out_shape=shapes,
    )  # fmt: skip
    return list(call(weight, hidden, dy, norm, below))


def _through_kernel(
    tile_rows: int, all_units: int, weight: Any, hidden: Any, dy_ref: Any, norm: Any, below: Any,
    g_ref: Any, parts: Any, *of_params: Any,
) -> None:  # fmt: skip
    alone = weight.shape[1] == 1
    product = jnp.float32 if alone else PRODUCT
    w = weight[:, :].astype(product)

    def add(tile: Any, sums: Any) -> Any:
        rows = pl.ds(tile * tile_rows, tile_rows)
        h = r = hidden[rows, :]
        dy = dy_ref[rows, :].astype(product)
        dh = dy * w.T if alone else _dot(dy, w.T)
        if norm:
            h = _standardised(r, norm[0], rows)
            dh = _before_norm(dh, h, norm, rows)
        g = jnp.where(r > 0, dh, 0.0)
        g_ref[rows, :] = g.astype(PRODUCT)
        if norm:
            mean, bias = below
            parts[0, rows] = (g * mean[:][None, :]).sum(1)
            parts[1, rows] = (g * (r - bias[:][None, :])).sum(1) / all_units
        if not of_params:
            return sums
        dw = (h * dy).sum(0)[:, None] if alone else _dot(h.astype(PRODUCT).T, dy)
        return sums[0] + g.sum(0), sums[1] + dw

    zeros = (jnp.zeros(CHUNK, jnp.float32), jnp.zeros(w.shape, jnp.float32)) if of_params else ()
    sums = jax.lax.fori_loop(0, hidden.shape[0] // tile_rows, add, zeros)
    if of_params:
        db, dw = of_params
        db[:], dw[:, :] = sums[0], sums[1].astype(dw.dtype)


def backward(
    first: tuple[Array, Array, Array], x: Array, g2: Array, norm: Norm | None, of_params: bool, of_x: bool,
    interpret: bool,
) -> list[Any]:  # fmt: skip
    """Gradients: of x (chunks, nets, rows, in), to be summed; of w1, b1 and w2, which are `first`; each if wanted."""
    nets, inputs, units = first[0].shape
    rows, chunks = len(x), units // CHUNK
    # Half as many at a time where more would not fit into shared memory.
    tile_rows, warps = (ROWS_BACK // 2, WARPS // 2) if of_x or inputs > 64 else (ROWS_BACK, WARPS)
    specs: list[Any] = [None]
    shapes: list[Any] = [None]
    if of_x:
        specs[0] = pl.BlockSpec((None, None, rows, inputs), lambda net, k: (k, net, 0, 0))
        shapes[0] = _shape((chunks, nets, rows, inputs), jnp.float32)
    if of_params:
        specs += [_of_net(array) for array in first]
        shapes += [_shape(array.shape, array.dtype) for array in first]
    call = _call(
        partial(_backward_kernel, tile_rows), "mlp_backward", warps, interpret,
        grid=(nets, chunks),
        in_specs=[
            pl.BlockSpec(x.shape, lambda net, k: (0, 0)), _of_net(g2),
            jax.tree.map(_of_net, norm), *map(_of_net, first),
        ],
        out_specs=specs,
        out_shape=shapes,
    )  # fmt: skip
    return list(call(x, g2, norm, *first))


def _backward_kernel(
    tile_rows: int, x_ref: Any, g2_ref: Any, norm: Any, w1: Any, b1: Any, w2: Any, dx: Any, *of_params: Any
) -> None:
    units = pl.ds(pl.program_id(1) * CHUNK, CHUNK)
    w1_k, b1_k, w2_k = w1[:, units], b1[units], w2[units, :].T

    def add(tile: Any, sums: Any) -> Any:
        rows = pl.ds(tile * tile_rows, tile_rows)
        x, g2 = x_ref[rows, :], g2_ref[rows, :]
        h1 = r1 = jax.nn.relu(_dot(x, w1_k) + b1_k[None, :])
        dh = _dot(g2, w2_k)
        if norm:
            h1 = _standardised(r1, norm[0], rows)
            dh = _before_norm(dh, h1, norm, rows)
        g1 = jnp.where(r1 > 0, dh, 0.0)
        if dx is not None:
            dx[rows, :] = _dot(g1.astype(PRODUCT), w1_k.T)
        if not of_params:
            return sums
        dw1, db1, dw2 = sums
        dw1 += _dot(g1.astype(PRODUCT).T, x)
        return dw1, db1 + g1.sum(0), dw2 + _dot(h1.astype(PRODUCT).T, g2)

    shapes = ((CHUNK, w1.shape[0]), (CHUNK,), (CHUNK, w2.shape[1])) if of_params else ()
    zeros = tuple(jnp.zeros(shape, jnp.float32) for shape in shapes)
    sums = jax.lax.fori_loop(0, x_ref.shape[0] // tile_rows, add, zeros)
    if of_params:
        dw1, db1, dw2 = of_params
        dw1[:, units], db1[units], dw2[units, :] = sums[0].T.astype(PRODUCT), sums[1], sums[2].astype(PRODUCT)


def _standardised(r: Array, stats: Any, rows: Any) -> Any:
    return (r - stats[0, rows][:, None]) * stats[1, rows][:, None]


def _before_norm(dh: Array, h: Array, norm: Any, rows: Any) -> Any:
    """The gradient of r where dh is that of h."""
    stats, pulls = norm
    return stats[1, rows][:, None] * (dh - pulls[0, rows][:, None] - h * pulls[1, rows][:, None])


def _dot(a: Array, b: Array) -> Array:
    return jnp.dot(a, b, preferred_element_type=jnp.float32)
