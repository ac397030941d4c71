"""Data that stays on the disk: read in place, or ahead of its use."""

import numpy as np
import pytest

from rewind import DataError, TrajectoryReplay, UniformReplay, UsageError, load
from rewind.data import convert, from_d4rl, save_hdf5
from rewind.data.folder import save_folder
from rewind.data.parts import named_parts, on_disk
from rewind.memory import ReadAhead
from tests.data.logs import flat_log
from tests.kinds import KINDS, data_of
from tests.memory.test_kinds import assert_batches
from tests.memory.test_online import KINDS as MEMORIES
from tests.memory.test_state import CONTROLS, FACTORIES, feed, through_a_file


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("memory", MEMORIES.values(), ids=MEMORIES)
def test_batches_read_ahead_are_those_of_sample(kind, memory, tmp_path):
    data = data_of(kind, np.array([5, 1, 9, 3, 4, 7]))
    save_folder(data, tmp_path / "data")
    found = load(tmp_path / "data")
    assert found.digest == data.digest and all(map(on_disk, named_parts("", found.observations).values()))
    one, other = memory(seed=0), memory(seed=0)
    one.load_offline_dataset(data)
    other.load_offline_dataset(found)
    ahead = ReadAhead(other, 3, steps=4)
    for batch, _ in zip(ahead, range(20), strict=False):
        expected = one.sample(3)
        assert_batches(batch, expected)
        assert np.array_equal(ahead.plan.indices[0], expected.indices)
    ahead.close()


def test_ranks_follow_feedback_that_names_its_plan():
    data = data_of("discrete")
    memory, direct = (TrajectoryReplay("lower_mean_unc", seed=0) for _ in range(2))
    memory.load_offline_dataset(data)
    direct.load_offline_dataset(data)
    uniform = direct.probabilities()
    ahead, waiting = ReadAhead(memory, 2, steps=3, plans=2), []
    for number in range(30):
        while number % 3 == 0 and len(waiting) < 3:  # the one in use, and two ahead
            waiting.append(direct.plan(3, 2))
        plan = waiting[0][number % 3]
        batch = next(ahead)
        np.testing.assert_array_equal(batch.indices, plan.indices[0])
        memory.update_uncertainty(np.abs(batch.rewards), ahead.plan)
        direct.update_uncertainty(np.abs(data.rewards[plan.indices[0]]), plan)
        if number % 3 == 2:
            waiting.pop(0)
    np.testing.assert_array_equal(memory.probabilities(), direct.probabilities())
    assert not np.array_equal(direct.probabilities(), uniform)
    ahead.close()


@pytest.mark.filterwarnings("ignore:.*played by several slots")
@pytest.mark.parametrize("handed_out", [0, 1, 4, 6, 13])
@pytest.mark.parametrize("factory", (FACTORIES | CONTROLS).values(), ids=FACTORIES | CONTROLS)
def test_a_state_saved_in_the_middle_of_a_plan_continues_exactly(factory, handed_out):
    data = data_of("discrete")
    memory, other, third = (factory(seed) for seed in (0, 7, 7))
    for each in (memory, other, third):
        each.load_offline_dataset(data)
    ahead = ReadAhead(memory, 3, steps=4)
    for _ in range(handed_out):
        next(ahead)
    ahead.state_dict()  # changes nothing
    state = ahead.state_dict()
    following = [next(ahead) for _ in range(15)]
    ahead.close()
    other.load_state_dict(through_a_file(state))
    third.load_state_dict(state)
    for batch, again in zip(following, ReadAhead(other, 3, steps=5), strict=False):
        assert_batches(batch, again)
        assert_batches(batch, third.sample(3))


@pytest.mark.filterwarnings("error:.*keep their old priority")
@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES)
def test_a_state_has_all_feedback_so_far(factory):
    data = data_of("discrete")
    memory, other = factory(0), factory(7)
    for each in (memory, other):
        each.load_offline_dataset(data)
    ahead = ReadAhead(memory, 2, steps=3)
    for _ in range(31):
        next(ahead)
        feed(memory, ahead.plan)
    other.load_state_dict(ahead.state_dict())
    if not isinstance(memory, UniformReplay):
        assert np.array_equal(other.probabilities(), memory.probabilities())
    for _ in range(20):  # no batch is missed
        feed(other, other.plan(1, 2))


def test_a_closed_reader_has_no_further_batch_and_still_a_state():
    memory = UniformReplay(seed=0)
    memory.load_offline_dataset(data_of("discrete"))
    ahead = ReadAhead(memory, 3)
    next(ahead)
    ahead.close()
    assert next(ahead, None) is None and [*ahead] == []
    assert ahead.state_dict()["step"] == 1


def test_an_hdf5_file_becomes_a_folder_without_being_in_memory(tmp_path, capsys):
    h5py = pytest.importorskip("h5py")
    log = flat_log([3, 4, 5], [True, False, True])
    log["observations"] = log["observations"].astype(np.float64)  # compressed doubles, in pieces
    with h5py.File(tmp_path / "log.hdf5", "w") as file:
        for key, value in log.items():
            file.create_dataset(key, data=value, chunks=(2, *value.shape[1:]), compression="gzip")
    convert(tmp_path / "log.hdf5", tmp_path / "folder")
    assert load(tmp_path / "folder").digest == from_d4rl(log).digest
    save_hdf5(from_d4rl(log), tmp_path / "own.hdf5")
    convert(tmp_path / "own.hdf5", tmp_path / "again")
    assert load(tmp_path / "again").digest == from_d4rl(log).digest
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "folder", "log.hdf5", "own.hdf5"]
    pytest.importorskip("tyro")
    from rewind.cli.main import main

    main(["data", "convert", str(tmp_path / "own.hdf5"), str(tmp_path / "third"), "--extras", "timeouts"])
    assert load(tmp_path / "third").extras["timeouts"].sum() == 1 and "stay on the disk" in capsys.readouterr().out
    with pytest.raises(UsageError, match="exists already; choose another folder"):
        convert(tmp_path / "own.hdf5", tmp_path / "again")
    with h5py.File(tmp_path / "own.hdf5") as file:
        data = load({key: file[key] for key in ("observations", "actions", "rewards", "terminals", "timeouts")})
    assert on_disk(data.observations) and np.array_equal(data.observations, from_d4rl(log).observations)


def test_a_damaged_folder_is_one_line_that_names_it(tmp_path):
    save_folder(data_of("dict"), tmp_path / "data")
    whole = (tmp_path / "data" / "actions.npy").read_bytes()
    (tmp_path / "data" / "actions.npy").write_bytes(whole[:-3])
    with pytest.raises(DataError, match=r"data: actions\.npy is not a readable \.npy file"):
        load(tmp_path / "data")
    (tmp_path / "data" / "actions.npy").unlink()
    with pytest.raises(DataError, match=r"data: missing actions\.npy"):
        load(tmp_path / "data")
    (tmp_path / "data" / "rewind.json").write_text("{")
    with pytest.raises(DataError, match="data: its header is damaged"):
        load(tmp_path / "data")
    unsafe = data_of("image")
    inside = {"../out": unsafe.observations}, {"../out": unsafe.final_observations}
    bad = type(unsafe)(
        inside[0], unsafe.actions, unsafe.rewards, unsafe.lengths, unsafe.terminated, inside[1], unsafe.final_known
    )
    with pytest.raises(DataError, match="cannot be the name of a file"):
        save_folder(bad, tmp_path / "bad")
    memory = UniformReplay(seed=0)
    memory.load_offline_dataset(unsafe)
    with pytest.raises(UsageError, match="expected at least 1"):
        ReadAhead(memory, 4, steps=0)


def test_feedback_without_a_plan_is_an_error_whatever_the_size_of_plans():
    memory = TrajectoryReplay("lower_mean_unc", seed=0)
    memory.load_offline_dataset(data_of("discrete"))
    ahead = ReadAhead(memory, 2, steps=1)
    batch = next(ahead)
    with pytest.raises(UsageError, match="before any sample or plan"):
        memory.update_uncertainty(np.abs(batch.rewards))
    memory.update_uncertainty(np.abs(batch.rewards), ahead.plan)
    ahead.close()
