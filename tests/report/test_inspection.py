"""`rewind inspect` says what the data is like."""

import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from tests.data.logs import ant_log, flat_log

from rewind.cli.inspect import Inspect
from rewind.data import from_d4rl, load, save_npz
from rewind.data.flags import split_terminals
from rewind.data.ogbench import BOUNDARIES
from rewind.errors import UsageError
from rewind.memory import PRIORITIES
from rewind.report.inspection import ended_by_terminal, inspect, text

QUALITY = tuple(name for name, priority in PRIORITIES.items() if not priority.dynamic)


def kinds(data):
    return {problem.kind for problem in inspect(data).problems}


def test_the_figures_are_those_of_the_data():
    data = from_d4rl(flat_log([3, 1, 5], [True, False, False], successors=False), "three")
    found = inspect(data)
    assert (found.trajectories, found.rows, found.transitions) == (3, 9, 7)
    assert (found.terminated, found.timeouts_with_successor, found.timeouts_without) == (1, 0, 2)
    assert (found.lengths.smallest, found.lengths.median, found.lengths.largest, found.lengths.mean) == (1, 3, 5, 3)
    assert found.returns.largest == pytest.approx(data.returns.max())
    assert found.rewards.different == 9 and found.rewards.nonzero_share == 1
    assert set(found.metrics) == set(QUALITY) and found.metrics["return"].different == 3
    assert found.notes["boundaries"] == "flags"
    assert found.paper["priority"] == "lower_uqm_unc" and found.auto["priority"] == "uniform"


def test_trajectories_in_ogbenchs_form_are_cut_even_where_the_last_row_is_a_terminal():
    flat = flat_log([3, 3], [True, False])
    data = from_d4rl(flat)
    assert ended_by_terminal(data).tolist() == [True, False] and "1 by a terminal" in text(inspect(data))
    cut = replace(data, notes={"boundaries": BOUNDARIES})
    assert not ended_by_terminal(cut).any()
    assert "all cut, 1 of them with a terminal in their last row" in text(inspect(cut))


def test_sparse_rewards_lead_the_paper_to_quality():
    log, _ = ant_log(episodes=20, horizon=100)
    log["rewards"][:] = 0
    log["rewards"][50] = 1
    found = inspect(from_d4rl(log))
    assert found.paper["priority"] == "avg_reward" and found.rewards.its_share == pytest.approx(0.9995)


def test_rank_correlations_are_spearmans():
    data = from_d4rl(flat_log([4] * 50, [True] * 50))
    found = inspect(data).rank_correlations
    ranks = [
        np.argsort(np.argsort(values)) for values in (data.returns, np.maximum.reduceat(data.rewards, data.starts))
    ]
    assert found["return"]["max_reward"] == pytest.approx(np.corrcoef(ranks)[0, 1])
    assert found["return"]["avg_reward"] == pytest.approx(1)
    flat = inspect(replace(data, rewards=np.ones(200)))
    assert flat.rank_correlations["return"]["avg_reward"] is None
    assert "ties" in kinds(replace(data, rewards=np.ones(200)))


def test_each_problem_is_found_and_good_data_has_none():
    rng = np.random.default_rng(0)
    good = from_d4rl(flat_log(rng.integers(2, 9, 300).tolist(), [False] * 300))
    good = replace(good, observations=np.cumsum(good.observations, axis=0))
    assert kinds(good) == set()
    assert "wide actions" in kinds(replace(good, actions=good.actions * 2))
    still = good.observations.copy()
    still[:, 1] = 7
    assert kinds(replace(good, observations=still)) == {"constant columns"}
    episodes = list(good.episodes())
    from rewind.data import from_episodes

    assert kinds(from_episodes([*episodes, episodes[3]])) == {"duplicates"}
    assert {"few rows", "few trajectories", "equal lengths", "missing successors"} <= kinds(
        from_d4rl(flat_log([4, 4], [True, False], successors=False))
    )
    assert "no ends" in kinds(from_d4rl(flat_log([9], [False], successors=False)))
    assert "no ends" not in kinds(from_d4rl(flat_log([9], [True], successors=False)))
    assert "terminals throughout" not in kinds(good)
    throughout = np.arange(good.rows) < 100  # a flag per episode, repeated in its rows
    assert "terminals throughout" in kinds(replace(good, **split_terminals(throughout, good.ends)))
    choices = np.arange(good.rows) % 3
    assert kinds(replace(good, actions=choices)) == set()
    assert kinds(replace(good, actions=choices - 1)) == {"not for our agents"}
    gaps = problems(replace(good, actions=np.array([5, 15, 25])[choices]))["missing codes"]
    assert "3 of the codes 0 to 25 occur; code them 0, 1, 2, or a policy" in gaps
    many = np.arange(good.rows) % 20 + 1
    assert "20 of the codes 0 to 20 occur; code them 0 to 19," in problems(replace(good, actions=many))["missing codes"]
    assert "few rows" not in kinds(from_d4rl(flat_log([200, 100], [True, True])))
    assert "single steps" in kinds(from_d4rl(flat_log([1] * 3 + [4] * 300, [True] * 303)))
    single = kinds(from_d4rl(flat_log([1] * 300, [True] * 300)))
    assert "single steps" in single and "equal lengths" not in single


def test_a_table_that_is_one_long_trajectory_is_told_apart_by_an_episode_column(tmp_path):
    rows = [f"{time},{time / 10},0.5,1" for time in range(50)]
    (tmp_path / "log.csv").write_text("\n".join(["time,obs_0,action_0,reward", *rows]))
    (problem,) = [one for one in inspect(load(tmp_path / "log.csv")).problems if one.kind == "no ends"]
    assert "time ends nothing before the last of 50 rows" in problem.text and "--episode" in problem.text
    (tmp_path / "log.csv").write_text("\n".join(["time,obs_0,action_0,reward", *rows, *rows]))
    assert "no ends" not in kinds(load(tmp_path / "log.csv"))


def test_the_text_is_aligned_and_names_the_rule(capsys):
    log, _ = ant_log(episodes=8)
    found = inspect(from_d4rl(log, "ants", boundaries="flags+jump", merge_fragments=True))
    lines = text(found).splitlines()
    assert lines[0] == "ants"
    assert any(line.split() == ["boundaries", "flags+jump"] for line in lines)
    assert any("merged fragments" in line for line in lines) and any("inner terminals" in line for line in lines)
    table = [line for line in lines if line.lstrip().startswith(("smallest", *QUALITY))]
    assert len(table) == 1 + len(QUALITY) and len({len(line) for line in table}) == 1
    assert max(map(len, lines)) <= 120 and not any(line.endswith(" ") for line in lines)


def test_the_command_prints_writes_and_draws(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    save_npz(from_d4rl(flat_log([3, 1, 5], [True, False, False])), tmp_path / "x.npz")
    Inspect(str(tmp_path / "x.npz"), json=tmp_path / "x.json", plot=tmp_path / "x.png").run()
    assert "trajectories  3" in capsys.readouterr().out.replace(" " * 5, " " * 2)
    figures = json.loads((tmp_path / "x.json").read_text())
    assert figures["trajectories"] == 3 and figures["auto"]["label"] == "dense"
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_an_unknown_kind_is_refused(tmp_path):
    pytest.importorskip("matplotlib")
    save_npz(from_d4rl(flat_log([3, 1, 5], [True, False, False])), tmp_path / "x.npz")
    with pytest.raises(UsageError, match=r"x\.foo: expected a picture with the ending \.png"):
        Inspect(str(tmp_path / "x.npz"), plot=tmp_path / "x.foo").run()


def test_one_trajectory_of_one_step_can_be_inspected_and_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    save_npz(from_d4rl(flat_log([1], [True])), tmp_path / "x.npz")
    Inspect(str(tmp_path / "x.npz"), json=tmp_path / "x.json", plot=tmp_path / "x.png").run()
    figures = json.loads((tmp_path / "x.json").read_text())
    assert (figures["trajectories"], figures["rows"]) == (1, 1)
    assert figures["rank_correlations"]["return"]["avg_reward"] is None, "there is nothing to rank"
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_reads_by_the_rule_it_is_given(tmp_path, capsys):
    log, _ = ant_log(episodes=8)
    np.savez(tmp_path / "ants.npz", **log)
    Inspect(str(tmp_path / "ants.npz"), boundaries="flags+jump", merge_fragments=True).run()
    out = capsys.readouterr().out
    assert "flags+jump" in out and "step size" in out


def test_notes_are_told_in_words():
    made = {
        "seed": 0,
        "recipe": {"size": 5},
        "policies": [{"name": "ant", "sha256": "ab"}],
        "reached_own_goal": 0.98765,
    }
    shown = text(inspect(replace(from_d4rl(flat_log([3], [True])), notes={"made": made, "merged_fragments": 1234})))
    assert "made              seed 0, policies ant, reached own goal 0.9877\n" in shown and "{" not in shown
    assert "merged fragments  1,234\n" in shown


def smooth(lengths, seed=0):
    """Random walks, all cut."""
    data = from_d4rl(flat_log(lengths, [False] * len(lengths), seed))
    return replace(data, observations=np.cumsum(data.observations, axis=0))


def problems(data):
    return {problem.kind: problem.text for problem in inspect(data).problems}


def test_rewards_that_teach_nothing_and_rows_after_success_are_told():
    data = smooth([20] * 100)
    assert "every reward is 0" in problems(replace(data, rewards=np.zeros(2000)))["equal rewards"]
    rewards = np.zeros(2000)
    rewards[14:20] = rewards[39] = rewards[55] = 1  # 5, 0 and 4 rows follow a first success
    assert problems(replace(data, rewards=rewards))["rows after success"].startswith("9 rows (0%) come after")
    inner = rewards == 1
    inner[data.ends] = False
    ended = replace(data, rewards=rewards, inner_terminals=inner, terminated=rewards[data.ends] == 1)
    assert "rows after success" not in problems(ended)
    assert "rows after success" not in problems(replace(data, rewards=rewards + np.arange(2000) / 1e4))


def test_trajectories_in_which_nothing_changes_are_told_with_their_numbers():
    data = smooth([20] * 60)
    observations = data.observations.copy()
    observations[3 * 20 + 8 : 4 * 20] = observations[3 * 20 + 8]
    observations[50 * 20 : 51 * 20] = 0
    observations[9 * 20 + 14 : 10 * 20] = 7  # too short a rest
    assert (
        "in 2 trajectories (3, 50) no observation"
        in problems(replace(data, observations=observations))["nothing changes"]
    )


def test_rows_out_of_order_are_told():
    data = smooth([50] * 60)
    assert not {"unsorted rows", "jumps"} & set(problems(data))
    rng = np.random.default_rng(0)
    order = np.concatenate([start + rng.permutation(50) for start in data.starts])
    assert "unsorted rows" in problems(replace(data, observations=data.observations[order]))
    joined = data.observations.copy()
    joined[60:80] += 1000
    assert "2 steps inside" in problems(replace(data, observations=joined))["jumps"]


def test_duplicates_are_named_and_an_overlap_with_another_file_is_told(tmp_path, capsys):
    data = smooth([5, 6, 7, 8])
    twice = data.select(np.array([0, 1, 2, 1, 3, 0]))
    assert "2 trajectories are copies of others (3, 5)" in problems(twice)["duplicates"]
    once = problems(data.select(np.array([0, 1, 1])))
    assert "1 trajectory is a copy of others (2)" in once["duplicates"]
    assert problems(data.select(np.array([0])))["few trajectories"].startswith("1 trajectory for the usual")
    save_npz(data, tmp_path / "train.npz")
    save_npz(replace(smooth([5, 6, 7], seed=1), name="valid"), tmp_path / "valid.npz")
    save_npz(replace(data.select(np.array([2])), name="leak"), tmp_path / "leak.npz")
    Inspect(str(tmp_path / "train.npz"), against=str(tmp_path / "valid.npz")).run()
    assert "overlap" not in capsys.readouterr().out
    Inspect(str(tmp_path / "train.npz"), against=str(tmp_path / "leak.npz")).run()
    assert "1 trajectory (2) and 7 rows (26.9%) are also in leak" in " ".join(capsys.readouterr().out.split())


def test_terminals_at_one_step_without_time_outs_are_told():
    assert "terminals at one step" not in problems(from_d4rl(flat_log([6] * 5, [True] * 4 + [False])))
    log = flat_log([6] * 4, [True] * 4)
    for _ in range(2):  # with time-outs of which none is set, and without any
        with pytest.warns(UserWarning, match="all 4 trajectories end with a terminal at step 6"):
            assert "terminals at one step" in problems(from_d4rl(log))
        log.pop("timeouts", None)


def test_dict_observations_have_the_problems_of_their_parts_and_are_not_copied():
    rng, data = np.random.default_rng(0), smooth([50] * 60)
    parts = {"wide": rng.random((3000, 1000), np.float32), "still": np.zeros((3000, 2)), "rest": data.observations}
    parts["wide"][150:200] = parts["rest"][150:200] = 1  # nothing changes in trajectory 3
    parts["wide"][250:300] = 1  # only one part rests in trajectory 5
    finals = {key: part[data.ends] for key, part in parts.items()}
    dicts = replace(data, observations=parts, final_observations=finals)
    tracemalloc.start()
    try:
        found = problems(dicts)
        assert tracemalloc.get_traced_memory()[1] < 0.5 * dicts.nbytes
    finally:
        tracemalloc.stop()
    width = 1002 + data.observations.shape[1]
    assert found["constant columns"].startswith(f"2 of {width} observation columns never change ({width - 1002}, ")
    assert "in 1 trajectory (3)" in found["nothing changes"] and "duplicates" not in found


def test_small_logs_rewards_that_all_differ_and_rounding_are_readable():
    log = flat_log([4, 6, 5] * 4, [True] * 12)
    found = text(inspect(from_d4rl({**log, "rewards": np.arange(60.0)})))
    assert " kB\n" in found and "all different, 98.3% are not 0\n" in found
    assert "all 60 rewards are different, so rewards are dense" in found and "e-" not in found
    found = text(inspect(from_d4rl({**log, "rewards": np.ones(60)})))
    assert "the commonest, 1, is 100.0% of them, 100.0% are not 0, 1 different value\n" in found
