"""A saved state continues with exactly the same batches."""

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind import PrioritizedReplay, TrajectoryReplay, UniformReplay, UsageError, WeightedTarget, load
from rewind.data.folder import save_folder
from tests.helpers import make, ragged_lengths

FACTORIES = {
    "uniform transitions": lambda seed: UniformReplay(seed=seed),
    "transitions by TD error": lambda seed: PrioritizedReplay(seed=seed),
    "TR": lambda seed: TrajectoryReplay(seed=seed),
    "TR, epochs, staggered": lambda seed: TrajectoryReplay(reuse="epoch", stagger=True, seed=seed),
    "PTR by quality": lambda seed: TrajectoryReplay("uqm_reward", seed=seed),
    "PTR by uncertainty": lambda seed: TrajectoryReplay("lower_uqm_unc", seed=seed),
    "PTR by uncertainty, replacement": lambda seed: TrajectoryReplay("higher_lqm_unc", reuse="replacement", seed=seed),
}

CONTROLS = {
    "shuffled, by softmax": lambda seed: TrajectoryReplay(
        "advantage", order="shuffled", weighting="softmax", stagger=True, seed=seed
    ),
}


def feed(memory, plan):
    values = np.cos(plan.indices + plan.first_step).astype(np.float32) + 2
    memory.update_uncertainty(values, plan)
    memory.update_priorities(values, plan)


def through_a_file(state):
    """As a user would keep it: NumPy's own format, without pickle."""
    file = io.BytesIO()
    np.savez(file, **{key: np.asarray(value) for key, value in state.items()})
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        return {key: archive[key] if archive[key].ndim else archive[key].item() for key in archive.files}


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@pytest.mark.parametrize("factory", (FACTORIES | CONTROLS).values(), ids=FACTORIES | CONTROLS)
@settings(deadline=None, max_examples=20)
@given(ragged_lengths(), st.integers(1, 5), st.integers(0, 23), st.booleans(), st.integers(1, 5))
def test_a_loaded_state_continues_exactly(factory, lengths, batch_size, before, pending, steps):
    data = make(lengths)
    memory = factory(1)
    memory.load_offline_dataset(data)
    for _ in range(before):
        feed(memory, memory.plan(steps, batch_size))
    if pending:
        memory.plan(steps, batch_size)  # saved in the middle: planned, not yet fed
    state = through_a_file(memory.state_dict())
    uses_feedback = isinstance(memory, PrioritizedReplay) or getattr(memory, "dynamic", False)
    assert not (pending and uses_feedback) or "pending.first_step" in state
    other = factory(99)
    other.load_offline_dataset(data)
    other.plan(3, batch_size)  # whatever it did before is forgotten
    other.load_state_dict(state)
    if pending and "pending.first_step" in state:
        values = np.linspace(1, 2, steps * batch_size).reshape(steps, batch_size)
        for each in (memory, other):
            each.update_uncertainty(values)
            each.update_priorities(values)
    for _ in range(6):
        first, second = memory.plan(steps, batch_size), other.plan(steps, batch_size)
        for name in ("indices", "fresh", "trajectories"):
            assert np.array_equal(getattr(first, name), getattr(second, name))
        feed(memory, first)
        feed(other, second)


def through_torch(state):
    torch = pytest.importorskip("torch")
    file = io.BytesIO()
    torch.save({"memory": state}, file)
    file.seek(0)
    return torch.load(file, weights_only=True)["memory"]


def through_npz(state):
    """Without a word about types: `np.load` returns arrays for numbers and strings too."""
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    return np.load(file, allow_pickle=False)


def through_json(state):
    return json.loads(json.dumps(state))


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("through", [through_torch, through_npz, through_json])
@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES)
def test_states_pass_through_torch_npz_and_json(factory, through, large, monkeypatch):
    if large:
        if through is through_json:
            pytest.skip("JSON takes small states only")
        monkeypatch.setattr("rewind.arrays.LISTED", 3)  # every other array as bytes
    data = make([4, 2, 5, 3])
    memory, target = factory(1), WeightedTarget(0.9, 0.5)
    memory.load_offline_dataset(data)
    for _ in range(3):
        target(memory.sample(2), np.ones(2, np.float32))
        memory.update_uncertainty([1.0, 2.0])
    state = memory.state_dict(data=True)
    plain = (str, int, float, bool, list, bytearray)
    assert all(type(value) in plain for value in {**state, **target.state_dict()}.values())
    other, other_target = factory(5), WeightedTarget(0.9, 0.5)
    other.load_state_dict(through(state))  # into an empty memory
    other.load_state_dict(through(memory.state_dict()))
    other.load_state_dict(memory.snapshot())  # as states were before
    other_target.load_state_dict(through(target.state_dict()))
    for _ in range(9):
        first, second = memory.sample(2), other.sample(2)
        assert np.array_equal(first.observations, second.observations)
        ones = np.ones(2, np.float32)
        assert np.array_equal(target(first, ones), other_target(second, ones))


def test_saving_does_not_disturb_the_memory():
    data = make([4, 2, 5, 3])
    saved, plain = TrajectoryReplay("lower_mean_unc", seed=0), TrajectoryReplay("lower_mean_unc", seed=0)
    for memory in (saved, plain):
        memory.load_offline_dataset(data)
    for _ in range(30):
        saved.state_dict()
        first, second = saved.plan(2, 2), plain.plan(2, 2)
        assert np.array_equal(first.indices, second.indices)
        feed(saved, first)
        feed(plain, second)


def test_the_state_is_small_open_sweeps_and_one_value_per_trajectory():
    data = make(np.full(2000, 500), known=1.0)
    memory = TrajectoryReplay("lower_uqm_unc", stagger=True, seed=0)
    memory.load_offline_dataset(data)
    for _ in range(4):
        feed(memory, memory.plan(100, 64))
    size = sum(np.asarray(value).nbytes for value in memory.snapshot().values())
    assert size < 64 * 500 * 4 + 2000 * 16 + 64 * 100  # open rows, trajectories, slots
    assert size < data.nbytes / 100


def test_states_that_do_not_fit_are_refused_and_change_nothing():
    data, other_data = make([4, 2, 5, 3]), make([4, 2, 5, 3], seed=1)
    memory = TrajectoryReplay("return", seed=0)
    memory.load_offline_dataset(data)
    memory.plan(3, 2)
    state = memory.state_dict()
    cases = {
        "other data": (TrajectoryReplay("return", seed=5), other_data),
        "priority 'return', this memory has 'uniform'": (TrajectoryReplay(seed=5), data),
        "alpha 1.0, this memory has 2.0": (TrajectoryReplay("return", alpha=2.0, seed=5), data),
        "state of a TrajectoryReplay": (UniformReplay(seed=5), data),
    }
    for message, (receiver, its_data) in cases.items():
        receiver.load_offline_dataset(its_data)
        untouched = type(receiver)(
            **(
                {"priority": receiver.priority, "alpha": receiver.alpha}
                if isinstance(receiver, TrajectoryReplay)
                else {}
            ),
            seed=5,
        )
        untouched.load_offline_dataset(its_data)
        with pytest.raises(UsageError, match=message):
            receiver.load_state_dict(state)
        assert np.array_equal(receiver.plan(9, 2).indices, untouched.plan(9, 2).indices)


@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES)
def test_an_incomplete_state_is_refused_and_changes_nothing(factory):
    data = make([4, 2, 5, 3])
    memory, untouched = factory(1), factory(1)
    for each in (memory, untouched):
        each.load_offline_dataset(data)
        feed(each, each.plan(3, 2))
    state = memory.state_dict()
    for key in state:
        if key.startswith("pending."):
            continue
        with pytest.raises(UsageError):
            memory.load_state_dict({name: value for name, value in state.items() if name != key})
    for array in ("values", "weights"):
        if array in state:
            with pytest.raises(UsageError, match="incomplete or damaged"):
                memory.load_state_dict({**state, array: state[array][:-1]})
    with pytest.raises(UsageError, match="expected what state_dict"):
        memory.load_state_dict(None)
    assert np.array_equal(memory.plan(9, 2).indices, untouched.plan(9, 2).indices)


def test_a_memory_says_what_it_is_and_holds():
    memory = TrajectoryReplay("uqm_reward", seed=0)
    assert "empty" in repr(memory)
    memory.load_offline_dataset(make([4, 2, 5, 3], known=1.0))
    settings = "priority='uqm_reward', alpha=1.0, reuse='on_finish', stagger=False"
    assert repr(memory) == f"<TrajectoryReplay({settings}): 4 trajectories, 14 transitions>"


@pytest.mark.parametrize("kind", [TrajectoryReplay, UniformReplay, PrioritizedReplay])
def test_a_state_with_data_takes_trajectories_that_were_selected_on_the_disk(kind, tmp_path):
    save_folder(make([4, 2, 5, 3, 6]), tmp_path / "data")
    memory, other = kind(seed=0), kind(seed=1)
    memory.load_offline_dataset(load(tmp_path / "data").select(np.arange(3)))
    other.load_state_dict(memory.state_dict(data=True))
    assert np.array_equal(memory.plan(5, 2).indices, other.plan(5, 2).indices)
    assert np.array_equal(memory.sample(2).next_observations, other.sample(2).next_observations)


def test_a_plan_outlives_the_state_of_a_memory_that_has_grown():
    memory, other = TrajectoryReplay(seed=0, capacity=100), TrajectoryReplay(seed=1, capacity=100)
    for _ in range(2):
        memory.add(make([4, 2, 5]))
    plan = memory.plan(4, 2)
    expected = memory.gather(plan, 3).observations
    for restored in (memory, other):
        restored.load_state_dict(memory.state_dict(data=True))
        assert np.array_equal(restored.gather(plan, 3).observations, expected)


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_feedback_may_be_of_half_precision(library):
    xp = pytest.importorskip(library)
    memory = TrajectoryReplay("lower_mean_unc", seed=0)
    memory.load_offline_dataset(make([2, 2], known=1.0))
    for _ in range(2):
        memory.sample(1)
        memory.update_uncertainty(xp.ones(1, dtype=xp.bfloat16))
    assert sorted(memory.state_dict()["values"]) == [-1.0, float("inf")]
