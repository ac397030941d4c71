"""Whole networks as kernels: the same numbers as the plain ones, here in Pallas' interpreter."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rewind.agents import Transitions, fused, kernels
from rewind.agents.edac import EDAC
from rewind.agents.iql import IQL
from rewind.agents.networks import MLP, fused_networks
from rewind.agents.rebrac import ReBRAC
from rewind.agents.td3_bc import TD3BC
from rewind.training.engine import Engine
from rewind.training.view import DeviceTable

SIZES = [  # and whether with layer norm
    ([14, 64, 64, 1], 2, False),
    ([14, 64, 64, 64, 1], 2, True),
    ([29, 128, 128, 8], None, False),
    ([80, 64, 64, 8], None, False),  # too wide to be kept
    ([14, 64, 64, 5], None, True),
    ([80, 128, 128, 1], 2, True),  # likewise, with layer norm
    ([29, 64, 64, 64, 8], None, False),
    ([37, 128, 128, 128, 1], 2, True),
]


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of float32 numbers: what is left is the order of sums."""
    monkeypatch.setattr(kernels, "PRODUCT", jnp.float32)


def network(sizes: list[int], ensemble: int | None, norm: bool = False) -> tuple[MLP, jax.Array]:
    mlp = MLP(jax.random.PRNGKey(0), sizes, ensemble=ensemble, layer_norm=norm)
    keys = jax.random.split(jax.random.PRNGKey(2), len(jax.tree.leaves(mlp)))
    moved = [
        leaf + 0.1 * jax.random.normal(key, leaf.shape) for leaf, key in zip(jax.tree.leaves(mlp), keys, strict=True)
    ]
    mlp = jax.tree.unflatten(jax.tree.structure(mlp), moved)  # scales and shifts that do something
    return mlp, jax.random.normal(jax.random.PRNGKey(1), (256, sizes[0]))


def loss_of(wanted: bool) -> Any:
    def loss(mlp: MLP, x: jax.Array) -> jax.Array:
        with fused_networks(wanted):
            return jnp.sin(mlp(x)).sum()

    return loss


def assert_close(found: Any, expected: Any, tolerance: float) -> None:
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype
        assert jnp.linalg.norm(one - other) <= tolerance * (jnp.linalg.norm(other) + 1e-6)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(
    ("sizes", "ensemble", "norm"), [*SIZES[:2], *(pytest.param(*case, marks=pytest.mark.long) for case in SIZES[2:])]
)
def test_outputs_and_gradients_are_those_of_the_plain_network(
    sizes: list[int], ensemble: int | None, norm: bool
) -> None:
    mlp, x = network(sizes, ensemble, norm)
    plain = mlp(x)
    with fused_networks(True):
        found = mlp(x)
        assert "pallas_call" in str(jax.make_jaxpr(mlp)(x))
    assert_close(found, plain, 1e-5)
    for wanted in (0, 1, (0, 1)):  # of the parameters, of the inputs, of both
        found, expected = (jax.jit(jax.grad(loss_of(each), wanted))(mlp, x) for each in (True, False))
        assert_close(found, expected, 1e-5)


@pytest.mark.usefixtures("exact")
def test_runs_together_have_gradients_of_their_own() -> None:
    mlps = jax.vmap(lambda key: MLP(key, [14, 64, 64, 1], ensemble=2))(jax.random.split(jax.random.PRNGKey(0), 3))
    x = jax.random.normal(jax.random.PRNGKey(1), (3, 128, 14))
    found, expected = (jax.jit(jax.vmap(jax.grad(loss_of(each))))(mlps, x) for each in (True, False))
    assert_close(found, expected, 1e-5)


def test_products_are_rounded_to_bfloat16() -> None:
    mlp, x = network([17, 64, 64, 6], None)
    with fused_networks(True):
        found = mlp(x)
    plain = mlp(x)
    error = float(jnp.linalg.norm(found - plain) / jnp.linalg.norm(plain))
    assert 1e-5 < error < 1e-2
    assert found.dtype == jnp.float32


@pytest.mark.parametrize(
    ("sizes", "rows", "why"),
    [
        ([14, 64, 64, 64, 64, 1], 256, "four hidden layers"),
        ([14, 64, 128, 1], 256, "unequal layers"),
        ([14, 96, 96, 1], 256, "no power of two"),
        ([14, 512, 512, 1], 256, "too large for the chip"),
        ([400, 64, 64, 1], 256, "too many inputs"),
        ([80, 64, 64, 64, 1], 256, "too many inputs for three hidden layers"),
        ([14, 64, 64, 1], 100, "rows that do not fill a program"),
    ],
)
def test_what_does_not_fit_stays_plain(sizes: list[int], rows: int, why: str) -> None:
    mlp = MLP(jax.random.PRNGKey(0), sizes)
    x = jnp.ones((rows, sizes[0]))
    assert not fused.fits(sizes, rows), why
    plain = mlp(x)
    with fused_networks(True):
        np.testing.assert_array_equal(mlp(x), plain)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("kind", [TD3BC, *(pytest.param(kind, marks=pytest.mark.long) for kind in (IQL, ReBRAC, EDAC))])
def test_an_update_is_the_same(kind: Any) -> None:
    rng = np.random.default_rng(0)
    agent = kind(5, 3, hidden=(64, 64, 64) if kind in (ReBRAC, EDAC) else (64, 64))
    lead = (agent.period, 128)
    parts = [rng.uniform(-1, 1, (*lead, *size)).astype(np.float32) for size in ((5,), (3,), (), (5,), (3,))]
    *transition, following = map(jnp.asarray, parts)
    ends, known = jnp.zeros(lead, bool), jnp.ones(lead, bool)
    batch = Transitions(*transition, ends, known, None, *((following, known) if agent.next_actions else ()))
    results = []
    for wanted in (True, False):
        with fused_networks(wanted):
            results.append(jax.jit(partial(kind.update, agent))(agent.init(jax.random.PRNGKey(0), 128), batch))
    assert_close(*results, 1e-3)


def test_an_engine_uses_them_where_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def called(*arguments: Any) -> None:
        raise InterruptedError

    monkeypatch.setattr(fused, "mlp", called)
    table = DeviceTable(jnp.zeros((100, 15)))
    plan = np.zeros((2, 2, 128), int), np.zeros((2, 2, 128), bool)
    agents = [TD3BC(5, 3, hidden=(64, 64))] * 2
    assert np.asarray(Engine(agents, [0, 1], table, 128).run(*plan).alive).all()
    with pytest.raises(InterruptedError):
        Engine(agents, [0, 1], table, 128, fused=True).run(*plan)


def test_the_kernels_compile_for_an_nvidia_gpu_up_to_where_one_is_needed() -> None:
    mlp, x = network([14, 256, 256, 1], 2)
    params = tuple(leaf for layer in zip(mlp.weights, mlp.biases, strict=True) for leaf in layer)
    gradients = jax.jit(jax.grad(lambda params, x: fused.mlp(params, x).sum(), (0, 1)))
    try:
        text = gradients.trace(params, x).lower(lowering_platforms=("cuda",)).as_text()
    except RuntimeError as error:
        if "No supported GPU devices" not in str(error):
            raise
        pytest.skip("JAX 0.12 lowers such kernels only where there is a GPU")
    assert "mlp_forward" in text and "mlp_backward" in text
