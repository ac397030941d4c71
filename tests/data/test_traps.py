"""The traps in offline-RL data that users of D4RL, CORL, Minari and d3rlpy have reported, one by one."""

import numpy as np
import pytest
from tests.data.logs import ant_log, flat_log

from rewind import TrajectoryReplay, UniformReplay
from rewind.data import from_d4rl, from_steps, load, save_hdf5
from rewind.data.catalogue import catalogue, entry, known_label, normalised_score
from rewind.errors import DataError, DownloadError
from rewind.report.inspection import inspect


def kinds(data):
    return {problem.kind for problem in inspect(data).problems}


def test_trap_1_trajectories_end_at_terminals_or_timeouts():
    data = from_d4rl(flat_log([3, 1, 4], [True, False, False]))
    assert data.lengths.tolist() == [3, 1, 4]
    assert data.terminated.tolist() == [True, False, False]


def test_trap_1_a_timeout_keeps_its_true_successor_where_it_was_recorded():
    log = flat_log([3, 4], [False, False])
    data = from_d4rl(log)
    np.testing.assert_array_equal(data.successors(np.arange(7)), log["next_observations"])


def limited(lengths, terminated, last=True):
    """A log with terminals at these steps, of which it says that none is a time-out."""
    log = flat_log([*lengths, 3], [*terminated, last])
    return {**log, "timeouts": np.zeros(len(log["rewards"]), bool)}


FORMS = {
    "no time-out is set": lambda log: load(log),
    "no time-outs": lambda log: load({key: value for key, value in log.items() if key != "timeouts"}),
    "episodes": lambda log: load([*load(log).episodes()]),
    "steps": lambda log: from_steps(
        zip(*(log[key] for key in ("observations", "actions", "rewards", "next_observations", "terminals")),
            log["timeouts"], strict=True)
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.filterwarnings("ignore:.*nothing says time-out")
def test_trap_1_terminals_that_all_fall_on_one_step_are_doubted_even_if_the_last_trajectory_is_cut(form):
    expected = "all 4 trajectories{} end with a terminal at step 3, and nothing says time-out"
    assert form(limited([3] * 3, [True] * 3)).notes["doubt"].startswith(expected.format(""))
    cut = {key: value[:-1] for key, value in limited([3] * 4, [True] * 4).items()}
    assert form(cut).notes["doubt"].startswith(expected.format(" before the last"))
    for no_doubt in (
        limited([3] * 2, [True] * 2),  # three may agree by chance
        limited([3, 3, 2, 3, 3], [True] * 5),
        limited([1] * 5, [True] * 5),
        limited([2] * 5, [True] * 5, last=False),  # the last one is longer, and no terminal
        limited([3] * 5, [True] * 5, last=False),
    ):
        assert "doubt" not in form(no_doubt).notes


def test_trap_1_a_timeout_without_successor_is_not_paired_with_the_next_trajectory():
    data = from_d4rl(flat_log([3, 4], [False, True], successors=False))
    assert data.transitions.tolist() == [2, 4]
    with pytest.raises(DataError, match="successor was not recorded"):
        data.successors(np.array([2]))
    memory = UniformReplay(seed=0)
    memory.load_offline_dataset(data)
    assert 2 not in memory.plan(50, 16).indices
    assert "missing successors" in kinds(data)


def test_trap_2_antmaze_v0_timeouts_are_out_of_step_and_the_jump_test_finds_the_true_ends():
    log, last = ant_log()
    unflagged = last[~log["terminals"][last]]  # those at the goal carry a terminal
    ends = from_d4rl(log, boundaries="flags+jump").ends
    assert np.isin(unflagged, ends).mean() > 0.95
    assert np.isin(unflagged, from_d4rl(log, boundaries="flags").ends).mean() < 0.05
    added = np.setdiff1d(ends, np.flatnonzero(log["terminals"] | log["timeouts"]))
    assert np.isin(added, last).all(), "no split inside an episode"


def test_trap_2_antmaze_v0_success_fragments_are_merged_into_the_episode_they_end():
    log, last = ant_log()
    split = from_d4rl(log, boundaries="flags+jump")
    merged = from_d4rl(log, boundaries="flags+jump", merge_fragments=True)
    assert (split.lengths == 1).mean() > 0.9, "flags alone: mostly fragments of one step"
    assert "single steps" in kinds(split)
    assert (merged.lengths == 1).mean() < 0.1
    assert merged.notes["merged_fragments"] == len(split) - len(merged)
    found = np.intersect1d(last, split.ends)
    assert np.isin(found, merged.ends).all(), "no merge across a reset"


@pytest.mark.filterwarnings("ignore:32 slots")
def test_trap_2_merging_changes_no_transition():
    """Rows at the goal keep their terminals, so their targets are y = r as in the file, whatever the rewards' scale."""
    log, _ = ant_log(episodes=10)
    memories = {}
    for merge in (False, True):
        data = from_d4rl(log, boundaries="flags+jump", merge_fragments=merge)
        np.testing.assert_array_equal(data.terminals, log["terminals"])
        memories[merge] = TrajectoryReplay(seed=0), UniformReplay(seed=0)
        for memory in memories[merge]:
            memory.load_offline_dataset(data)
            for _ in range(300):
                batch = memory.sample(32)
                np.testing.assert_array_equal(batch.terminals, log["terminals"][batch.indices])
                inside = ~batch.terminals
                np.testing.assert_array_equal(
                    batch.next_observations[inside], log["observations"][batch.indices[inside] + 1]
                )


def test_trap_2_inner_terminals_survive_in_a_memory_that_grows():
    log, _ = ant_log(episodes=4)
    merged = from_d4rl(log, boundaries="flags+jump", merge_fragments=True)
    plain = from_d4rl(flat_log([5, 5], [True, False], size=6))
    memory = UniformReplay(seed=0)
    memory.load_offline_dataset(plain)
    memory.add(merged)
    memory.add(plain)
    batch = memory.sample(4000)
    expected = np.concatenate([plain.terminals, merged.terminals, plain.terminals])
    np.testing.assert_array_equal(batch.terminals, expected[batch.indices])


def test_trap_2_the_catalogue_knows_which_sets_need_it():
    for known in catalogue().values():
        wanted = "flags+jump" if known.suite == "antmaze" and known.name.endswith("v0") else "flags"
        assert known.boundaries == wanted
        assert known.merge_fragments == (known.suite == "antmaze")


def test_trap_3_a_cut_of_the_collector_is_not_a_terminal():
    """medium-replay: a short trajectory, cut at 1000 samples, goes on bootstrapping from its true successor."""
    data = from_d4rl(flat_log([700, 300, 650], [True, False, True]))
    assert data.lengths.tolist() == [700, 300, 650]
    assert not data.terminated[1] and data.final_known[1]
    assert data.transitions[1] == 300


def test_trap_4_terminal_wins_over_timeout():
    log = flat_log([3, 3], [True, False])
    log["timeouts"][2] = True
    assert from_d4rl(log).terminated.tolist() == [True, False]
    assert from_d4rl(log, boundaries="timeouts_only").terminated.tolist() == [True, False]


def test_trap_5_maze2d_timeouts_mark_goals_and_terminals_end_nothing():
    log = flat_log([6, 4], [False, False])
    log["terminals"][[1, 7]] = True
    data = from_d4rl(log, boundaries="timeouts_only")
    assert data.lengths.tolist() == [6, 4]
    assert not data.terminated.any()
    np.testing.assert_array_equal(data.terminals, log["terminals"])


def test_trap_6_fewer_trajectories_than_slots():
    data = from_d4rl(flat_log([5] * 3 + [4], [False] * 4))
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(data)
    with pytest.warns(UserWarning, match="only 4 trajectories"):
        assert len(memory.sample(256)) == 256
    assert "few trajectories" in kinds(data)


def test_trap_7_equal_lengths_put_every_slot_at_the_same_step():
    data = from_d4rl(flat_log([20] * 300, [False] * 300))
    assert "equal lengths" in kinds(data)
    for stagger, steps in ((False, 1), (True, 10)):
        memory = TrajectoryReplay(seed=0, stagger=stagger)
        memory.load_offline_dataset(data)
        assert len(set(memory.sample(256).timesteps.tolist())) >= steps
        assert stagger or len(set(memory.sample(256).timesteps.tolist())) == 1


def test_trap_8_minari_sets_are_not_taken_for_d4rl_data():
    for name in ("mujoco/hopper/medium-v0", "D4RL/antmaze/umaze-v1", "D4RL/door/human-v2"):
        assert name not in catalogue()
        assert known_label(name) is None


def test_trap_9_a_local_file_needs_no_network(tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    monkeypatch.setenv("REWIND_DATA", str(tmp_path))
    save_hdf5(from_d4rl(flat_log([3, 4], [True, False])), tmp_path / entry("hopper-medium-v2").file)
    data = load("hopper-medium-v2")
    assert data.name == "hopper-medium-v2" and data.lengths.tolist() == [3, 4]


def test_trap_9_without_file_and_host_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("REWIND_DATA", str(tmp_path))
    monkeypatch.setenv("D4RL_DATASET_DIR", str(tmp_path))
    monkeypatch.setenv("REWIND_MIRROR", "http://127.0.0.1:9")
    with pytest.raises(DownloadError, match=r"(?s)hopper_medium-v2\.hdf5.*by hand.*rewind/hopper-medium-v1"):
        load("hopper-medium-v2")


def test_trap_10_scores_are_times_100():
    known = entry("hopper-medium-v2")
    assert normalised_score(known.name, known.maximum_score) == pytest.approx(100)


def test_trap_11_d4rl_v2_is_gymnasium_v4():
    assert {known.environment[-3:] for known in catalogue().values() if known.suite == "mujoco"} == {"-v4"}
