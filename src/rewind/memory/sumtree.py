"""A tree of sums: draw in proportion to weights that change, in logarithmic time, without drift.

Every inner node is the sum of its two children and is always recomputed from them, never adjusted by a difference.
Weights that span hundreds of orders of magnitude keep their relative accuracy.

    node 1: the total; children of node k: 2k and 2k + 1; leaf i: node size + i
"""

import numpy as np

from rewind.arrays import Array
from rewind.compiled import HAVE_NUMBA, compiled


def empty_tree(leaves: int) -> Array:
    """An uninitialised tree with at least `leaves` leaves; `fill_tree` sets all of it."""
    return np.empty(2 * (1 << max(0, leaves - 1).bit_length()))


@compiled
def fill_tree(tree: Array, weights: Array) -> None:
    """Set all leaves at once."""
    half = len(tree) // 2
    tree[half : half + len(weights)] = weights
    tree[half + len(weights) :] = 0.0
    while half > 1:
        tree[half // 2 : half] = tree[half : 2 * half : 2] + tree[half + 1 : 2 * half : 2]
        half //= 2


@compiled
def set_leaf(tree: Array, leaf: int, weight: float) -> None:
    node = tree.size // 2 + leaf
    tree[node] = weight
    node //= 2
    while node >= 1:
        tree[node] = tree[2 * node] + tree[2 * node + 1]
        node //= 2


@compiled
def find_leaf(tree: Array, uniform: float) -> int:
    """The leaf that a uniform number in [0, 1) selects. The total must be positive."""
    half = tree.size // 2
    target = uniform * tree[1]
    node = 1
    while node < half:
        node *= 2
        # The second condition prevents rounding from leading into an empty branch.
        if target >= tree[node] and tree[node + 1] > 0.0:
            target -= tree[node]
            node += 1
    return node - half


@compiled
def find_leaves(tree: Array, uniforms: Array) -> Array:
    """`find_leaf` for many numbers at once, level by level, so that memory reads overlap."""
    half = tree.size // 2
    nodes = np.ones(uniforms.size, np.int64)
    targets = uniforms * tree[1]
    while half > 1:
        _step_down(tree, nodes, targets)
        half //= 2
    return nodes - tree.size // 2


@compiled
def _step_down_one_by_one(tree: Array, nodes: Array, targets: Array) -> None:
    for index in range(nodes.size):
        node = 2 * nodes[index]
        left = tree[node]
        # No branch: its direction is random, so the processor would mispredict it.
        right = (targets[index] >= left) & (tree[node + 1] > 0.0)
        targets[index] -= left * right
        nodes[index] = node + right


def _step_down_at_once(tree: Array, nodes: Array, targets: Array) -> None:
    nodes *= 2
    left = tree[nodes]
    right = (targets >= left) & (tree[nodes + 1] > 0.0)
    targets -= left * right
    nodes += right


# The loop without temporary arrays is faster when compiled, and very slow when not.
_step_down = _step_down_one_by_one if HAVE_NUMBA else _step_down_at_once


@compiled
def set_leaves(tree: Array, leaves: Array, weights: Array) -> None:
    for index in range(leaves.size):
        set_leaf(tree, leaves[index], weights[index])
