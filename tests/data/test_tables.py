"""A table of steps becomes trajectories by the rules in `rewind.data.table_rows`, or an error that names its place."""

import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.data.layouts import NAMED, steps, text, write
from tests.data.logs import assert_equal
from tests.helpers import make

pa = pytest.importorskip("pyarrow")

from rewind import load
from rewind.cli import main
from rewind.data.columns import write_map
from rewind.errors import DataError, UsageError

DOOR = Path(__file__).parents[2].parent / "shared" / "data" / "door-human-demos.npz"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_is_its_columns_whatever_the_order_of_its_rows(tmp_path, kind):
    columns = steps([4, 1, 6, 2], [True, True, False, False])
    data = load(write(tmp_path / f"log.{kind}", columns), **NAMED)
    assert data.lengths.tolist() == [4, 1, 6, 2] and data.terminated.tolist() == [True, True, False, False]
    assert not data.final_known.any() and data.transitions.sum() == 11 and data.name == "log"
    for role, names in {"observations": ("obs_a", "obs_b"), "actions": ("u1", "u2")}.items():
        np.testing.assert_array_equal(getattr(data, role), np.stack([columns[name] for name in names], axis=1))
    np.testing.assert_array_equal(data.rewards, columns["r"])
    shuffled = np.random.default_rng(1).permutation(13)
    first = list(dict.fromkeys(columns["id"][shuffled] - 7))
    mixed = load(write(tmp_path / f"mixed.{kind}", {n: c[shuffled] for n, c in columns.items()}), **NAMED)
    assert_equal(mixed, data.select(np.array(first)))  # episodes keep the order of their first rows
    assert "not in order" in mixed.notes["sorted"] and "sorted" not in data.notes


def test_a_map_that_inspect_writes_reads_the_same_without_guesses(tmp_path, capsys):
    path = write(tmp_path / "log.csv", steps([4, 3], [True, False]))
    with pytest.warns(UserWarning, match=r"guessed time=t, reward=r, observations=obs_a, obs_b, actions=u1, u2"):
        load(path, episode="id", terminal="over")
    with pytest.warns(UserWarning, match=r"guessed episode=id, .*actions=u1, u2 \(not used: over\); name them if"):
        load(path)
    flags = ["--episode", "id", "--terminal", "over", "--write-map", str(tmp_path / "map.toml")]
    main(["inspect", str(path), *flags])
    assert f"rewind train --dataset {path} --map {tmp_path / 'map.toml'}" in capsys.readouterr().out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_equal(load(path, map=tmp_path / "map.toml"), load(path, **NAMED))
    with pytest.raises(DataError, match=r"log\.csv: no column 'x', named as reward; the table has: id, t, obs_a"):
        load(path, map=tmp_path / "map.toml", reward="x")
    with pytest.raises(
        DataError, match=r"no column 'x', named as reward; no column 'z_\*', named as observations; the"
    ):
        load(path, map=tmp_path / "map.toml", reward="x", observations="z_*")
    strange = {"reward": 'a "b"\\\n', "observations": ["ü"], "horizon": 3, "discrete": True}
    write_map(strange, tmp_path / "strange.toml")
    assert strange.items() <= tomllib.loads((tmp_path / "strange.toml").read_text()).items()


def test_unused_columns_are_named(tmp_path):
    columns = steps([4, 3], [True, False]) | {"cost": np.ones(7), "log_prob": np.ones(7)}
    assert load(write(tmp_path / "log.csv", columns), **NAMED).notes["not_used"] == ["cost", "log_prob"]


def done_table(tmp_path, lengths):
    columns = steps(lengths, [True] * len(lengths))
    return write(tmp_path / "log.csv", {"done" if n == "over" else n: c for n, c in columns.items()})


@pytest.mark.parametrize(
    ("lengths", "horizon", "terminated"),
    [
        ([5, 3, 5, 4, 5], None, [False, True, False, True, False]),  # the longest is the most frequent, but not alone
        ([5, 3, 5, 4], None, [True] * 4),  # two are too few
        ([5] * 3 + [4, 3] * 20, None, [True] * 43),
        ([25] * 3 + [*range(1, 25)], None, [False] * 3 + [True] * 24),
        ([35] * 3 + [*range(1, 35)], None, [True] * 37),  # less than a tenth
        ([5, 3, 5, 4, 5], 0, [True] * 5),
        ([5, 3, 5, 3], None, [True] * 4),
        ([5, 3, 5, 3], 3, [True, False, True, False]),
        ([4, 4], 4, [False, False]),
    ],
)
def test_a_done_at_the_time_limit_is_a_time_out(tmp_path, lengths, horizon, terminated):
    path = done_table(tmp_path, lengths)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        data = load(path, **NAMED | {"terminal": "done"}, horizon=horizon)
    assert data.terminated.tolist() == terminated
    assert ("dones" in data.notes) == (not all(terminated))
    told = [str(warning.message) for warning in warned if "taken for time-outs" in str(warning.message)]
    assert len(told) == (horizon is None and not all(terminated))  # what nobody asked for
    assert all(f"horizon={max(lengths)} if that is right, 0 if not" in message for message in told)


@pytest.mark.parametrize("horizon", [50, None])
@pytest.mark.parametrize("clock", ["steps", "seconds", "running", "no episodes"])
@pytest.mark.parametrize("lost", [10, 0])
def test_the_time_limit_counts_rows_that_are_missing(tmp_path, horizon, clock, lost):
    lengths, named = [50, 30, 50, 20, 50], NAMED | {"terminal": "done", "horizon": horizon}
    columns = steps(lengths, [True] * 5)
    columns["done"] = columns.pop("over")
    if clock == "seconds":
        columns["t"] = columns["t"] * 0.1 + 0.004 * np.random.default_rng(0).random(200) * (columns["t"] > 0)
    elif clock == "running":
        columns["t"] += 1000 * columns["id"]
    elif clock == "no episodes":
        del columns["id"], named["episode"]
    path = write(tmp_path / "log.csv", {name: np.delete(column, lost) for name, column in columns.items()})
    if clock == "running" and lost == 0:  # nothing shows that a first row is missing
        assert load(path, **named | {"horizon": 50}).terminated.tolist() == [True, True, False, True, False]
        return
    data = load(path, **named)
    pieces = [10, 39] if lost else [49]
    assert data.lengths.tolist() == [*pieces, 30, 50, 20, 50]
    assert data.terminated.tolist() == [False] * len(pieces) + [True, False, True, False]


def test_the_time_limit_does_not_count_final_rows(tmp_path):
    columns = steps([6, 4, 6, 3, 6], [False] * 5)  # the last row of each is a final observation, also after a gap
    last = np.cumsum([6, 4, 6, 3, 6]) - 1
    columns["done"] = np.isin(np.arange(25), last)
    table = {
        n: pa.array(c, mask=np.isin(np.arange(25), last) if n in ("u1", "u2", "r") else None)
        for n, c in columns.items()
    }
    data = load(write(tmp_path / "log.parquet", table), **NAMED | {"terminal": "done"}, horizon=5)
    assert data.lengths.tolist() == [5, 3, 5, 2, 5] and data.terminated.tolist() == [False, True, False, True, False]
    gone = {n: pa.concat_arrays([c[:4], c[5:]]) for n, c in table.items()}
    data = load(write(tmp_path / "gap.parquet", gone), **NAMED | {"terminal": "done"}, horizon=5)
    assert data.lengths.tolist() == [4, 3, 5, 2, 5] and data.terminated.tolist() == [False, True, False, True, False]
    assert data.final_known.tolist() == [False, True, True, True, True]  # unlike what follows a gap


def test_terminals_that_all_fall_on_one_step_are_doubted(tmp_path):
    path = done_table(tmp_path, [4] * 4)
    with pytest.warns(
        UserWarning, match=r"all 4 trajectories end with a terminal at step 4, and nothing says time-out"
    ):
        data = load(path, **NAMED | {"terminal": "done"})
    assert data.terminated.all() and "doubt" in data.notes


def test_truncated_ends_and_explains_dones_and_a_terminal_wins(tmp_path):
    columns = steps([4, 3, 3], [True, True, False])
    columns["cut"] = np.zeros(10, bool)
    columns["cut"][[1, 3, 9]] = True
    path = write(tmp_path / "log.csv", columns)
    data = load(path, **NAMED, truncated="cut")
    assert data.lengths.tolist() == [2, 2, 3, 3] and data.terminated.tolist() == [False, True, True, False]
    columns["done"] = columns.pop("over")
    data = load(write(path, columns), **NAMED | {"terminal": "done"}, truncated="cut")
    assert data.terminated.tolist() == [False, False, True, False]


def test_equal_duplicates_are_dropped_gaps_cut_and_episodes_of_one_step_stay(tmp_path):
    columns = steps([30, 1, 30], [False, True, True])
    twice = np.sort(np.append(np.arange(61), [3, 3, 40]))
    kept = np.delete(twice, np.flatnonzero(twice == 10))
    data = load(write(tmp_path / "log.csv", {n: c[kept] for n, c in columns.items()}), **NAMED)
    assert data.lengths.tolist() == [10, 19, 1, 30] and data.terminated.tolist() == [False, False, True, True]
    assert data.notes["duplicates"] == "3 equal rows dropped" and data.notes["gaps"] == "cut at 1 gaps in time"


def test_irregular_times_are_no_gaps(tmp_path):
    columns = steps([60], [True])
    columns["t"] = np.cumsum(np.random.default_rng(0).exponential(size=60))
    data = load(write(tmp_path / "log.csv", columns), **NAMED)
    assert data.lengths.tolist() == [60] and "vary" in data.notes["irregular_time"]


def test_dates_order_rows_and_text_names_episodes_and_flags(tmp_path):
    path = text(
        tmp_path, "id;t;obs_a;obs_b;u1;u2;r;over", "b;2024-01-01 00:00:02;1;2;.1;.2;1;Yes",
        "a;2024-01-01 00:00:01;3;4;.1;.2;2;", "b;2024-01-01 00:00:01;5;6;.1;.2;3;no", "",
        "a;2024-01-01 00:00:02;7;8;.1;.2;4;F",
    )  # fmt: skip
    data = load(path, **NAMED)
    assert data.rewards.tolist() == [3, 1, 2, 4] and data.terminated.tolist() == [True, False]


def test_a_last_row_without_action_and_reward_is_the_final_observation(tmp_path):
    head = "id,t,obs_a,obs_b,u1,u2,r,over"
    rows = ["1,0,1,1,.5,.5,1,0", "1,1,2,2,.5,.5,1,0", "1,2,3,3,,,,0", "2,0,4,4,.5,.5,1,0", "2,1,5,5,,,,1"]
    data = load(text(tmp_path, head, *rows), **NAMED)
    assert data.lengths.tolist() == [2, 1] and data.final_known.all()
    assert data.final_observations.tolist() == [[3, 3], [5, 5]] and data.terminated.tolist() == [False, True]
    with pytest.raises(DataError, match=r"log\.csv, line 3, column r: missing.*Only the last row"):
        load(text(tmp_path, head, rows[0], "1,1,2,2,.5,.5,,0"), **NAMED)
    with pytest.raises(DataError, match=r"log\.csv, line 2, column u2: missing"):
        load(text(tmp_path, head, "1,0,1,1,.5,,1,0", rows[1]), **NAMED)


def test_a_missing_next_observation_is_unknown_at_an_end_and_an_error_inside(tmp_path):
    head, named = "id,t,obs_a,next_a,u1,u2,r,over", NAMED | {"next_observations": "next_*"}
    rows = ["1,0,1,2,.5,.5,1,0", "1,1,2,,.5,.5,1,0", "2,0,4,5,.5,.5,1,0", "2,1,5,6,.5,.5,1,0"]
    data = load(text(tmp_path, head, *rows), **named)
    assert data.lengths.tolist() == [2, 2] and data.final_known.tolist() == [False, True]
    assert "breaks" not in data.notes
    rows[2] = "2,0,4,,.5,.5,1,0"
    with pytest.raises(DataError, match=r"log\.csv, line 4, column next_a: missing, NaN .*Only the last row of an epi"):
        load(text(tmp_path, head, *rows), **named)
    with pytest.raises(DataError, match=r"log\.csv, line 3, column next_a: missing"):
        load(text(tmp_path, head, *rows[::-1]), **named)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_extras_are_kept_in_every_form(tmp_path, kind, capsys):
    columns = steps([4, 3], [True, False])
    columns |= {"cost": np.arange(7.0), "log_prob": -np.arange(7.0), "ok": np.arange(7) % 2 == 0}
    columns["cost"][2] = np.nan
    order = [4, 0, 1, 6, 2, 3, 5]
    path = write(tmp_path / f"log.{kind}", {name: column[order] for name, column in columns.items()})
    data = load(path, **NAMED, extras=["cost", "ok"])
    sorted_rows = [4, 5, 6, 0, 1, 2, 3]  # episodes are in the order of their first rows
    assert set(data.extras) == {"cost", "ok"} and data.notes["not_used"] == ["log_prob"]
    for name, column in data.extras.items():
        assert column.dtype == np.float32
        np.testing.assert_array_equal(column, columns[name][sorted_rows])
    flags = ["--episode", "id", "--terminal", "over", "--extras", "cost", "ok", "--write-map"]
    main(["inspect", str(path), *flags, str(tmp_path / "map.toml")])
    assert "extras        cost float32 (), ok float32 ()" in capsys.readouterr().out
    main(["data", "convert", str(path), str(tmp_path / "folder"), "--map", str(tmp_path / "map.toml")])
    assert load(tmp_path / "folder").digest == data.digest
    assert list(load(path, **NAMED, extras="log_prob").extras) == ["log_prob"]  # one name as a text
    assert load(path, **NAMED, extras=["c*", "ok"]).digest == data.digest
    with pytest.raises(UsageError, match="over cannot be an extra and an episode or flag at once"):
        load(path, **NAMED, extras="o*")
    with pytest.raises(DataError, match="no column 'costs', named as extras; the table has: id, t"):
        load(path, **NAMED, extras=["costs"])


def test_an_extra_that_is_also_the_time_or_the_reward_stays_that(tmp_path):
    path = write(tmp_path / "log.csv", {name: column[::-1] for name, column in steps([4], [True]).items()})
    with pytest.warns(UserWarning, match="guessed episode=id, time=t, reward=r, observations=obs_b, "):
        data = load(path, terminal="over", extras=["t", "r", "obs_a"])
    assert data.extras["t"].tolist() == [0, 1, 2, 3] and np.array_equal(data.extras["r"], data.rewards)


def test_without_an_episode_column_flags_and_time_end_trajectories(tmp_path):
    columns = steps([4, 3, 3], [True, False, False])
    del columns["id"]
    path, named = write(tmp_path / "log.csv", columns), {n: c for n, c in NAMED.items() if n != "episode"}
    assert load(path, **named).lengths.tolist() == [4, 3, 3]
    with pytest.raises(DataError, match="no episode column, so the ends of its trajectories are unknown"):
        load(path, **named | {"time": ""})


def test_options_of_tables_are_checked(tmp_path):
    path = write(tmp_path / "log.csv", steps([4], [True]))
    with pytest.raises(UsageError, match=r"epsiode makes no sense for this kind of data.*it takes map, episode"):
        load(path, epsiode="id")
    with pytest.raises(UsageError, match="horizon=-1; expected the number of steps"):
        load(path, **NAMED, horizon=-1)
    with pytest.raises(UsageError, match="over cannot be terminal and truncated at once"):
        load(path, **NAMED, truncated="over")
    with pytest.raises(UsageError, match="cannot be an observation and an action"):
        load(path, **NAMED | {"observations": ["obs_a", "u1"]})
    (tmp_path / "map.toml").write_text("episode = id")
    with pytest.raises(DataError, match=r"map\.toml is not valid TOML"):
        load(path, map=tmp_path / "map.toml")
    (tmp_path / "map.toml").write_text('episodes = "id"')
    with pytest.raises(UsageError, match=r"unknown column of a table 'episodes': did you mean 'episode'"):
        load(path, map=tmp_path / "map.toml")
    with pytest.raises(SystemExit):
        main(["inspect", str(Path(__file__)), "--write-map", str(tmp_path / "x.toml")])


@pytest.mark.parametrize("seed", range(10))
def test_trajectories_come_back_from_a_shuffled_table_of_their_steps(tmp_path, seed):
    rng = np.random.default_rng(seed)
    data = make(rng.integers(1, 9, 12), seed, terminated=0.5, known=1.0)
    rows = np.arange(data.rows)
    shuffled = rng.permutation(rows)
    tails = np.isin(rows, data.ends)
    columns = {
        "episode": data.trajectory_of(rows), "t": rows, "obs": data.observations, "action": data.actions,
        "reward": data.rewards, "terminated": data.terminals, "truncated": tails & ~data.terminals,
        "next_obs": data.successors(rows),
    }  # fmt: skip
    path = write(tmp_path / "log.parquet", {name: column[shuffled] for name, column in columns.items()})
    with pytest.warns(UserWarning, match="guessed episode=episode, time=t"):
        found = load(path)
    order = list(dict.fromkeys(columns["episode"][shuffled]))
    assert_equal(found, data.select(np.array(order)))


@pytest.mark.skipif(not DOOR.exists(), reason="shared data is not here")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_demonstrations_nobody_here_wrote_come_back_from_a_table(tmp_path, kind):
    data = load(DOOR)
    columns = {"episode": data.trajectory_of(np.arange(data.rows)), "reward": data.rewards}
    columns |= {f"obs_{at}": column for at, column in enumerate(data.observations.T)}
    columns |= {f"action_{at}": column for at, column in enumerate(data.actions.T)}
    with pytest.warns(UserWarning, match=r"observations=obs_0 \.\.\. obs_38 \(39 columns\)"):
        assert_equal(load(write(tmp_path / f"door.{kind}", columns)), data)
