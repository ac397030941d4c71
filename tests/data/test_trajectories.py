"""`Trajectories`, and the three ways to build it here: a D4RL-style dict, episodes, `.npz`."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from tests.helpers import make, ragged_lengths

from rewind import DataError, Trajectories, TrajectoryReplay, UsageError
from rewind.data import from_d4rl, from_episodes, load, load_npz, save_npz

FIELDS = ("observations", "actions", "rewards", "lengths", "terminated", "final_observations", "final_known")


def flat(rows=10, terminals=(), timeouts=(), successors=True):
    rng = np.random.default_rng(0)
    observations = rng.standard_normal((rows, 3)).astype(np.float32)
    ends = np.isin(np.arange(rows), [*terminals, *timeouts, rows - 1])
    data = {
        "observations": observations,
        "actions": rng.standard_normal((rows, 2)).astype(np.float32),
        "rewards": rng.standard_normal(rows).astype(np.float32),
        "terminals": np.isin(np.arange(rows), terminals),
        "timeouts": np.isin(np.arange(rows), timeouts),
    }
    if successors:
        after = np.roll(observations, -1, axis=0)
        after[ends] = rng.standard_normal((ends.sum(), 3)).astype(np.float32)
        data["next_observations"] = after
    return data


def test_trajectories_end_at_terminals_and_timeouts_and_terminal_wins():
    data = from_d4rl(flat(10, terminals=[3, 6], timeouts=[6, 8]))
    assert data.lengths.tolist() == [4, 3, 2, 1]
    assert data.terminated.tolist() == [True, True, False, False]


def test_the_true_successor_at_a_timeout_comes_from_next_observations():
    given = flat(10, timeouts=[4])
    data = from_d4rl(given)
    assert np.array_equal(data.successors(np.arange(10)), given["next_observations"])


def test_without_next_observations_a_timeout_has_no_successor():
    data = from_d4rl(flat(10, terminals=[9], timeouts=[4], successors=False))
    assert data.final_known.tolist() == [False, False]
    assert data.transitions.tolist() == [4, 5]
    with pytest.raises(DataError, match="row 4 was cut by a time-out"):
        data.successors(np.array([4]))


def test_boundaries_come_back_from_data_without_timeouts():
    """D4RL's qlearning_dataset drops the time-out rows and flags; the break in the chain is still there."""
    given = flat(10, timeouts=[4])
    del given["timeouts"]
    assert from_d4rl(given).lengths.tolist() == [5, 5]


def test_successors_that_do_not_chain_are_an_error_that_names_the_row():
    given = flat(10, timeouts=[4])
    given["timeouts"][:] = False
    with pytest.raises(DataError, match="next_observations at row 4 is not the observation of row 5"):
        from_d4rl(given)


def test_no_flags_at_all_is_an_error():
    given = flat(10, successors=False)
    del given["timeouts"]
    with pytest.raises(DataError, match="neither 'timeouts' nor 'next_observations'"):
        from_d4rl(given)


@pytest.mark.parametrize("length", [50, 500])
def test_the_footprint_is_at_most_1_15_times_the_raw_data(length):
    data = make(np.full(20_000 // length, length), observation=17, action=6)
    raw = data.rows * (17 + 6 + 1) * 4
    assert data.nbytes <= 1.15 * raw


def test_float32_data_is_not_copied():
    given = flat(10, terminals=[9])
    assert np.shares_memory(from_d4rl(given).observations, given["observations"])


def test_edits_of_the_callers_rewards_and_ends_change_nothing():
    data = replace(make([3, 4], known=1.0), inner_terminals=np.arange(7) == 1)
    names = ("rewards", "terminated", "final_known", "lengths", "inner_terminals")
    arrays = {name: getattr(data, name).copy() for name in names}
    again = replace(data, **arrays)
    for name, array in arrays.items():
        array[:] = array == 0
        assert np.array_equal(getattr(again, name), getattr(data, name)), name
        with pytest.raises(ValueError, match="read-only"):
            getattr(again, name)[:] = 0


def test_a_memory_keeps_the_rewards_its_priorities_are_made_of():
    log = flat(10, terminals=[4, 9])
    memory = TrajectoryReplay("return", seed=0)
    memory.load_offline_dataset(log)
    before = log["rewards"].copy()
    log["rewards"][:] = 99
    log["terminals"][:] = True
    batch = memory.sample(2)
    assert np.array_equal(batch.rewards, before[batch.indices])
    assert batch.terminals.all() and not memory.sample(2).terminals.any()


@settings(deadline=None, max_examples=30)
@given(ragged_lengths())
def test_episodes_out_and_in_are_equal(lengths):
    data = make(lengths)
    again = from_episodes(data.episodes())
    for name in FIELDS:
        if name != "final_observations":
            assert np.array_equal(getattr(data, name), getattr(again, name)), name
    assert np.array_equal(data.final_observations[data.final_known], again.final_observations[again.final_known])


@settings(deadline=None, max_examples=15)
@given(lengths=ragged_lengths())
def test_npz_out_and_in_are_equal(tmp_path_factory, lengths):
    path = tmp_path_factory.mktemp("npz") / "data.npz"
    data = make(lengths)
    save_npz(data, path)
    again = load_npz(path)
    for name in FIELDS:
        assert np.array_equal(getattr(data, name), getattr(again, name)), name
    assert again.fingerprint == data.fingerprint
    assert [p.name for p in path.parent.iterdir()] == ["data.npz"]  # no temporary file is left


def test_integer_observations_and_discrete_actions_stay_integers():
    data = from_d4rl(flat(6, terminals=[5], successors=False) | {"observations": np.arange(6), "actions": np.arange(6)})
    assert data.observations.dtype.kind == data.actions.dtype.kind == "i"
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(data)
    assert memory.sample(1).next_observations.shape == (1,)


def test_integers_of_another_byte_order_become_those_of_this_machine():
    actions = np.arange(6, dtype=np.dtype("i4").newbyteorder())
    data = from_d4rl(flat(6, terminals=[5], successors=False) | {"actions": actions})
    assert data.actions.dtype == np.int32 and (data.actions == actions).all()


def test_map_rewards_records_what_was_done():
    data = make([3, 4]).map_rewards(lambda r: r - 1, "r - 1")
    assert data.notes["rewards"] == "r - 1"
    assert np.allclose(data.rewards, make([3, 4]).rewards - 1)


def test_fingerprints_tell_data_apart():
    assert make([3, 4]).fingerprint == make([3, 4]).fingerprint
    assert len({make([3, 4]).fingerprint, make([4, 3]).fingerprint, make([3, 4], seed=1).fingerprint}) == 3


# Bad input: what, where, what was expected


def changed(**changes):
    return {**flat(10, terminals=[3], timeouts=[6]), **changes}


def poisoned(key, row, value):
    data = flat(10, terminals=[3], timeouts=[6])
    data[key] = data[key].copy()
    data[key][row] = value
    return data


def without(key):
    data = changed()
    del data[key]
    return data


BAD = {
    "NaN": (poisoned("observations", 5, np.nan), r"observations has a value that is NaN.* at row 5 \(trajectory 1\)"),
    "infinity": (poisoned("rewards", 8, np.inf), r"rewards has .* at row 8 \(trajectory 2\)"),
    "too large": (changed(actions=np.full((10, 2), 1e300)), "actions has .* too large for float32"),
    "NaN successor": (poisoned("next_observations", 6, np.nan), "final_observations has .* at trajectory 1"),
    "lengths disagree": (changed(actions=np.zeros((9, 2))), "actions has 9 rows, but rewards has 10"),
    "missing key": (without("rewards"), "missing rewards; the data has: actions, next_observations, observations"),
    "empty": (changed(observations=np.zeros((0, 3)), rewards=[], actions=[], terminals=[], timeouts=[]), "empty"),
    "strings": (changed(actions=np.array(["a"] * 10)), "actions has dtype <U1; expected floats"),
    "objects": (changed(observations=np.array([None] * 10)), "observations has dtype object"),
    "complex": (changed(rewards=np.zeros(10, complex)), "rewards has dtype complex128"),
    "flag of 2": (changed(terminals=np.full(10, 2)), "terminals is 2 at row 0; expected 0 or 1"),
    "flags of another shape": (changed(timeouts=np.zeros((10, 2))), r"timeouts has shape \(10, 2\)"),
    "successors of another shape": (changed(next_observations=np.zeros((10, 4))), r"next_observations has shape"),
    "2-D rewards": (changed(rewards=np.zeros((10, 2))), r"rewards has shape \(10, 2\)"),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_bad_data_is_refused_with_what_and_where(data, message):
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(make([3, 4], known=1.0))
    with pytest.raises(DataError, match=message):
        memory.load_offline_dataset(data)
    assert len(memory.sample(2)) == 2  # the memory is as it was


def test_lengths_must_be_positive_and_add_up():
    good = make([3, 4])
    with pytest.raises(DataError, match="trajectory 1 has length 0"):
        Trajectories(**{name: getattr(good, name) for name in FIELDS} | {"lengths": [7, 0]})
    with pytest.raises(DataError, match="lengths add up to 6 rows, but there are 7"):
        Trajectories(**{name: getattr(good, name) for name in FIELDS} | {"lengths": [3, 3]})


BAD_EPISODES = {
    "no reward": ({"rewards": []}, "episode 1: no rewards; expected at least 1 step"),
    "counts": ({"actions": np.zeros((2, 1))}, "episode 1: 3 rewards, 2 actions and 3 observations"),
    "no end": ({"terminated": None}, "episode 1: nothing states how it ended"),
    "early terminal": ({"terminated": np.array([0, 1, 0])}, "a terminal at step 1 of 3"),
    "another width": (
        {"observations": np.zeros((3, 5))},
        r"observations have shape \(5,\), but those of episode 0 \(2,\)",
    ),
    "missing": ({"observations": None}, "episode 1: missing observations"),
    "broken chain": ({"next_observations": np.ones((3, 2))}, "next_observations are not the following observations"),
}


@pytest.mark.parametrize(("change", "message"), BAD_EPISODES.values(), ids=BAD_EPISODES)
def test_bad_episodes_are_refused_with_what_and_where(change, message):
    good = {"observations": np.zeros((3, 2)), "actions": np.zeros((3, 1)), "rewards": np.zeros(3), "terminated": True}
    with pytest.raises(DataError, match=message):
        from_episodes([good, {**good, **change}])


def test_episodes_with_whole_numbers_and_others_keep_them_all():
    episode = {"observations": np.zeros((3, 2)), "rewards": np.zeros(3), "terminated": True}
    actions = [[1, 2, 3], [0.5, 1.5, 2.5], [4, 5, 6]]
    data = from_episodes({**episode, "actions": np.array(given)} for given in actions)
    assert data.actions.dtype == np.float32 and data.actions.tolist() == np.ravel(actions).tolist()


def test_trajectories_are_selected_by_number_or_by_a_mask_and_at_least_one():
    data = make([2, 3, 1])
    chosen = data.select(np.array([2, 0]))
    assert chosen.lengths.tolist() == [1, 2] and chosen.notes["selected"] == "2 of 3 trajectories"
    np.testing.assert_array_equal(chosen.rewards, data.rewards[[5, 0, 1]])
    masked = data.select(np.array([True, False, True]))
    assert masked.lengths.tolist() == [2, 1] and masked.notes["selected"] == "2 of 3 trajectories"
    for nothing in ([], np.array([], int), np.zeros(3, bool)):
        with pytest.raises(UsageError, match="no trajectories to select; expected at least one of the 3"):
            data.select(nothing)


def test_nothing_to_replay_is_an_error():
    with pytest.raises(DataError, match="nothing to replay"):
        TrajectoryReplay().load_offline_dataset(make([1, 1], terminated=0.0, known=0.0))


def test_files_that_are_not_npz_are_refused(tmp_path):
    text = tmp_path / "text.npz"
    text.write_text("hello")
    with pytest.raises(DataError, match=r"not a readable \.npz file"):
        load(text)
    with pytest.raises(DataError, match="no file"):
        load(tmp_path / "nowhere.npz")
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, observations=np.array([{}], dtype=object))
    with pytest.raises(DataError, match=r"not a readable \.npz file"):
        load(pickled)


def test_things_that_hold_no_trajectories_are_refused():
    with pytest.raises(DataError, match="cannot read trajectories from int"):
        load(3)
