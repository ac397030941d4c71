"""Discrete actions, images, dict observations and extra columns go through the memory unchanged."""

import json

import numpy as np
import pytest

from rewind import DataError, PrioritizedReplay, TrajectoryReplay, UniformReplay, load
from rewind.data import from_d4rl, from_episodes, from_steps, load_npz, save_hdf5, save_npz
from rewind.data.parts import each_part
from tests.kinds import KINDS, LENGTHS, data_of
from tests.memory.test_online import KINDS as MEMORIES


def assert_same(one, other):
    """Arrays or dicts of them, with the same types."""
    if isinstance(one, dict):
        assert list(one) == list(other)
        each_part(assert_same, one, other)
    elif one is not None or other is not None:
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def assert_batches(one, other):
    for name in ("observations", "actions", "rewards", "next_observations", "terminals", "tails", "fresh", "extras"):
        assert_same(getattr(one, name), getattr(other, name))


def assert_rows_of(batch, data):
    """Every row of a batch is that row of the data, part by part."""
    for name in ("observations", "actions", "extras"):
        rows = batch.indices
        assert_same(getattr(batch, name), each_part(lambda part, rows=rows: part[rows], getattr(data, name)))
    live = ~batch.terminals
    after = each_part(lambda part: part[live], batch.next_observations)
    assert_same(after, data.successors(batch.indices[live]))


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("memory", MEMORIES.values(), ids=MEMORIES)
def test_batches_plans_and_chunks_hold_the_rows_of_the_data(kind, memory):
    data, memory = data_of(kind), memory(seed=0)
    memory.load_offline_dataset(data)
    for _ in range(10):
        assert_rows_of(memory.sample(4), data)
    plan = memory.plan(10, 4)
    for step in range(10):
        assert_rows_of(memory.gather(plan, step), data)
        chunks = memory.gather(plan, step, 3)
        rows = chunks.indices
        for name in ("observations", "actions", "extras"):
            expected = each_part(lambda part, rows=rows: part[rows], getattr(data, name))
            assert_same(getattr(chunks, name), expected)


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@pytest.mark.parametrize("capacity", [None, 40])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("memory", MEMORIES.values(), ids=MEMORIES)
def test_what_is_added_and_saved_continues_with_the_same_batches(kind, memory, capacity):
    one, other = memory(seed=0, capacity=capacity), memory(seed=9, capacity=capacity)
    truth = list(data_of(kind).episodes())
    one.load_offline_dataset(truth)
    for seed in range(1, 8):
        batch = one.sample(3)
        one.update_uncertainty(np.abs(batch.rewards))
        more = list(data_of(kind, LENGTHS[:3], seed).episodes())
        truth += more
        one.add(more)
    other.load_state_dict(one.state_dict(data=True))
    for seed in range(20, 25):
        batch = one.sample(3)
        assert_batches(batch, other.sample(3))
        for slot, (number, step) in enumerate(zip(batch.trajectories, batch.timesteps, strict=True)):
            for name in ("observations", "actions"):
                expected = each_part(lambda part, step=step: part[step], truth[number][name])
                assert_same(each_part(lambda part, slot=slot: part[slot], getattr(batch, name)), expected)
        more = list(data_of(kind, LENGTHS[:2], seed).episodes())
        truth += more
        for each in (one, other):
            each.update_uncertainty(np.abs(batch.rewards))
            each.add(more)
    assert one.store.fingerprint == other.store.fingerprint


@pytest.mark.parametrize("kind", KINDS)
def test_files_episodes_and_flat_logs_hold_every_kind(kind, tmp_path):
    data = data_of(kind)
    save_npz(data, tmp_path / "data.npz")
    flat = {"observations": data.observations, "actions": data.actions, "rewards": data.rewards}
    flat |= {"terminals": data.terminals, "timeouts": np.zeros(data.rows, bool), "extras": data.extras}
    flat["timeouts"][data.ends] = ~data.terminated
    flat["next_observations"] = data.successors(np.arange(data.rows))
    np.savez(tmp_path / "flat.npz", **{k: v for k, v in flat.items() if not isinstance(v, dict)})
    for found in (load_npz(tmp_path / "data.npz"), from_episodes(data.episodes()), from_d4rl(flat), load(flat)):
        assert found.digest == data.digest and found.fingerprint == data.fingerprint
    shorter = data.select(np.array([2, 0]))
    assert from_episodes([list(data.episodes())[i] for i in (2, 0)]).digest == shorter.digest
    if kind in ("dict", "extras"):
        with pytest.raises(DataError, match=r"write an \.npz file"):
            save_hdf5(data, tmp_path / "data.hdf5")


def test_extras_are_columns_that_are_asked_for(tmp_path):
    data = data_of("extras")
    flat = {"observations": data.observations, "actions": data.actions, "rewards": data.rewards, **data.extras}
    flat |= {"lengths": data.lengths, "terminals": data.terminated}
    assert not load(flat).extras
    kept = load(flat, extras=["costs"])
    assert_same(kept.extras, {"costs": data.extras["costs"]})
    np.savez(tmp_path / "flat.npz", **flat)
    assert_same(load(tmp_path / "flat.npz", extras=["costs"]).extras, kept.extras)
    with pytest.raises(DataError, match="missing cost; the data has: actions, costs"):
        load(flat, extras=["cost"])
    with pytest.raises(DataError, match="episode 0: missing cost, which extras asks for"):
        load(list(data.episodes()), extras=["cost"])
    with pytest.raises(DataError, match=r"extras/costs has shape \(3,\); expected 29 rows"):
        load({**flat, "costs": np.zeros(3)}, extras=["costs"])


def test_keys_are_held_in_alphabetical_order_and_must_agree():
    data = data_of("dict")
    assert list(data.observations) == list(data.final_observations) == ["image", "room", "state"]
    episodes = list(data.episodes())
    fewer = {**episodes[1], "observations": {"state": episodes[1]["observations"]["state"]}}
    with pytest.raises(DataError, match="episode 1: observations have shape"):
        load([episodes[0], fewer])
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(data)
    with pytest.raises(DataError, match=r"added observations are state float32 \(3,\); the memory holds image uint8"):
        memory.add({**fewer, "extras": {}})
    nested = {**episodes[0], "observations": {"camera": {"left": np.zeros((6, 2))}}}
    with pytest.raises(DataError, match="observations 'camera' is a dict of its own"):
        load([nested])
    with pytest.raises(DataError, match=r"added extras are missing; the memory holds costs int64 \(2,\), log_prob"):
        memory.add({key: value for key, value in episodes[0].items() if key != "extras"})


def test_steps_with_dict_observations_become_one_episode():
    first, second, third = ({"at": np.array([i, i + 0.5]), "room": i} for i in range(3))
    data = from_steps([(first, 1, 0.0, second, False, False), (second, 0, 1.0, third, True, False)])
    assert list(data.lengths) == [2] and data.observations["room"].tolist() == [0, 1]
    assert data.final_observations["at"].tolist() == [[2, 2.5]]


@pytest.mark.parametrize("kind", KINDS)
def test_jax_gets_the_same_numbers(kind):
    jax = pytest.importorskip("jax")
    memory = UniformReplay(seed=0)
    memory.load_offline_dataset(data_of(kind))
    batch = memory.sample(4)
    converted = batch.as_jax()
    for name in ("observations", "actions", "next_observations", "extras"):
        for one, other in zip(
            jax.tree.leaves(getattr(converted, name)), jax.tree.leaves(getattr(batch, name)), strict=True
        ):
            assert isinstance(one, jax.Array)
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-6)
    assert converted.host is batch


def test_a_small_state_with_dicts_is_json():
    memory = PrioritizedReplay(seed=0)
    memory.load_offline_dataset(data_of("dict"))
    other = PrioritizedReplay(seed=1)
    other.load_state_dict(json.loads(json.dumps(memory.state_dict(data=True))))
    assert_batches(memory.sample(5), other.sample(5))


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_and_a_plan_are_shown_in_one_line(kind):
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(data_of(kind))
    assert repr(memory.plan(3, 4)) == "<Plan of 3 batches of 4, after 0>"
    for shown in map(repr, (memory.sample(4), memory.sample_chunks(4, 2))):
        assert shown.startswith("<Batch of 4: observations ") and "rewards (4," in shown
        assert len(shown) < 500 and "\n" not in shown
