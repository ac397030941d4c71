"""Boundary rules decide which rows belong together, and nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.logs import ant_log, flat_log

from rewind.data import from_d4rl
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
