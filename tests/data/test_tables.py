"""A table of steps becomes trajectories by the rules in `rewind.data.table_rows`, or an error that names its place."""

import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.data.layouts import NAMED, steps, write
from tests.data.logs import assert_equal
from tests.helpers import make

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet

from rewind import load
from rewind.cli import main
from rewind.data.columns import write_map
from rewind.errors import DataError, UsageError

DOOR = Path(__file__).parents[2].parent / "shared" / "data" / "door-human-demos.npz"


def text(tmp_path, *lines, name="log.csv"):
    (tmp_path / name).write_text("\n".join(lines))
    return tmp_path / name


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
    with pytest.warns(UserWarning, match=r"actions=u1, u2 \(not used: id, over\); name them if that is wrong"):
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
        ([5, 3, 5, 4], None, [False, True, False, True]),  # the longest is the most frequent, but not the only one
        ([5, 3, 3, 4], None, [True] * 4),
        ([5, 3, 5, 4], 0, [True] * 4),
        ([5, 3, 5, 3], None, [True] * 4),
        ([5, 3, 5, 3], 3, [True, False, True, False]),
        ([4, 4], 4, [False, False]),
    ],
)
def test_a_done_at_the_time_limit_is_a_time_out(tmp_path, lengths, horizon, terminated):
    data = load(done_table(tmp_path, lengths), **NAMED | {"terminal": "done"}, horizon=horizon)
    assert data.terminated.tolist() == terminated
    assert ("dones" in data.notes) == (not all(terminated))


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


def test_without_an_episode_column_flags_and_time_end_trajectories(tmp_path):
    columns = steps([4, 3, 3], [True, False, False])
    del columns["id"]
    path, named = write(tmp_path / "log.csv", columns), {n: c for n, c in NAMED.items() if n != "episode"}
    assert load(path, **named).lengths.tolist() == [4, 3, 3]
    with pytest.raises(DataError, match="no episode column, so the ends of its trajectories are unknown"):
        load(path, **named | {"time": ""})


def test_all_that_a_table_lacks_is_asked_for_at_once(tmp_path):
    path = write(tmp_path / "log.csv", {name: np.arange(4.0) for name in ("flat", "temp", "valve", "cost")})
    asked = (
        r"which columns are the observations, actions, reward and episode\? .*--observations --actions --reward --ep"
    )
    with pytest.raises(DataError, match=asked):
        load(path)
    with pytest.raises(
        DataError, match=r"no column 'tmp', .*; which columns are the actions and reward\? .*the table has"
    ):
        load(path, episode="flat", observations="tmp")


def test_one_column_of_whole_numbers_is_a_discrete_action(tmp_path):
    columns = steps([40_000, 40_000], [True, False])
    del columns["u1"], columns["u2"]
    columns["u"] = np.arange(80_000) % 3
    path, named = tmp_path / "log.csv", NAMED | {"actions": "u"}
    data = load(write(path, columns), **named)
    assert data.actions.dtype == np.int64 and data.actions[:4].tolist() == [0, 1, 2, 0]
    assert load(path, **named, discrete=False).actions.shape == (80_000, 1)
    columns["t"] = pa.array([*map(str, columns["t"][:-1]), "39999.5"])
    assert load(write(path, columns), **named).actions.dtype == np.int64
    columns["u"] = columns["u"].astype(float)
    columns["u"][-1] = 0.5  # far behind the piece that the kinds of columns are taken from
    data = load(write(path, columns), **named)
    assert data.actions.dtype == np.float32 and data.actions.shape == (80_000, 1)
    with pytest.raises(DataError, match=r"line 80001, column u: 0\.5 is not a whole number"):
        load(path, **named, discrete=True)


HEAD = "id,t,obs_a,obs_b,u1,u2,r,over"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEAD, "1,0,1,2,3,4,5,0", "1,1,1,x,3,4,5,0"], r"log\.csv, line 3, column obs_b: 'x' is not a number"),
        ([HEAD, "1,0,1,2,3,4,5,0", "", "1,1,1,,3,4,5,0"], r"line 4, column obs_b: missing, NaN or infinite"),
        ([HEAD, "1,0,1,2,3,4,5,0", "1,1,1,inf,3,4,5,0"], r"line 3, column obs_b: missing, NaN or infinite"),
        ([HEAD, "1,0,1,2,3,4,5,0", "1,1,1,2"], r"line 3: 4 fields; expected 8 as in the first line"),
        ([HEAD, "1,0,1,2,3,4,5,maybe"], r"line 2, column over: 'maybe' is not a flag; expected true or false"),
        ([HEAD, ",0,1,2,3,4,5,0"], r"line 2, column id: no value; expected the episode"),
        ([HEAD, "1,,1,2,3,4,5,0"], r"line 2, column t: missing; expected a time"),
        (
            [HEAD, "1,0,1,2,3,4,5,0", "1,0,1,9,3,4,5,0"],
            r"line 3: the same episode and time as line 2, but other values",
        ),
        ([HEAD], "the table has no rows"),
        ([""], r"log\.csv is not a readable CSV file"),
        (["1,2,3", "4,5,6"], "first line has numbers only; expected the names of the columns"),
        ([HEAD.replace("obs_b", "obs_a"), "1,0,1,2,3,4,5,0"], "several columns are named obs_a"),
    ],
)
def test_what_is_wrong_with_a_table_is_one_line_with_its_place(tmp_path, lines, message):
    with pytest.raises(DataError, match=message) as caught:
        load(text(tmp_path, *lines), **NAMED)
    assert "\n" not in str(caught.value) and "log.csv" in str(caught.value)


def test_a_broken_line_far_behind_is_named(tmp_path):
    path = write(tmp_path / "log.csv", steps([50_000], [True]))
    lines = path.read_text().splitlines()
    lines[45_000] = lines[45_000][:9]
    path.write_text("\n".join(lines))
    assert path.stat().st_size > 2 << 20  # several pieces
    with pytest.raises(DataError, match=r"line 45001: 3 fields; expected 8"):
        load(path, **NAMED)


def test_a_half_written_parquet_file_is_one_line(tmp_path):
    path = write(tmp_path / "log.parquet", steps([40, 30], [True, False]))
    content = path.read_bytes()
    for size in (0, 3, 100, len(content) // 2, len(content) - 4):
        path.write_bytes(content[:size])
        with pytest.raises(DataError, match=r"log\.parquet is not a readable Parquet file") as caught:
            load(path, **NAMED)
        assert "\n" not in str(caught.value)


def test_options_of_tables_are_checked(tmp_path):
    path = write(tmp_path / "log.csv", steps([4], [True]))
    with pytest.raises(UsageError, match=r"epsiode makes no sense for this kind of data.*it takes map, episode"):
        load(path, epsiode="id")
    with pytest.raises(UsageError, match="horizon=-1; expected the number of steps"):
        load(path, **NAMED, horizon=-1)
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


# Columns of other libraries


def chained(lengths, terminated):
    rng = np.random.default_rng(0)
    rows, last = sum(lengths), np.cumsum(lengths) - 1
    seen = rng.normal(size=(rows + 1, 3)).astype(np.float32)
    after = seen[1:].copy()
    after[last] = rng.normal(size=(len(last), 3))
    ends = np.zeros(rows, bool)
    ends[last] = terminated
    return seen[:-1], after, ends, last


def test_rllib_columns_are_read_as_they_are(tmp_path):
    seen, after, terminated, last = chained([4, 3], [True, False])
    truncated = np.zeros(7, bool)
    truncated[6] = True
    columns = {
        "eps_id": np.repeat([2**60, 2**61], [4, 3]), "obs": seen, "actions": np.array([0, 1, 1, 0, 2, 2, 1]),
        "rewards": np.ones(7), "new_obs": after, "terminateds": terminated, "truncateds": truncated,
        "action_logp": np.zeros(7), "action_dist_inputs": np.zeros((7, 3)),
    }  # fmt: skip
    with pytest.warns(UserWarning, match="guessed episode=eps_id, .*next_observations=new_obs"):
        data = load(write(tmp_path / "rllib.parquet", columns))
    assert data.lengths.tolist() == [4, 3] and data.terminated.tolist() == [True, False] and data.final_known.all()
    assert data.actions.dtype == np.int64 and np.array_equal(data.final_observations, after[last])
    assert data.notes["not_used"] == ["action_logp", "action_dist_inputs"]


def test_neorl_columns_end_where_the_next_row_is_not_the_successor(tmp_path):
    seen, after, terminated, last = chained([4, 3, 5], [False, True, False])
    columns = {
        "observations": seen, "actions": np.linspace(-1, 1, 24).reshape(12, 2), "rewards": np.ones(12),
        "next_observations": after, "terminals": terminated.astype(float),
    }  # fmt: skip
    with pytest.warns(UserWarning, match="guessed"):
        data = load(write(tmp_path / "neorl.parquet", columns))
    assert data.lengths.tolist() == [4, 3, 5] and data.terminated.tolist() == [False, True, False]
    assert np.array_equal(data.final_observations, after[last]) and data.actions.shape == (12, 2)
    odd = [list(row) for row in seen]
    odd[5] = odd[5][:2]
    parquet.write_table(pa.table({**{n: list(c) for n, c in columns.items()}, "observations": odd}), tmp_path / "o.pq")
    with pytest.raises(DataError, match=r"o\.pq, row 5, column observations: lists of different lengths"):
        load(tmp_path / "o.pq", observations="observations")


def test_images_stay_whole_numbers(tmp_path):
    images = np.arange(4 * 2 * 3, dtype=np.uint8).reshape(4, 2, 3)
    table = pa.table({"ep": [0, 0, 1, 1], "obs": images.tolist(), "action": [0.5] * 4, "reward": [1.0] * 4})
    table = table.set_column(1, "obs", table["obs"].cast(pa.list_(pa.list_(pa.uint8()))))
    parquet.write_table(table, tmp_path / "images.parquet")
    with pytest.warns(UserWarning, match="guessed"):
        data = load(tmp_path / "images.parquet")
    assert data.observations.dtype == np.uint8 and np.array_equal(data.observations, images)


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
