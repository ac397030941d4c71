"""Laws that hold for every agent."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("equinox")
pytest.importorskip("optax")

import jax
import jax.numpy as jnp
from tests.agents.cases import ACTION, LIMIT, NUMBERS, OBSERVATION, ROWS, batch_of, make, start

from rewind.agents import AGENTS
from rewind.errors import UsageError

# IQL and BC for discrete actions share all but a loss with those of others; EDAC takes the longest to compile.
LONG = {"edac", "discrete_bc", "discrete_iql"}
NAMES = [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in sorted(AGENTS)]
everyone = pytest.mark.parametrize("name", NAMES)


def stack(trees):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def arrays(tree):
    """All numbers of a pytree, those of random keys included."""
    leaves = jax.tree.leaves(tree)
    return [jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x for x in leaves]


@cache
def compiled_update(kind):
    """One for all tests: agents of one kind and size share a program."""
    return jax.jit(kind.update)


def update_of(agent):
    return compiled_update(type(agent))


@pytest.mark.parametrize(
    ("name", "more"),
    [*(pytest.param(*name.values, {}, marks=name.marks) for name in NAMES), ("iql", {"layer_norm": True})],
)
def test_runs_with_other_seeds_and_numbers_under_vmap_equal_the_runs_alone(name, more):
    rates = [1e-4, 3e-4, 1e-3, 3e-3]
    betas = [{}] * 4 if make(name).beta is None else [{"beta": beta} for beta in (0.0, 0.5, 0.98, 1.0)]
    agents = [
        make(name, **{"critic_rate" if name == "dqn" else "actor_rate": rate}, **beta, **more)
        for rate, beta in zip(rates, betas, strict=True)
    ]
    states = [start(agent, seed) for seed, agent in enumerate(agents)]
    batches = [batch_of(agent, seed) for seed, agent in enumerate(agents)]
    together = jax.jit(jax.vmap(type(agents[0]).update))(stack(agents), stack(states), stack(batches))
    for run, alone in enumerate(map(update_of(agents[0]), agents, states, batches)):
        for one, other in zip(arrays(together), arrays(alone), strict=True):
            np.testing.assert_allclose(one[run], other, rtol=1e-4, atol=1e-5)


WRONG = {"discount": 2, "beta": -0.1, "expectile": 5, "critic_rate": -1e-3, "target_rate": 1.5, "alpha": np.inf,
         "eta": np.nan, "target_high": np.nan, "max_action": 0.0, "ensemble": 0, "hidden": ("wide",)}  # fmt: skip


@everyone
def test_fields_have_ranges_and_infinity_is_for_bounds_alone(name):
    kind = AGENTS[name]
    for field, value in WRONG.items():
        if kind.has(field):
            with pytest.raises(UsageError, match=rf"{field}.* is .*; expected"):
                make(name, **{field: value})
    jax.eval_shape(lambda beta: make(name, **({"beta": beta} if kind.has("beta") else {})), 0.5)  # traced: no range


@everyone
def test_numbers_are_traced_and_sizes_are_not(name):
    traces = []

    @jax.jit
    def update(agent, state, batch):
        traces.append(agent)
        return agent.update(state, batch)

    agent = make(name)
    state, batch = start(agent), batch_of(agent)
    update(agent, state, batch)
    for number in NUMBERS[name]:
        update(make(name, **{number: 1}), state, batch)
    if agent.beta is not None:
        update(make(name, beta=0.25, discount=jnp.float32(0.9)), state, batch)
    assert len(traces) == 1
    wide = make(name, hidden=(8, 8))
    update(wide, start(wide), batch)
    assert len(traces) == 2


@everyone
def test_a_new_state_and_a_trained_one_share_a_program(name):
    agent = make(name)
    update, state = update_of(agent), agent.init(jax.random.key(0), ROWS)
    kinds = [[leaf.aval for leaf in jax.tree.leaves(state)]]
    for seed in range(2):
        state, *_ = update(agent, state, batch_of(agent, seed))
        kinds.append([leaf.aval for leaf in jax.tree.leaves(state)])
    assert kinds[0] == kinds[1] == kinds[2]  # shape, dtype and weak typing


@everyone
def test_every_number_of_an_agent_changes_what_it_learns(name):
    agent = make(name)
    update, state, batch = update_of(agent), start(agent), batch_of(agent)
    state, *_ = update(agent, state, batch)  # a decay shows from the second update on
    usual = arrays(update(agent, state, batch)[0])
    numbers = [field for field in vars(agent) if isinstance(getattr(agent, field), (jax.Array, np.ndarray))]
    assert set(NUMBERS[name]) <= set(numbers)
    for field in numbers:
        changed, *_ = update(make(name, **{field: 0.7 * getattr(agent, field)}), state, batch)
        assert any((x != y).any() for x, y in zip(arrays(changed), usual, strict=True)), field


@everyone
def test_actions_are_deterministic_and_within_max_action(name):
    agent = make(name)
    policy = agent.policy(start(agent))
    observations = 100 * np.random.default_rng(0).normal(size=(ROWS, OBSERVATION)).astype(np.float32)
    actions = agent.act(policy, observations)
    assert actions.shape == (ROWS, ACTION)
    if agent.discrete:
        assert (jnp.sort(actions)[:, :-1] == 0).all() and (actions.max(1) == 1).all()
        assert (actions.argmax(1) == policy(observations).argmax(1)).all()
    else:
        assert (jnp.abs(actions) <= LIMIT).all()
        assert jnp.abs(actions).max() > 1
    assert (actions == agent.act(policy, observations)).all()


@everyone
def test_an_update_learns_from_exactly_period_batches(name):
    agent = make(name)
    state, batch = start(agent), batch_of(agent)
    _, metrics, uncertainty = update_of(agent)(agent, state, batch)
    assert uncertainty.shape == (agent.period, ROWS)
    assert all(metric.shape == () for metric in metrics.values())
    longer = jax.tree.map(lambda x: np.concatenate([x, x]), batch)
    with pytest.raises(UsageError, match=f"takes {agent.period} batch"):
        update_of(agent)(agent, state, longer)


@everyone
def test_states_are_made_under_vmap_and_can_be_donated(name):
    agents, keys = stack([make(name)] * 2), jax.random.split(jax.random.key(0), 2)
    batch = stack([batch_of(make(name))] * 2)
    for init in (lambda agent, key: agent.init(key, ROWS), jax.jit(lambda agent, key: agent.init(key, ROWS))):
        states = jax.vmap(init)(agents, keys)
        update = jax.jit(jax.vmap(AGENTS[name].update), donate_argnums=1)
        state, *_ = update(agents, states, batch)
        assert all(jnp.isfinite(leaf).all() for leaf in arrays(state))
    alone = make(name).init(keys[1], ROWS)
    for one, other in zip(arrays(jax.vmap(init)(agents, keys)), arrays(alone), strict=True):
        np.testing.assert_array_equal(one[1], other)


@everyone
def test_the_state_keeps_its_shape_so_that_updates_can_be_scanned(name):
    agent = make(name)
    state = agent.init(jax.random.key(0), ROWS)
    plan = stack([batch_of(agent, seed) for seed in range(3)])

    @jax.jit
    def train(agent, state, plan):
        def body(state, batch):
            state, metrics, uncertainty = agent.update(state, batch)
            return state, (metrics, uncertainty)

        return jax.lax.scan(body, state, plan)

    _, (metrics, uncertainty) = train(agent, state, plan)
    assert uncertainty.shape == (3, agent.period, ROWS)
    assert all(jnp.isfinite(metric).all() for metric in metrics.values())


def test_flat_critics_have_no_diversity_and_no_nan():
    agent = make("edac")
    state = start(agent)
    flat = jax.tree.map(jnp.zeros_like, state.critics.params)
    state = state._replace(critics=state.critics._replace(params=flat))
    state, metrics, _ = update_of(agent)(agent, state, batch_of(agent))
    assert metrics["diversity"] == 0
    assert all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(state.critics))


def test_critics_that_agree_have_the_largest_diversity_loss_and_no_uncertainty():
    agent = make("edac")
    state = start(agent)
    same = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[:1], leaf.shape), state.critics.params)
    state = state._replace(critics=state.critics._replace(params=same))
    _, metrics, uncertainty = update_of(agent)(agent, state, batch_of(agent))
    np.testing.assert_allclose(metrics["diversity"], agent.ensemble, rtol=1e-5)
    np.testing.assert_allclose(uncertainty, 0, atol=1e-6)


def test_the_learning_rate_of_iql_ends_at_zero_and_stays_there():
    agent = make("iql", total_steps=2)
    update, state = update_of(agent), start(agent)
    policies = [agent.policy(state)]
    for seed in range(4):
        state, *_ = update(agent, state, batch_of(agent, seed))
        policies.append(agent.policy(state))
    moved = [float(jnp.abs(after.weights[0] - before.weights[0]).max()) for before, after in pairwise(policies)]
    assert moved[0] > moved[1] > 0
    assert moved[2] == moved[3] == 0
