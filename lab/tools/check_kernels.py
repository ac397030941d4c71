"""Whether the fused kernels compute on this GPU what plain networks do: python lab/tools/check_kernels.py [KIND ...]

Prints, for each kind of network, how far outputs and gradients of eight runs are from those of plain float32 networks.
Gradients by products of bfloat16 numbers are up to a tenth off, in Pallas' interpreter too; the check fails at 15%.
"""

import sys

import jax
import jax.numpy as jnp

from rewind.agents.networks import MLP, fused_networks

RUNS, ROWS, LIMIT = 8, 256, 0.15
NETWORKS = {  # sizes, ensemble, layer norm
    "TD3+BC critics": ([37, 256, 256, 1], 2, False),
    "TD3+BC critics, layer norm": ([37, 256, 256, 1], 2, True),
    "ReBRAC critics": ([37, 256, 256, 256, 1], 2, True),
    "ReBRAC actor": ([29, 256, 256, 256, 8], None, False),
    "EDAC actor": ([17, 256, 256, 256, 12], None, False),
    "Adroit critics": ([69, 256, 256, 1], 2, False),
    "Adroit critics, layer norm": ([69, 256, 256, 1], 2, True),
}


def results(kind, fused):
    sizes, ensemble, norm = kind
    keys = jax.random.split(jax.random.key(0), RUNS)
    nets = jax.vmap(lambda key: MLP(key, sizes, ensemble=ensemble, layer_norm=norm))(keys)
    nets = jax.tree.map(lambda leaf: leaf + 0.02 * jax.random.normal(jax.random.key(leaf.ndim), leaf.shape), nets)
    x = jax.random.normal(jax.random.key(1), (RUNS, ROWS, sizes[0]))
    weights = jax.random.normal(jax.random.key(2), (ROWS, sizes[-1]))  # every output has a gradient of its own

    def loss(net, x):
        return (net(x) * weights).sum()

    with fused_networks(fused), jax.default_matmul_precision("highest"):
        functions = (lambda net, x: net(x), jax.grad(loss, (0, 1)), jax.grad(loss, 1))
        return [jax.jit(jax.vmap(function))(nets, x) for function in functions]


def main():
    worst = 0.0
    for name, kind in {name: NETWORKS[name] for name in sys.argv[1:] or NETWORKS}.items():
        pairs = zip(jax.tree.leaves(results(kind, True)), jax.tree.leaves(results(kind, False)), strict=True)
        error = max(float(jnp.linalg.norm(one - other) / jnp.linalg.norm(other)) for one, other in pairs)
        print(f"{name:30} {error:.4f}", flush=True)
        worst = max(worst, error)
    sys.exit(f"expected at most {LIMIT}" if not worst <= LIMIT else 0)


if __name__ == "__main__":
    main()
