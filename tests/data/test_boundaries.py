"""Boundary rules decide which rows belong together, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.logs import ant_log, assert_equal, flat_log

from rewind.data import from_d4rl, from_episodes, from_steps, load
from rewind.data.boundaries import jumps
from rewind.errors import DataError, UsageError

RULES = ("flags", "flags+jump", "timeouts_only")


@settings(max_examples=60, deadline=None)
@given(
    flags=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30),
    successors=st.booleans(),
    merge=st.booleans(),
    rule=st.sampled_from(RULES),
)
def test_no_rule_changes_a_row(flags, successors, merge, rule):
    log = flat_log([len(flags)], [True], successors=successors)
    log["terminals"], log["timeouts"] = (np.array(column) for column in zip(*flags, strict=True))
    data = from_d4rl(log, boundaries=rule, merge_fragments=merge)
    for name in ("observations", "actions", "rewards", "terminals"):
        np.testing.assert_array_equal(getattr(data, name), log[name])
    if successors:
        np.testing.assert_array_equal(data.successors(np.arange(data.rows)), log["next_observations"])
    assert data.notes["boundaries"] == rule


def test_the_picture_in_the_module():
    log = flat_log([8, 2], [False, False])
    log["terminals"][3:6], log["timeouts"][7] = True, False
    lengths = {
        ("flags+jump", False): [4, 1, 1, 2, 2],
        ("flags+jump", True): [6, 2, 2],
    }
    for (rule, merge), expected in lengths.items():
        data = from_d4rl(log, boundaries=rule, merge_fragments=merge)
        assert data.lengths.tolist() == expected
        assert data.notes["jumps"] == 1 and data.notes["jumps_found_by"] == "next_observations"
    del log["next_observations"]
    assert from_d4rl(log).lengths.tolist() == [4, 1, 1, 4]
    assert from_d4rl(log, merge_fragments=True).lengths.tolist() == [6, 4]
    assert from_d4rl(log, boundaries="timeouts_only").lengths.tolist() == [10]


def test_fragments_that_do_not_go_on_from_the_row_before_stay_apart():
    log = flat_log([3, 1, 1], [True, True, True])
    assert from_d4rl(log, merge_fragments=True).lengths.tolist() == [3, 1, 1]
    log["next_observations"][2] = log["observations"][3]
    assert from_d4rl(log, merge_fragments=True).lengths.tolist() == [4, 1]


def test_one_step_timeouts_are_no_success_and_stay():
    log = flat_log([5], [True])
    log["timeouts"][:] = [0, 0, 1, 1, 0]
    assert from_d4rl(log, merge_fragments=True).lengths.tolist() == [3, 2]
    log["terminals"][3] = True  # a fragment of one step, after a time-out that was no end: it goes on from it
    assert from_d4rl(log, merge_fragments=True).lengths.tolist() == [5]


def test_smooth_data_has_no_jumps():
    rng = np.random.default_rng(0)
    time = np.arange(20_000)[:, None] * rng.uniform(0.01, 0.05, 6)
    walks = {
        "waves": np.sin(time),
        "normal steps": np.cumsum(rng.normal(size=(20_000, 6)), axis=0),
        "heavy-tailed steps": np.cumsum(rng.standard_t(3, size=(20_000, 6)), axis=0),
        "standing, then moving": np.cumsum(rng.normal(size=(20_000, 6)) * (time % 2 > 1), axis=0),
        "rare switches": np.cumsum(rng.random((20_000, 6)) < 0.001, axis=0),
        "constants": np.ones((20_000, 2)),
        "noise": rng.normal(size=(20_000, 6)),
        "clipped noise": np.clip(rng.standard_t(2, size=(20_000, 6)), -2, 2),
    }
    for name, observations in walks.items():
        found = jumps(observations.astype(np.float32), np.zeros(20_000, bool))
        assert not found.any(), name


def test_where_flags_mark_all_ends_no_jump_is_added():
    log, last = ant_log(episodes=30)
    log["timeouts"][:] = False
    log["timeouts"][last] = True
    data = from_d4rl(log, boundaries="flags+jump")
    assert data.notes["jumps"] == 0 and data.notes["jumps_found_by"] == "step size"


def test_too_few_steps_are_not_judged():
    observations = np.zeros((500, 1), np.float32)
    observations[250:] = 100
    assert not jumps(observations, np.zeros(500, bool)).any()


def test_without_timeouts_breaks_in_next_observations_end_trajectories():
    log = flat_log([3, 4, 2], [True, False, False])
    del log["timeouts"]
    for rule in ("flags", "flags+jump"):
        assert from_d4rl(log, boundaries=rule).lengths.tolist() == [3, 4, 2]


def test_without_timeouts_and_successors_only_jumps_can_tell():
    log, last = ant_log()
    del log["timeouts"]
    with pytest.raises(DataError, match="flags\\+jump"):
        from_d4rl(log)
    with pytest.raises(DataError, match="no 'timeouts'"):
        from_d4rl(log, boundaries="timeouts_only")
    assert np.isin(last, from_d4rl(log, boundaries="flags+jump").ends).mean() > 0.95


def test_a_break_without_a_flag_is_an_error_that_names_the_rule():
    log = flat_log([3, 4], [False, False])
    log["timeouts"][2] = False
    with pytest.raises(DataError, match=r"at row 2 is not the observation of row 3.*flags\+jump"):
        from_d4rl(log)


def test_nan_is_reported_as_nan_not_as_a_break():
    log = flat_log([3, 4], [False, False])
    log["observations"][5] = log["next_observations"][4] = np.nan
    with pytest.raises(DataError, match=r"NaN.*row 5"):
        from_d4rl(log)


def test_an_unknown_rule_names_the_known_ones():
    with pytest.raises(UsageError, match="did you mean 'flags'"):
        from_d4rl(flat_log([3], [True]), boundaries="flag")


@pytest.mark.parametrize("bad", [2, 0.5, -1])
def test_flags_are_0_or_1(bad):
    log = flat_log([3, 4], [True, False])
    log["terminals"] = log["terminals"].astype(float)
    log["terminals"][4] = bad
    with pytest.raises(DataError, match="at row 4; expected 0 or 1"):
        from_d4rl(log)


# One set of names, in every reader

NAMES = {
    "D4RL": ("terminals", "timeouts"),
    "Gymnasium, plural": ("terminations", "truncations"),
    "Gymnasium": ("terminated", "truncated"),
}


def renamed(log, terminals, timeouts):
    other = dict(log)
    return {terminals: other.pop("terminals"), timeouts: other.pop("timeouts"), **other}


def all_readers(log, tmp_path, **options):
    """The log through each reader of flat columns."""
    h5py = pytest.importorskip("h5py")
    np.savez(tmp_path / "log.npz", **log)
    with h5py.File(tmp_path / "log.hdf5", "w") as file:
        for key, value in log.items():
            file[key] = value
    for source in (log, tmp_path / "log.npz", tmp_path / "log.hdf5"):
        yield lambda source=source: load(source, **options)


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_flags_have_the_names_of_d4rl_or_gymnasium(names, tmp_path):
    log = flat_log([3, 4, 2], [True, False, True])
    for read in all_readers(renamed(log, *names), tmp_path):
        assert_equal(read(), from_d4rl(log))
    episodes = [{names[0]: episode.pop("terminated"), **episode} for episode in from_d4rl(log).episodes()]
    assert_equal(from_episodes(episodes), from_d4rl(log))


def test_dones_alone_are_never_terminals(tmp_path):
    log = flat_log([3, 4, 2], [True, False, True])
    dones = {key: value for key, value in log.items() if key not in ("terminals", "timeouts")}
    dones["dones"] = log["terminals"] | log["timeouts"]
    for read in all_readers(dones, tmp_path):
        with pytest.raises(DataError, match="'dones' does not tell terminals from time-outs: add 'timeouts'"):
            read()
    for names in NAMES.values():
        for name, flags in zip(names, ("terminals", "timeouts"), strict=True):
            for read in all_readers({**dones, name: log[flags]}, tmp_path):
                assert_equal(read(), from_d4rl(log))
    with pytest.raises(DataError, match="'dones' is True at row 2, which is neither"):
        from_d4rl({**dones, "terminals": np.zeros(9, bool), "timeouts": log["timeouts"]})
    episode = {"observations": np.zeros((3, 2)), "actions": np.zeros((2, 1)), "rewards": np.zeros(2)}
    with pytest.raises(DataError, match="episode 0: 'dones' does not tell"):
        from_episodes([{**episode, "dones": [False, True]}])
    cut = from_episodes([{**episode, "dones": [False, True], "truncations": [False, True]}])
    assert cut.terminated.tolist() == [False]


def test_two_columns_of_one_meaning_must_be_equal():
    log = flat_log([3, 4], [True, False])
    assert_equal(from_d4rl({**log, "terminated": log["terminals"]}), from_d4rl(log))
    with pytest.raises(DataError, match="'terminals' and 'terminated' mean the same, but differ"):
        from_d4rl({**log, "terminated": ~log["terminals"]})


# Lengths, and what is said beside them


def test_beside_lengths_flags_and_successors_are_used(tmp_path):
    log = flat_log([3, 4, 2], [True, False, True])
    expected = from_d4rl(log)
    plain = {key: log[key] for key in ("observations", "actions", "rewards")} | {"lengths": np.array([3, 4, 2])}
    for extra in (
        {"terminated": expected.terminated},
        {"terminals": log["terminals"]},
        {"terminations": log["terminals"], "truncations": log["timeouts"]},
        {"dones": np.ones(3, bool), "truncated": ~expected.terminated},
    ):
        for read in all_readers({**plain, **extra, "next_observations": log["next_observations"]}, tmp_path):
            data = read()
            assert_equal(data, expected)
            assert data.notes == {"boundaries": "lengths"}
        for read in all_readers({**plain, **extra}, tmp_path):
            assert read().terminated.tolist() == [True, False, True] and not read().final_known.any()
    for read in all_readers(plain, tmp_path):
        assert not read().terminated.any() and read().lengths.tolist() == [3, 4, 2]


def test_what_contradicts_lengths_is_an_error(tmp_path):
    log = flat_log([3, 4], [True, False])
    for change, message in (
        ({"lengths": [2, 5]}, "next_observations at row 2 is not the observation of row 3, though no length ends"),
        ({"lengths": [3, 3]}, "lengths add up to 6 rows"),
        ({"lengths": [3, 4], "timeouts": np.arange(7) == 1}, "a time-out at row 1, inside a trajectory"),
    ):
        for read in all_readers({**log, **change}, tmp_path):
            with pytest.raises(DataError, match=message):
                read()
    with pytest.raises(DataError, match="missing terminals"):
        from_d4rl({key: log[key] for key in log if key != "terminals"} | {"lengths": np.array([3, 4])})


def test_parts_of_our_own_format_are_not_left_unread(tmp_path):
    data = from_d4rl(flat_log([3, 4], [True, False]))
    own = data.arrays()
    for change, message in (
        ({"final_known": None}, "missing final_known"),
        ({"next_observations": data.observations}, "next_observations beside final_observations.*: leave it out"),
        ({"terminals": data.terminals}, "terminals beside final_observations"),
    ):
        np.savez(tmp_path / "x.npz", **{key: value for key, value in {**own, **change}.items() if value is not None})
        with pytest.raises(DataError, match=message):
            load(tmp_path / "x.npz")


@pytest.mark.parametrize("bad", [np.nan, 0.5, "False", b"False"])
@pytest.mark.parametrize("field", ["terminated", "final_known", "inner_terminals"])
def test_a_flag_that_is_no_flag_is_never_true(bad, field):
    data = from_d4rl(flat_log([3, 4], [True, False]))
    flags = np.full(7 if field == "inner_terminals" else 2, bad)
    with pytest.raises(DataError, match=rf"{field} (is (nan|0\.5) at row 0; expected 0 or 1|has dtype [<|].*)"):
        replace(data, **{field: flags})
    with pytest.raises(DataError, match="terminated"):
        from_episodes([{"observations": [[1.0]], "actions": [0], "rewards": [0], "terminated": bad}])
    with pytest.raises(DataError, match=r"truncated"):
        from_steps([([1.0], 0, 0.0, [2.0], False, bad)])


def test_keys_that_nothing_uses_are_named_in_the_notes(tmp_path):
    extra = {"costs": np.ones(7), "log_prob": np.ones(7)}
    data = from_d4rl(flat_log([3, 4], [True, False]) | extra)
    assert data.notes["not_used"] == ["costs", "log_prob"]
    np.savez(tmp_path / "x.npz", **flat_log([3, 4], [True, False]), **extra)
    assert load(tmp_path / "x.npz").notes["not_used"] == ["costs", "log_prob"]
    episodes = [{**episode, "infos": {}} for episode in data.episodes()]
    assert load(episodes).notes["not_used"] == ["infos"]
